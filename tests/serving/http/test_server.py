"""How a server ends, and where it listens."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from tests.serving.standin import Running, StandIn, keys_file, running, wait_for

from dragoman.base.errors import ConfigError, DataError
from dragoman.serving.http.server import listen
from dragoman.serving.http.settings import Keys, Settings
from dragoman.serving.service.limits import Limits
from dragoman.serving.service.service import Service
from dragoman.translation.native.build import unavailable

ROOT = Path(__file__).parents[3]
MODEL = ROOT / "tests" / "saved" / "0.1" / "transformer"
ASKED = {"q": "A dog.", "source": "en", "target": "de"}


def test_accepted_work_is_finished_and_new_work_refused() -> None:
    with running() as server, server.client() as client:
        server.standin.gate.clear()
        answers: list[httpx.Response] = []

        def ask() -> None:
            with server.client() as own:
                answers.append(own.post("/translate", json=ASKED))

        thread = threading.Thread(target=ask)
        thread.start()
        wait_for(lambda: server.standin.asked)
        server.server.stop()
        assert client.get("/ready").json() == {"status": "draining"}
        assert client.get("/health").status_code == 200
        refused = client.post("/translate", json=ASKED)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "2")
        time.sleep(1.5)  # longer than the web server waits by itself
        assert server._thread.is_alive()
        server.standin.gate.set()
        thread.join(10)
        server._thread.join(10)
        assert not server._thread.is_alive()
        assert answers[0].json() == {"translatedText": "A DOG."}
        assert server.standin.drained


def test_an_accepted_document_waits_for_its_client() -> None:
    with running() as server, server.client() as client:
        server.standin.gate.clear()
        file = {"file": ("a.txt", b"A dog.\n")}
        handle = client.post("/v2/document", data={"target_lang": "DE"}, files=file).json()
        path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
        server.server.stop()
        server.standin.gate.set()
        wait_for(lambda: client.post(path, json=key).json()["status"] == "done")
        assert not server.state.idle
        assert client.post(f"{path}/result", json=key).content == b"A DOG.\n"
        server._thread.join(60)
        assert not server._thread.is_alive()


def test_the_end_does_not_wait_for_ever() -> None:
    with running(limits=Limits(drain_seconds=0.5)) as server:
        server.standin.gate.clear()

        def ask() -> None:
            with server.client() as own, pytest.raises(httpx.HTTPError):
                own.post("/translate", json=ASKED).raise_for_status()

        thread = threading.Thread(target=ask)
        thread.start()
        wait_for(lambda: server.standin.asked)
        server.server.stop()
        server._thread.join(10)
        assert not server._thread.is_alive()
        assert server.standin.cancelled == 1
        thread.join(10)


def test_the_files_are_deleted_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with running() as server, server.client() as client:
        form = {"source": "en", "target": "de"}
        client.post("/translate_file", data=form, files={"file": ("a.txt", b"A dog.\n")})
        assert len(list(tmp_path.rglob("*"))) == 2
    assert list(tmp_path.rglob("*")) == []


def test_an_address_that_is_taken_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ConfigError, match="in use"):
        listen("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ConfigError):
        listen("no.such.host.invalid", 0)


def test_answers_leave_at_once() -> None:
    """Nagle's algorithm would hold back the body of an answer until the client has confirmed its head."""

    async def nodelay() -> int:
        accepted: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        def came(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            own = writer.get_extra_info("socket")
            accepted.set_result(own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        here = listen("127.0.0.1", 0)
        async with await asyncio.start_server(came, sock=here):
            _, writer = await asyncio.open_connection(*here.getsockname())
            try:
                return await asyncio.wait_for(accepted, 10)
            finally:
                writer.close()

    assert asyncio.run(nodelay())


# SIGHUP


def hang_up(server: Running, times: int = 1) -> None:
    for _ in range(times):
        server.server.handle_exit(signal.SIGHUP, None)
    wait_for(lambda: not server.server._hung_up)
    wait_for(lambda: server.server._hanging_up is None or server.server._hanging_up.done())


def test_a_hangup_loads_keys_and_models_anew(tmp_path: Path) -> None:
    path = keys_file(tmp_path, old="K1")
    old, new = StandIn(), StandIn()
    with running(old, keys=Keys.read(path)) as server, server.client() as client:
        state = server.state
        state.load = lambda: (cast(Service, new), replace(state.settings, keys=Keys.read(path)))
        old.gate.clear()
        with ThreadPoolExecutor() as threads:
            accepted = threads.submit(client.post, "/translate", json={**ASKED, "api_key": "K1"})
            wait_for(lambda: old.asked)
            keys_file(tmp_path, new="K2")
            server.server.handle_exit(signal.SIGHUP, None)
            wait_for(lambda: state.service is cast(Any, new))
            with server.client() as other:
                assert other.post("/translate", json={**ASKED, "api_key": "K1"}).status_code == 403
                assert other.post("/translate", json={**ASKED, "api_key": "K2"}).status_code == 200
            old.gate.set()
            assert accepted.result(20).status_code == 200
        wait_for(lambda: old.drained)
        assert (len(old.asked), len(new.asked)) == (1, 1)


@pytest.mark.parametrize("route", ["/v1/how", "/translate_file", "/v2/document", "stream", "/v1/words"])
def test_a_hangup_waits_for_all_accepted_work(route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for work that has no place in the queue, as while a document is read."""
    old, new = StandIn(), StandIn()
    closed: list[bool] = []

    async def inspected(_: Any) -> dict[str, Any]:
        old.asked.append(([], cast(Any, None), ""))
        await old._pass(time.monotonic() + 60)
        return {"traces": [{"after": bool(closed)}]}

    form = {"source": "en", "target": "de", "target_lang": "DE"}
    with running(old) as server, server.client() as client, ThreadPoolExecutor() as threads:
        state = server.state
        state.load = lambda: (cast(Service, new), state.settings)
        monkeypatch.setattr(state.how, "answer", inspected)
        monkeypatch.setattr(state.how, "close", lambda: closed.append(True))
        parse, read = old.translate_document, list[str]()

        async def reading(*words: Any, **named: Any) -> Any:
            read.append("a document")
            return await parse(*words, **named)

        monkeypatch.setattr(old, "translate_document", reading)
        old.gate.clear()
        words = {"text": "A dog. A cat.", "source": "en", "target": "de"}
        sent: dict[str, Any] = {
            "/v1/how": {"url": route, "json": words},
            "/v1/words": {"url": route, "json": words},
            "stream": {
                "url": "/v1/translate",
                "json": {"texts": ["A dog."], "source": "en", "target": "de", "stream": True},
            },
        }.get(route) or {"url": route, "data": form, "files": {"file": ("a.txt", b"A dog.\n")}}
        accepted = threads.submit(client.post, **sent)
        wait_for(lambda: old.asked or read)
        server.server.handle_exit(signal.SIGHUP, None)
        wait_for(lambda: state.service is cast(Any, new))
        time.sleep(0.1)
        assert (old.drained, closed) == (False, [])
        old.gate.set()
        answer = accepted.result(20)
        assert answer.status_code == 200
        if route == "stream":
            assert "event: done" in answer.text
        wait_for(lambda: old.drained)
        assert closed


def test_a_hangup_does_not_wait_for_the_work_before_another(tmp_path: Path) -> None:
    """So that a key that leaked is refused at once."""
    services = [StandIn() for _ in range(3)]
    path, left = keys_file(tmp_path, old="K1"), iter(services[1:])
    with running(services[0], keys=Keys.read(path)) as server, server.client() as client:
        state = server.state
        state.load = lambda: (cast(Service, next(left)), replace(state.settings, keys=Keys.read(path)))
        services[0].gate.clear()
        with ThreadPoolExecutor() as threads:
            accepted = threads.submit(client.post, "/translate", json={**ASKED, "api_key": "K1"})
            wait_for(lambda: services[0].asked)
            for number, key in enumerate(("K2", "K3"), 1):
                keys_file(tmp_path, new=key)
                server.server.handle_exit(signal.SIGHUP, None)
                wait_for(lambda number=number: state.service is cast(Any, services[number]))
                with server.client() as other:
                    assert other.post("/translate", json={**ASKED, "api_key": key}).status_code == 200
            wait_for(lambda: services[1].drained)  # which had no work left
            assert not services[0].drained
            services[0].gate.set()
            assert accepted.result(20).status_code == 200
        wait_for(lambda: services[0].drained)


@pytest.mark.parametrize("wrong", ["keys", "models", "warm-up"])
def test_what_cannot_be_loaded_changes_nothing(
    tmp_path: Path, wrong: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = keys_file(tmp_path, old="K1")
    new = StandIn()

    def load() -> tuple[Any, Settings]:
        if wrong == "models":
            raise DataError("no such folder")
        return new, replace(server.state.settings, keys=Keys.read(path))

    async def fails() -> None:
        raise DataError("the model does not start")

    with running(keys=Keys.read(path)) as server, server.client() as client:
        if wrong == "keys":
            path.write_text("not a digest")
        if wrong == "warm-up":
            new.start = fails  # type: ignore[method-assign]
        server.state.load = load
        hang_up(server, 3)
        assert server.service is server.state.service
        assert client.post("/translate", json={**ASKED, "api_key": "K1"}).status_code == 200
        assert new.drained == (wrong == "warm-up")
    assert "not reloaded" in caplog.text


# The program


def started(*words: str, **environment: str) -> tuple[subprocess.Popen[str], str, list[str]]:
    """A server of its own process, its address, and what it has said so far."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", "serve", str(MODEL), "--port", "0", *words],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", **environment},
    )
    assert process.stderr is not None
    said: list[str] = []
    for line in process.stderr:
        said.append(line)
        if found := re.search(r"http://\S+", line):
            url = found[0]
            break
    else:
        raise AssertionError("".join(said))
    wait_for(lambda: httpx.get(f"{url}/ready", trust_env=False).status_code == 200, 60)
    return process, url, said


needs_engine = pytest.mark.skipif(unavailable() is not None, reason="no native engine here")


@pytest.mark.thorough
@needs_engine
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_program_with_0(number: int) -> None:
    process, url, _ = started("--log", "json")
    try:
        answer = httpx.post(f"{url}/translate", json=ASKED, trust_env=False, timeout=60)
        assert answer.status_code == 200
        process.send_signal(number)
        _, rest = process.communicate(timeout=30)
        assert process.returncode == 0
        assert '"event": "request"' in rest
        assert "Traceback" not in rest
        assert ASKED["q"] not in rest
    finally:
        process.kill()
        process.communicate()


@pytest.mark.thorough
@needs_engine
def test_a_quiet_program_reloads_and_says_only_errors(tmp_path: Path) -> None:
    keys = keys_file(tmp_path, old="K1")
    (tmp_path / "serve.toml").write_text(f'models = ["{MODEL}"]\nport = 0\nkeys = "{keys}"\n')
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [sys.executable, "-m", "dragoman", "serve", "--config", str(tmp_path / "serve.toml"), "--quiet"],
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "OMP_NUM_THREADS": "1",
            "DRAGOMAN_SERVE_PORT": str(port),  # before the file
        },
    )

    def status(key: str) -> int:
        try:
            return httpx.post(f"{url}/translate", json={**ASKED, "api_key": key}, trust_env=False).status_code
        except httpx.HTTPError:
            return 0

    try:
        wait_for(lambda: status("K1") == 200, 60)
        keys_file(tmp_path, new="K2")
        process.send_signal(signal.SIGHUP)
        wait_for(lambda: status("K2") == 200, 60)
        assert status("K1") == 403
        keys.write_text("broken")
        process.send_signal(signal.SIGHUP)
        assert process.stderr is not None
        assert "not reloaded" in process.stderr.readline()
        assert status("K2") == 200
        process.terminate()
        _, rest = process.communicate(timeout=30)
        assert (process.returncode, rest) == (0, "")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.thorough
@needs_engine
def test_a_real_model_answers_on_every_family_of_routes() -> None:
    from dragoman import Translator

    expected = Translator.load(MODEL, engine="native")("Tom sleeps. A dog sees a cat.")
    process, url, _ = started("--log", "plain")
    try:
        with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
            text = "Tom sleeps. A dog sees a cat."
            one = client.post("/translate", json={"q": text, "source": "en", "target": "de"}).json()
            two = client.post("/v2/translate", json={"text": [text], "target_lang": "DE"}).json()
            options = {"return": ["tokens", "alignment", "risk", "scores"], "n_best": 2}
            body = {"texts": ["Tom sleeps."], "source": "en", "target": "de", "options": options}
            three: dict[str, Any] = client.post("/v1/translate", json=body).json()["results"][0]
            files = {"file": ("a.html", b"<p>Tom <b>sleeps</b>.</p>")}
            form = {"source": "auto", "target": "de"}
            where = client.post("/translate_file", data=form, files=files).json()["translatedFileUrl"]

            assert one["translatedText"] == two["translations"][0]["text"] == expected
            assert len(three["n_best"]) == 2
            assert three["score"] == three["n_best"][0]["score"]
            assert len(three["tokens"]) > 1
            assert three["tokens"][-1]["text"] == ""
            assert {"alignment", "flags", "risk"} <= set(three)
            assert client.get(where).content.startswith(b"<p>")
            assert b"</b>" in client.get(where).content
            assert client.get("/v1/models").json()["models"][0]["engine"] == "native"
    finally:
        process.terminate()
        process.communicate(timeout=30)
    assert process.returncode == 0


@pytest.mark.thorough
@needs_engine
def test_serving_with_the_native_engine_needs_no_torch() -> None:
    """Torch is hidden, so that an import of it would fail."""
    code = (
        "import sys; sys.modules['torch'] = None; sys.argv = ['dragoman', 'serve', sys.argv[1], '--check'];"
        "from dragoman.cli import main; main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(MODEL)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "pair en to de" in result.stdout
