"""Who may reach a server, and under which name."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.requests import Request

from dragoman.base.errors import ConfigError
from dragoman.serving.http.guard import address_of_client, base_url, is_foreign, is_our_name
from dragoman.serving.http.settings import Keys, Settings, is_loopback, names_of, origins_of, proxies_of

KEYS = Keys(((b"0" * 32, "one"),))


def request_of(client: str = "127.0.0.1", **headers: str) -> Request:
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request(
        {
            "type": "http",
            "method": "GET",
            "scheme": "http",
            "path": "/",
            "query_string": b"",
            "headers": raw,
            "client": (client, 1),
            "server": ("x", 1),
        }
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", ""])
def test_an_address_of_others_needs_keys_or_leave(host: str) -> None:
    with pytest.raises(ConfigError, match="no keys are set"):
        Settings(host=host)
    assert Settings(host=host, keys=KEYS).host == host
    assert Settings(host=host, allow_open=True).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1"])
def test_the_loopback_needs_nothing(host: str) -> None:
    assert Settings(host=host).host == host
    assert is_loopback(host)


@pytest.mark.parametrize(
    ("host", "ours"),
    [
        ("localhost", True),
        ("localhost:5000", True),
        ("LOCALHOST.:5000", True),
        ("127.0.0.1:5000", True),
        ("[::1]:5000", True),
        ("192.168.1.5", True),
        ("[fe80::1%evil.example]", False),
        ("[::1%<b>]", False),
        ("translate.example.com", True),
        ("Translate.Example.com:443", True),
        ("evil.example", False),
        ("translate.example.com.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("localhost.evil.example:5000", False),
        ("", False),
        ("localhost:5000@evil.example", False),
        ("localhost:x", False),
        ("evil@localhost", False),
        ("localhost/evil", False),
        ("localhost?x", False),
        ("[localhost]", False),
        ("localhost:99999", False),
    ],
)
def test_names_of_this_server(host: str, ours: bool) -> None:
    settings = Settings(names=names_of(["translate.example.com"]))

    assert is_our_name(host, settings) is ours


@pytest.mark.parametrize(
    ("headers", "foreign"),
    [
        ({"host": "localhost:5000"}, False),
        ({"host": "localhost:5000", "origin": "http://localhost:5000"}, False),
        ({"host": "localhost:5000", "origin": "http://localhost:5001"}, True),
        ({"host": "localhost:5000", "origin": "null"}, True),
        ({"host": "localhost:5000", "origin": "https://app.example"}, False),
        ({"host": "localhost:5000", "origin": "https://APP.example"}, False),
        ({"host": "localhost:5000", "origin": "http://app.example"}, True),
        ({"host": "localhost:5000", "origin": "https://app.example.evil.example"}, True),
        ({"host": "localhost:5000", "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, True),
        ({"host": "localhost:5000", "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, False),
        ({"host": "localhost:5000", "sec-fetch-site": "same-origin"}, False),
    ],
)
def test_pages_of_other_sites(headers: dict[str, str], foreign: bool) -> None:
    settings = Settings(origins=origins_of(["https://app.example/"]))

    assert is_foreign(headers, settings) is foreign


@pytest.mark.parametrize(
    ("client", "chain", "address"),
    [
        ("9.9.9.9", "1.1.1.1", "9.9.9.9"),  # no proxy of ours
        ("10.0.0.1", "1.1.1.1", "1.1.1.1"),
        ("10.0.0.1", "6.6.6.6, 1.1.1.1", "1.1.1.1"),  # what comes first is what the client wrote
        ("10.0.0.1", "6.6.6.6, 1.1.1.1, 10.0.0.2", "1.1.1.1"),
        ("10.0.0.1", "1.1.1.1, rubbish", "10.0.0.1"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "10.0.0.3", "10.0.0.3"),
        ("2001:db8::1", "", "2001:db8::/64"),
        ("::ffff:1.2.3.4", "", "1.2.3.4"),
        ("::ffff:10.0.0.1", "1.1.1.1", "1.1.1.1"),
    ],
)
def test_the_address_of_the_client(client: str, chain: str, address: str) -> None:
    settings = Settings(proxies=proxies_of(["10.0.0.0/8"]))

    assert address_of_client(request_of(client, x_forwarded_for=chain), settings) == address
    assert address_of_client(request_of(client), settings) != "1.1.1.1"


def test_nobody_is_believed_by_default() -> None:
    assert address_of_client(request_of("127.0.0.1", x_forwarded_for="1.1.1.1"), Settings()) == "127.0.0.1"


def test_how_the_client_reaches_the_server() -> None:
    settings = Settings(proxies=proxies_of(["10.0.0.1"]))
    headers = {"host": "t.example", "x_forwarded_proto": "https"}

    assert base_url(request_of("10.0.0.1", **headers), settings) == "https://t.example"
    assert base_url(request_of("10.0.0.2", **headers), settings) == "http://t.example"
    assert base_url(request_of("10.0.0.1", host="t.example", x_forwarded_proto="javascript"), settings) == (
        "http://t.example"
    )


@pytest.mark.parametrize(
    ("client", "prefix", "base"),
    [
        ("10.0.0.1", "/translator", "http://t.example/translator"),
        ("10.0.0.1", "/a/b-c.d~e/", "http://t.example/a/b-c.d~e"),
        ("10.0.0.1", "/", "http://t.example"),
        ("10.0.0.1", "//evil.example", "http://t.example"),
        ("10.0.0.1", "/a?b", "http://t.example"),
        ("10.0.0.1", "https://evil.example", "http://t.example"),
        ("10.0.0.1", "/" + "a" * 200, "http://t.example"),
        ("10.0.0.2", "/translator", "http://t.example"),
    ],
)
def test_the_path_of_a_proxy(client: str, prefix: str, base: str) -> None:
    settings = Settings(proxies=proxies_of(["10.0.0.1"]))
    assert base_url(request_of(client, host="t.example", x_forwarded_prefix=prefix), settings) == base


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (names_of, "http://x"),
        (names_of, "a b"),
        (names_of, "*"),
        (names_of, ""),
        (origins_of, "*"),
        (origins_of, "https://*.example"),
        (origins_of, "app.example"),
        (origins_of, "http://[::1"),
        (origins_of, "https://app.example/page"),
        (proxies_of, "proxy"),
        (proxies_of, "10.0.0.1/8"),
        (proxies_of, "10.0.0.0/99"),
    ],
)
def test_bad_settings_are_refused(read: Any, value: str) -> None:
    with pytest.raises(ConfigError):
        read([value])


@pytest.mark.parametrize("port", [-1, 65536])
def test_ports(port: int) -> None:
    with pytest.raises(ConfigError, match="port"):
        Settings(port=port)
