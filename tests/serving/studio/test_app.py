"""The routes of the studio, by a real server on the loopback."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serving.studio.lines import RECIPE, train, valid
from tests.serving.studio.server import serving

from dragoman.base.errors import ConfigError
from dragoman.serving.http.guard import is_our_name
from dragoman.serving.http.server import listen
from dragoman.serving.http.settings import Settings, is_loopback

SRC = str(Path(__file__).parents[3] / "src")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "metrics.jsonl").write_text(train(10) + train(20) + valid(20))
    (folder / "training.toml").write_text(RECIPE.format(width=64))
    return folder


def news(response: httpx.Response) -> Iterator[Any]:
    for line in response.iter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def test_the_stream_says_everything_and_then_what_is_new(run: Path) -> None:
    with serving(run) as url, httpx.stream("GET", f"{url}/api/news", timeout=30) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        stream = news(answer)
        (first,) = next(stream)
        while "train/nll" not in first["whole"]["curves"]:  # before the first look at the file
            (first,) = next(stream)
        assert first["summary"]["label"] == "mine"
        assert [point[0] for point in first["whole"]["curves"]["train/nll"]] == [10, 20]
        with (run / "metrics.jsonl").open("a") as file:
            file.write(train(30, nll=1.25))
        (second,) = next(stream)
        assert second["points"]["train/nll"] == [[30, 60, 1.25]]
        (run / "metrics.jsonl").unlink()
        (third,) = next(stream)
        assert third["summary"]["state"] == "missing"


def test_a_closer_look(run: Path) -> None:
    (run / "metrics.jsonl").write_text("".join(train(step) for step in range(2000)))
    with serving(run) as url:
        ask = {"run": "0", "low": "100", "high": "103", "axis": "step", "most": "50"}
        while not (found := httpx.get(f"{url}/api/points", params=ask).json()):
            time.sleep(0.05)
        assert [point[0] for point in found["train/nll"]] == [99, 100, 101, 102, 103, 104]
        for wrong, status in (("1", 404), ("9999", 404), ("-1", 400), ("x", 400), ("9" * 99, 400)):
            assert httpx.get(f"{url}/api/points", params=ask | {"run": wrong}).status_code == status
        for wrong in ("most=4", "most=1e9", "most=99999", "axis=x", "low=nan", "high=nan", "high=a"):
            answer = httpx.get(f"{url}/api/points", params=ask | dict([wrong.split("=")]))
            assert (answer.status_code, list(answer.json())) == (400, ["error"])


def test_the_page_and_nothing_else_is_there(run: Path) -> None:
    with serving(run) as url:
        page = httpx.get(url)
        assert page.headers["content-type"].startswith("text/html")
        assert 'src="app.js"' in page.text
        assert httpx.get(f"{url}/app.js").headers["content-type"].startswith("text/javascript")
        for path in (
            "/favicon.ico",
            "/..%2f..%2fpyproject.toml",
            "/%2e%2e/secret",
            "/api",
            "/x.js",
        ):
            assert httpx.get(url + path).status_code == 404
        assert httpx.post(url).status_code == 405


def test_every_answer_has_the_headers(run: Path) -> None:
    with serving(run) as url:
        for path in ("/", "/app.js", "/api/points?run=0", "/nowhere"):
            headers = httpx.get(url + path).headers
            policy = headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            # A file of the page has a tag, by which the browser asks whether it has changed.
            cached = "no-cache" if path in ("/", "/app.js") else "no-store"
            assert headers["cache-control"] == cached
            assert "access-control-allow-origin" not in headers
            assert "server" not in headers


def test_other_names_and_other_sites_are_refused(run: Path) -> None:
    with serving(run) as url:
        port = url.rpartition(":")[2]
        for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "10.0.0.1.evil", ""):
            answer = httpx.get(f"{url}/api/points?run=0", headers={"host": host})
            assert answer.status_code == 400, host
        for host in ("localhost", f"LOCALHOST:{port}", "127.0.0.1", f"[::1]:{port}"):
            assert httpx.get(url, headers={"host": host}).status_code == 200, host
        for origin in ("http://evil.example", "null", "http://127.0.0.1:1"):
            assert httpx.get(f"{url}/api/points?run=0", headers={"origin": origin}).status_code == 403
        assert httpx.get(f"{url}/api/points?run=0", headers={"origin": url}).status_code == 200
        other = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
        assert httpx.get(f"{url}/api/points?run=0", headers=other).status_code == 403


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("mine", True), ("mine:80", True), ("10.1.2.3", True), ("[fe80::1]:80", True), ("other", False),
        ("mine:x", False), ("evil@mine", False), ("mine/evil", False), ("mine?x", False), ("", False),
        ("10.1.2.3.evil", False), ("[mine]", False), ("mine:99999", False),
    ],
)  # fmt: skip
def test_names_of_a_server_that_other_machines_reach(host: str, expected: bool) -> None:
    assert is_our_name(host, Settings(host="mine", allow_open=True)) is expected


def test_addresses_that_only_this_machine_reaches() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.8.8.8", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.0.1", "example.org", "")))


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"[" * 16_000, "application/json", 400),
        (b"{}", "application/json", 400),
        (b'{"source": "a"}', "application/json", 404),
        (b'{"run": 0}', "application/json", 400),
        (b'{"run": 0, "source": 3}', "application/json", 400),
        (b'{"run": 0, "source": "a", "target": 3}', "application/json", 400),
        (b'{"run": 0, "source": "a", "layer": "1"}', "application/json", 400),
        (b'{"run": 0, "source": "a", "head": true}', "application/json", 400),
        (b'{"run": 0, "source": "a", "checkpoint": "../x"}', "application/json", 404),
        (b'{"run": 0, "source": "a", "checkpoint": ["x"]}', "application/json", 400),
        (json.dumps({"run": 0, "source": "a" * 301}).encode(), "application/json", 400),
        (b" " * 20_000, "application/json", 413),
        (b'{"run": 0}', "text/plain", 415),
    ],
)
def test_a_wrong_request_for_attention(body: bytes, kind: str, status: int, run: Path) -> None:
    with serving(run) as url:
        answer = httpx.post(f"{url}/api/attention", content=body, headers={"content-type": kind})
        assert (answer.status_code, list(answer.json())) == (status, ["error"])


def test_a_client_that_leaves_while_it_sends_is_no_error(run: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"), serving(run) as url:
        address = url.removeprefix("http://").rpartition(":")
        with socket.create_connection((address[0], int(address[2]))) as client:
            head = f"POST /api/attention HTTP/1.1\r\nHost: {address[0]}\r\nContent-Length: 9\r\n\r\n"
            client.sendall(head.encode() + b"{")
        while not (said := [one for one in caplog.records if one.getMessage() == "request"]):
            time.sleep(0.01)
        assert vars(said[0])["facts"]["status"] == 499
    assert [one for one in caplog.records if one.exc_info] == []


def test_pages_are_limited_and_their_places_become_free(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.studio.app._READERS", 2)
    monkeypatch.setattr("dragoman.serving.studio.app._BEAT", 0.1)
    with serving(run) as url:
        with httpx.stream("GET", f"{url}/api/news"), httpx.stream("GET", f"{url}/api/news"):
            refused = httpx.get(f"{url}/api/news")
            assert (refused.status_code, "retry-after" in refused.headers) == (503, True)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with httpx.stream("GET", f"{url}/api/news") as answer:
                if answer.status_code == 200:
                    return
            time.sleep(0.1)
        pytest.fail("the places stay taken")


def test_an_open_page_does_not_hold_up_the_end(run: Path) -> None:
    with serving(run) as url:
        connection = http.client.HTTPConnection(url.removeprefix("http://"))
        connection.request("GET", "/api/news")
        assert connection.getresponse().status == 200
        began = time.monotonic()
    assert time.monotonic() - began < 4
    connection.close()


def test_a_port_that_is_taken_or_none() -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        door.listen()
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}: cannot listen"):
            listen("127.0.0.1", port)
    with pytest.raises(ConfigError, match="--port 99999"):
        listen("127.0.0.1", 99_999)
    with pytest.raises(ConfigError, match="cannot listen"):
        listen("no such host", 0)


def command(*words: str, **more: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dragoman", "studio", *words],
        env={**os.environ, "PYTHONPATH": SRC}, text=True, stderr=subprocess.PIPE, **more,
    )  # fmt: skip


@pytest.mark.thorough
def test_the_command_serves_until_it_is_interrupted(run: Path) -> None:
    process = command(str(run), "--port", "0")
    assert process.stderr is not None
    url = process.stderr.readline().split()[0]
    try:
        with httpx.stream("GET", f"{url}api/news") as answer:
            assert next(news(answer))[0]["summary"]["label"] == "mine"
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
    finally:
        process.kill()
        rest = process.stderr.read()
        process.stderr.close()
    assert rest == ""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["nowhere"], "nowhere: not found"),
        ([".", "--host", "0.0.0.0"], "other machines could read"),
        ([".", "--port", "99999"], "--port 99999"),
    ],
)
def test_the_command_refuses_in_words(words: list[str], expected: str, tmp_path: Path) -> None:
    with command(*words, cwd=tmp_path) as process:
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()

    assert process.returncode in (2, 3)
    assert expected in said
    assert "hint:" in said
