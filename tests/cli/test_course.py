"""`dragoman course`: what it writes and serves."""

from __future__ import annotations

import http.client
import json
import signal
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from dragoman.cli import run
from dragoman.cli.signals import Signalled
from dragoman.course import page


@pytest.fixture(autouse=True)
def _light(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that needs no engine."""
    monkeypatch.setattr(page, "course_page", lambda language: f"<p>{language}")


def test_it_writes_a_page_or_a_notebook(tmp_path: Path) -> None:
    assert run(["course", "-q", "-o", str(tmp_path / "course.html")]) == 0
    assert (tmp_path / "course.html").read_text() == "<p>en"
    assert run(["course", "-q", "-o", str(tmp_path / "course.ipynb")]) == 0
    assert json.loads((tmp_path / "course.ipynb").read_text())["nbformat"] == 4


def test_other_files_and_ports_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["course", "-o", str(tmp_path / "course.pdf")]) == 2
    assert "course.pdf: unknown format" in capsys.readouterr().err
    assert run(["course", "--port", "70000"]) == 2
    assert "--port 70000: cannot listen" in capsys.readouterr().err


def test_it_serves_the_page(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    served: list[tuple[int, bytes]] = []

    def serve(server: ThreadingHTTPServer) -> None:
        """Answer some requests, then end as Ctrl-C does."""
        for method, path in (("GET", "/"), ("GET", "/other"), ("GET", "/?from=mail"), ("HEAD", "/")):
            thread = threading.Thread(target=server.handle_request)
            thread.start()
            connection = http.client.HTTPConnection("127.0.0.1", server.server_port)
            connection.request(method, path)
            answer = connection.getresponse()
            served.append((answer.status, answer.read()))
            thread.join()
        raise KeyboardInterrupt

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", serve)
    assert run(["course", "--port", "0"]) == 0
    assert served == [(200, b"<p>en"), (404, b""), (200, b"<p>en"), (200, b"")]
    assert "http://127.0.0.1:" in capsys.readouterr().err


def test_sigterm_is_its_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(_: ThreadingHTTPServer) -> None:
        raise Signalled(signal.SIGTERM)

    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", serve)
    assert run(["course", "--port", "0", "--quiet"]) == 143
