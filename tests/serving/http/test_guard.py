"""What every request passes: names, pages of other sites, keys, sizes, headers, leavers, the log."""

from __future__ import annotations

import io
import json
import logging
import socket
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serving.standin import Running, keys_file, running, wait_for

from dragoman.base.errors import DataError
from dragoman.serving.http.logs import logging_to
from dragoman.serving.http.settings import Keys, names_of, origins_of, proxies_of
from dragoman.serving.service.limits import Limits

ASKED = {"q": "a", "source": "en", "target": "de"}


# Names and pages


def test_a_rebound_name_is_refused(server: Running, client: httpx.Client) -> None:
    for path in ("/translate", "/languages", "/health", "/", "/v1/models"):
        answer = client.request(
            "POST" if path == "/translate" else "GET", path, headers={"Host": "evil.example"}
        )
        assert (path, answer.status_code) == (path, 400)
    assert server.standin.asked == []


def test_a_name_may_be_allowed() -> None:
    with running(names=names_of(["translate.example"])) as server, server.client() as client:
        assert client.get("/health", headers={"Host": "translate.example:443"}).status_code == 200
        assert client.get("/health", headers={"Host": "other.example"}).status_code == 400


def test_pages_of_other_sites_are_refused(server: Running, client: httpx.Client) -> None:
    """A form of another site needs no leave to send, so that the server itself has to refuse."""
    answer = client.post("/translate", data=ASKED, headers={"Origin": "https://evil.example"})

    assert answer.status_code == 403
    assert server.standin.asked == []
    assert not {name for name in answer.headers if name.startswith("access-control")}
    assert client.post("/translate", data=ASKED, headers={"Origin": server.url}).status_code == 200


def test_no_page_may_read_by_default(client: httpx.Client) -> None:
    preflight = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}

    assert client.options("/translate", headers=preflight).status_code == 403
    assert "access-control-allow-origin" not in client.get("/languages").headers


def test_one_site_may_be_allowed() -> None:
    app = {"Origin": "https://app.example"}
    with running(origins=origins_of(["https://app.example"])) as server, server.client() as client:
        preflight = client.options("/translate", headers={**app, "Access-Control-Request-Method": "POST"})
        answer = client.post("/translate", json=ASKED, headers=app)
        other = client.post("/translate", json=ASKED, headers={"Origin": "https://app.example.evil.example"})

        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-methods"] == "GET, POST"
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        assert "access-control-allow-credentials" not in answer.headers
        assert answer.headers["vary"] == "Origin"
        assert other.status_code == 403
        assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("path", ["/health", "/nothing", "/", "/v1/models", "/v2/translate"])
def test_every_answer_has_the_headers_of_safety(client: httpx.Client, path: str) -> None:
    headers = client.get(path).headers

    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


@pytest.mark.parametrize("body", [b"0\r\n\r\n", b"5\r\n{}   \r\n0\r\n\r\n"])
def test_a_body_with_two_lengths_ends_the_connection(server: Running, body: bytes) -> None:
    """A proxy may believe the other length, and take what follows for a request of somebody else."""
    head = b"POST /translate HTTP/1.1\r\nHost: localhost\r\n"
    head += b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    answer = raw(server, head + body + b"GET /version HTTP/1.1\r\nHost: localhost\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 400")
    assert b"conflicting Content-Length" in answer
    assert answer.count(b"HTTP/1.1") == 1


# Keys


LOCKED = [
    ("POST", "/translate", 403),
    ("POST", "/detect", 403),
    ("POST", "/suggest", 403),
    ("POST", "/translate_file", 403),
    ("POST", "/v2/translate", 403),
    ("GET", "/v2/languages", 403),
    ("GET", "/v2/usage", 403),
    ("POST", "/v2/document", 403),
    ("POST", "/v1/translate", 401),
    ("GET", "/v1/models", 401),
    ("GET", "/metrics", 401),
]
OPEN = ["/languages", "/health", "/ready", "/version", "/spec", "/openapi.json", "/frontend/settings"]


def test_without_a_key_only_the_open_routes_answer(tmp_path: Path) -> None:
    with running(keys=Keys.read(keys_file(tmp_path, one="K"))) as server, server.client() as client:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "DeepL-Auth-Key k"}):
            assert [
                (method, path, client.request(method, path, headers=headers).status_code)
                for method, path, _ in LOCKED
            ] == LOCKED
            assert [client.get(path, headers=headers).status_code for path in OPEN] == [200] * len(OPEN)
        assert client.post("/translate", json=ASKED).status_code == 403
        assert server.standin.asked == []
        for headers in ({"Authorization": "Bearer K"}, {"Authorization": "DeepL-Auth-Key K"}):
            assert client.get("/v1/models", headers=headers).status_code == 200
        assert client.post("/translate", json={**ASKED, "api_key": "K"}).status_code == 200


def test_no_route_is_open_by_mistake(tmp_path: Path) -> None:
    """Every route of the table is in one of the lists above, or is reached by an unguessable name."""
    from dragoman.serving.app import ENDPOINTS

    known = {path for _, path, _ in LOCKED} | set(OPEN)
    locked = {one.path for one in ENDPOINTS if one.locked}
    rest = {one.path for one in ENDPOINTS} - known

    assert not locked & set(OPEN)
    assert {one for one in rest if one not in locked} == {"/download_file/{name}"}


def test_the_share_is_that_of_the_key_or_of_the_address(tmp_path: Path) -> None:
    (tmp_path / "large.txt").write_text("# no key is left out\n" * 60_000)
    with pytest.raises(DataError, match="larger than 1 MiB"):
        Keys.read(tmp_path / "large.txt")
    keys = Keys.read(keys_file(tmp_path, weblate="K"))
    with running(keys=keys) as server, server.client() as client:
        client.post("/translate", json={**ASKED, "api_key": "K"})
        assert server.standin.asked[-1][2] == "key weblate"
    with running(proxies=proxies_of(["127.0.0.1"])) as server, server.client() as client:
        client.post("/translate", json=ASKED, headers={"X-Forwarded-For": "6.6.6.6, 1.2.3.4"})
        client.post("/translate", json=ASKED)
        assert [client for _, _, client in server.standin.asked] == ["address 1.2.3.4", "address 127.0.0.1"]
    with running() as server, server.client() as client:
        client.post("/translate", json=ASKED, headers={"X-Forwarded-For": "1.2.3.4"})
        assert server.standin.asked[-1][2] == "address 127.0.0.1"


# Sizes


def raw(server: Running, data: bytes, seconds: float = 10.0) -> bytes:
    """What comes back for these bytes, until the server closes or says nothing more."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=seconds) as here:
        here.sendall(data)
        found = b""
        try:
            while piece := here.recv(65536):
                found += piece
        except TimeoutError:
            pass
        return found


def test_a_body_beyond_the_limit_is_413(client: httpx.Client) -> None:
    body = json.dumps({**ASKED, "q": "x" * 2**20})
    families = {"/translate": "error", "/v2/translate": "message", "/v1/translate": "detail"}
    for path, field in families.items():
        answer = client.post(path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 413
        assert "too large" in answer.json()[field]


def test_a_deep_body_is_no_failure(client: httpx.Client) -> None:
    for deep in (b'{"q":' * 100_000, b'{"q":' + b"[" * 500_000):
        answer = client.post("/translate", content=deep, headers={"Content-Type": "application/json"})
        assert (answer.status_code, "not JSON" in answer.json()["error"]) == (400, True)


def test_an_endless_body_ends_the_connection(server: Running) -> None:
    sent = 0
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as here:
        here.sendall(
            b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        with pytest.raises((ConnectionError, TimeoutError)):
            while sent < 200 * 2**20:
                here.sendall(chunk)
                sent += len(chunk)

    assert sent < 60 * 2**20  # sockets buffer some; without a bound all of it would be taken
    wait_for(lambda: server.state.in_flight == 0)
    assert server.state.budget.held == 0


@pytest.mark.parametrize("size", ["99999999", "9" * 18, "1" + 18 * "0", "9" * 19, "9" * 20])
def test_a_declared_size_is_believed_at_once(server: Running, size: str) -> None:
    began = time.monotonic()
    head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n".encode()
    answer = raw(server, head + b"Expect: 100-continue\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 413")
    assert b"connection: close" in answer.lower()
    assert b"100 Continue" not in answer
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("size", ["9" * 19, "9" * 25, "-1", "+5", "5_0", "0x5", "1e3", ""])
def test_a_strange_size_holds_no_connection(server: Running, size: str) -> None:
    """Whether the body comes or not, there is an answer soon, and the connection ends."""
    began = time.monotonic()
    head = f"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: {size}\r\n\r\n".encode()
    answer = raw(server, head)

    assert answer[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 413", b"HTTP/1.1 415")
    assert time.monotonic() - began < 10
    wait_for(lambda: server.state.in_flight == 0)


def test_a_long_head_is_refused(server: Running) -> None:
    answer = raw(server, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 40_000)

    assert answer.startswith(b"HTTP/1.1 400")


def test_a_silent_client_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.http.server._PATIENCE", 0.3)
    with running() as server:
        for start in (b"", b"GET /health HTTP/1.1\r\nHost: local"):
            began = time.monotonic()
            assert raw(server, start) == b""
            assert time.monotonic() - began < 8
        with socket.create_connection(("127.0.0.1", server.port), timeout=8) as here:
            here.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = here.recv(4096)
            here.sendall(b"GET /health")
            while piece := here.recv(4096):
                answer += piece
            assert answer.count(b"HTTP/1.1 200") == 1


def test_a_body_that_trickles_is_given_up() -> None:
    with running(limits=Limits(seconds=0.3)) as server:
        answer = raw(
            server,
            b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n"
            b"Content-Type: application/json\r\n\r\n{",
        )

        assert answer.startswith(b"HTTP/1.1 408")
        assert server.state.budget.held == 0


def test_a_reader_that_takes_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.http.server._PATIENCE", 0.5)
    with running() as server:
        name = server.state.files.put(b"x" * 8 * 2**20, ".txt")
        with socket.create_connection(("127.0.0.1", server.port)) as here:
            here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            here.sendall(f"GET /download_file/{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            wait_for(lambda: server.state.in_flight == 1)
            wait_for(lambda: server.state.in_flight == 0)


def test_a_deadline_is_504() -> None:
    with running(limits=Limits(seconds=0.2)) as server, server.client() as client:
        server.standin.gate.clear()
        answers = [
            client.post("/translate", json=ASKED),
            client.post("/v2/translate", json={"text": "a", "target_lang": "de"}),
            client.post("/v1/translate", json={"texts": "a", "target": "de"}),
        ]
        assert [one.status_code for one in answers] == [504] * 3


def test_who_leaves_frees_the_place(server: Running) -> None:
    server.standin.gate.clear()
    before, left = server.standin.cancelled, list[str]()
    try:
        for path, body in (
            ("/translate", ASKED),
            ("/v2/translate", {"text": ["a"], "target_lang": "de"}),
            ("/v1/translate", {"texts": ["a"], "target": "de"}),
        ):
            data = json.dumps(body).encode()
            with socket.create_connection(("127.0.0.1", server.port)) as here:
                head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                here.sendall(head.encode() + f"Content-Length: {len(data)}\r\n\r\n".encode() + data)
                wait_for(lambda: server.state.in_flight == 1)
                wait_for(lambda: len(server.standin.asked) > 0)
                server.standin.asked.clear()
            left.append(path)
            wait_for(lambda: server.standin.cancelled == before + len(left))
            wait_for(lambda: server.state.in_flight == 0)
    finally:
        server.standin.gate.set()


def test_a_short_body_that_nobody_wants_does_not_cost_the_connection(tmp_path: Path) -> None:
    """A client that sends 64 KiB to a wrong path gets to the answer, and may ask again."""
    with running() as server, server.client() as client:
        for _ in range(3):
            answer = client.post("/nothing", content=b"x" * 65536)
            assert (answer.status_code, answer.headers.get("connection")) == (404, None)


# The log


def test_the_log_has_no_text_no_key_and_no_query(tmp_path: Path) -> None:
    stream = io.StringIO()
    keys = Keys.read(keys_file(tmp_path, weblate="SECRETKEY"))
    with running(keys=keys) as server, server.client() as client, logging_to(stream, "json"):
        body = {**ASKED, "q": "PRIVATETEXT", "api_key": "SECRETKEY"}
        client.post("/translate", json=body)
        client.post("/translate", params=body)
        client.post("/translate", json={**body, "api_key": "WRONGKEY"})
        client.get("/PRIVATETEXT?q=PRIVATETEXT")
        server.standin.failing = RuntimeError("PRIVATETEXT")
        client.post("/translate", json=body)
        wait_for(lambda: stream.getvalue().count('"request"') == 5)
        raw(server, b"PRIVATETEXT\r\n\r\n", 0.5)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    requests = [line for line in lines if line["event"] == "request"]

    for secret in ("PRIVATETEXT", "SECRETKEY", "WRONGKEY", "127.0.0.1:"):
        assert secret not in stream.getvalue()
    assert [(one["method"], one["route"], one["status"]) for one in requests] == [
        ("POST", "/translate", 200),
        ("POST", "/translate", 200),
        ("POST", "/translate", 403),
        ("GET", "other", 404),
        ("POST", "/translate", 500),
    ]
    assert requests[0]["client"] == "key weblate"
    (failure,) = [line for line in lines if line["event"] == "failure"]
    assert failure["error"].startswith("RuntimeError at ")


def test_the_plain_log_is_one_line_a_request() -> None:
    stream = io.StringIO()
    with running() as server, server.client() as client, logging_to(stream, "plain"):
        client.get("/health")
        wait_for(stream.getvalue)
        logging.getLogger("python_multipart.multipart").warning("may have text")
        logging.getLogger("uvicorn.error").warning("two\nlines")
        logging.getLogger("uvicorn.error").error("failed", exc_info=RuntimeError("may have text"))
    first, second, third = stream.getvalue().splitlines()

    assert " info request method=GET route=/health status=200 ms=" in first
    assert second.endswith("warning two lines")
    assert third.endswith("error failed error=RuntimeError")


# Counts


def test_metrics_have_no_address_and_no_key(tmp_path: Path) -> None:
    keys = Keys.read(keys_file(tmp_path, weblate="SECRETKEY"))
    with running(keys=keys) as server, server.client() as client:
        client.post("/translate", json={**ASKED, "q": "PRIVATETEXT", "api_key": "SECRETKEY"})
        client.get("/whatever")
        client.request("BREW", "/health")
        text = client.get("/metrics", headers={"Authorization": "Bearer SECRETKEY"}).text

    assert 'dragoman_requests_total{method="POST",route="/translate",status="200"} 1.0' in text
    assert 'dragoman_requests_total{method="GET",route="other",status="404"} 1.0' in text
    assert 'method="other"' in text
    assert 'dragoman_request_seconds_count{route="/translate"} 1.0' in text
    assert "dragoman_requests_in_flight 1.0" in text  # that of the metrics
    for secret in ("SECRETKEY", "weblate", "127.0.0.1", "PRIVATETEXT", "whatever", "BREW"):
        assert secret not in text


def test_two_servers_do_not_share_their_counts() -> None:
    with running() as one, running() as two, one.client() as client, two.client() as other:
        client.get("/languages")
        assert 'route="/languages"' in client.get("/metrics").text
        assert 'route="/languages"' not in other.get("/metrics").text


# Many at once


def test_many_clients_at_once_get_their_own_answers(server: Running) -> None:
    wrong: list[Any] = []

    def ask(number: int) -> None:
        with server.client() as client:
            for turn in range(5):
                text = f"text {number} {turn}"
                answer = client.post("/translate", json={**ASKED, "q": text}).json()
                if answer != {"translatedText": text.upper()}:
                    wrong.append(answer)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.http.server._CONNECTIONS", 5)
    with running() as server:
        held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(6)]
        try:
            wait_for(lambda: len(server.server.server_state.connections) == 6)
            answer = raw(server, b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 1" in answer.lower()
        finally:
            for one in held:
                one.close()
