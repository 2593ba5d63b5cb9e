"""`dragoman serve`: what is refused before a model is loaded, and what --check says."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.base.errors import DataError
from dragoman.cli.serve import name_and_path
from dragoman.translation.native.build import unavailable

SAVED = Path(__file__).parents[1] / "saved" / "0.1"
MODEL = SAVED / "transformer"

needs_engine = pytest.mark.skipif(unavailable() is not None, reason="no native engine here")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--host", "0.0.0.0"], 2, "no keys are set"),
        (["--host", "0.0.0.0", "--keys", "none"], 3, "none: No such file"),
        (["--keys", "plain"], 3, "plain:1: not the SHA-256 digest"),
        (["--usage", "plain"], 3, "plain: not a file of counts"),
        (["--usage", "plain/used.json"], 1, "plain/used.json: cannot be written"),
        (["--usage", "plain/used.json", "--check"], 1, "plain/used.json: cannot be written"),
        (["--port", "70000"], 2, "port 70000"),
        (["--port", "x"], 2, "--port"),
        (["--cors-origin", "*"], 2, "--cors-origin *"),
        (["--allow-host", "http://x"], 2, "--allow-host http://x"),
        (["--trusted-proxy", "proxy"], 2, "--trusted-proxy"),
        (["--suggestions"], 2, "--suggestions without --memory"),
        (["--log", "xml"], 2, "--log xml"),
        (["--timeout", "0"], 2, "--timeout 0"),
        (["--timeout", "nan"], 2, "--timeout nan"),
        (["--max-texts", "0"], 2, "--max-texts 0"),
        (["--max-characters", "-1"], 2, "--max-characters -1"),
        (["--max-file", "0"], 2, "--max-file 0"),
        (["--rate", "-1"], 2, "--rate -1"),
        (["--cache", "-1"], 2, "--cache -1"),
        (["--threads", "0"], 2, "--threads 0"),
        (["--engine", "gpu"], 2, "--engine gpu"),
        (["--dtype", "int3"], 2, "--dtype int3"),
        (["--terms", "none.csv"], 3, "none.csv: no such file"),
        (["--adapter", "legal=none"], 3, "none: no such file"),
        (["--terms", "a=plain", "--terms", "a=plain"], 2, "the name a twice"),
        (["second", "--terms", "plain"], 2, "for which model?"),
        (["one=x", "one=y"], 2, "two models are called 'one'"),
    ],
)
def test_bad_flags_are_refused_before_a_model_is_loaded(
    dragoman_, words: list[str], code: int, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").write_text("secret\n")
    monkeypatch.setattr("dragoman.serving.service.service.Service.open", loaded)
    ended = dragoman_("serve", "model", *words)

    assert (ended.code, says in ended.err) == (code, True), ended.err
    assert "secret" not in ended.err
    assert "Traceback" not in ended.err


def loaded(*_: object, **__: object) -> None:
    raise AssertionError("a model was loaded")


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="no SIGHUP here")
def test_a_hangup_while_models_load_is_ignored(dragoman_, monkeypatch: pytest.MonkeyPatch) -> None:
    def hung_up(*_: object, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGHUP)
        raise DataError("still here")

    ends = signal.signal(signal.SIGHUP, lambda *_: pytest.fail("not ignored"))
    try:
        monkeypatch.setattr("dragoman.serving.service.service.Service.open", hung_up)
        assert "still here" in dragoman_("serve", "model", "--port", "0").err
        assert signal.getsignal(signal.SIGHUP) != signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, ends)


def test_an_address_that_is_taken_is_refused_before_a_model_is_loaded(
    dragoman_, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    monkeypatch.setattr("dragoman.serving.service.service.Service.open", loaded)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = dragoman_("serve", "model", "--port", taken.getsockname()[1])

    assert (ended.code, "in use" in ended.err) == (2, True)


def test_a_missing_model_is_said(dragoman_, tmp_path: Path) -> None:
    assert dragoman_("serve", tmp_path / "none", "--check").code == 4
    assert dragoman_("serve", tmp_path / "none", "--port", "0").code == 4


def test_a_missing_extra_is_said(dragoman_, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.cli.serve._EXTRA", ("starlette", "no_such_package"))
    ended = dragoman_("serve", "model")

    assert ended.code == 2
    assert "error: serving needs no_such_package" in ended.err
    assert "hint: pip install 'dragoman[serve]'" in ended.err


@needs_engine
def test_check_says_what_would_be_served(dragoman_, tmp_path: Path) -> None:
    terms, keys = tmp_path / "product.csv", tmp_path / "keys"
    terms.write_text("source,target\ndog,Hund\n")
    keys.write_text(hashlib.sha256(b"K").hexdigest())
    ended = dragoman_(
        *("serve", f"first={MODEL}", "--check", "--terms", f"first:{terms}", "--keys", keys),
        *("--memory", tmp_path / "new.tm", "--host", "0.0.0.0", "--port", "5001"),
    )

    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[:2] == ["model first: en to de, native engine (terms product)", "pair en to de"]
    assert f"memory {tmp_path / 'new.tm'}" in lines
    assert "address http://0.0.0.0:5001, for 1 key" in lines
    assert lines[-1].startswith("resident memory ")


@needs_engine
def test_options_come_from_flags_then_variables_then_a_file(
    dragoman_, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "serve.toml"
    path.write_text(
        f'models = ["a={MODEL}"]\nport = 5001\nhost = "127.0.0.2"\nmax-texts = 5\nmemory = []\n'
        "quiet = false\n"
    )

    def address(*words: str) -> str:
        ended = dragoman_("serve", "--config", path, "--check", *words)
        assert (ended.code, ended.out.splitlines()[0][:7]) == (0, "model a"), ended.err
        return next(line for line in ended.out.splitlines() if line.startswith("address"))

    assert address() == "address http://127.0.0.2:5001, for this machine"
    monkeypatch.setenv("DRAGOMAN_SERVE_PORT", "5002")
    assert "127.0.0.2:5002" in address()
    assert "127.0.0.2:5003" in address("--port", "5003")


@needs_engine
def test_variables_alone_are_enough(dragoman_, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_SERVE_MODELS", str(MODEL))
    monkeypatch.setenv("DRAGOMAN_SERVE_HOST", "0.0.0.0")
    monkeypatch.setenv("DRAGOMAN_SERVE_ALLOW_OPEN", "true")
    monkeypatch.setenv("DRAGOMAN_SERVE_ALLOW_HOST", "a.example b.example")
    assert "address http://0.0.0.0:5000, for everybody" in dragoman_("serve", "--check").out


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prot = 5", "serve.toml: unknown option prot"),
        ("port = [5]", "serve.toml: port = [5]"),
        ('allow-host = "a"', 'serve.toml: allow-host = "a"'),
        ("[limits]\ntexts = 5", "unknown option limits"),
        ("max-texts = 0", "--max-texts 0"),
        ('port = "x"', 'serve.toml: port = "x"'),
        ("port = ", "serve.toml"),
        ('config = "other.toml"', "unknown option config"),
        ("keys = false", "serve.toml: keys = false"),
        ("allow-open = 1", "serve.toml: allow-open = 1"),
        ("port = true", "serve.toml: port = true"),
        ("port = 5001.7", "serve.toml: port = 5001.7"),
        ("port = 2026-01-01", "serve.toml: port = "),
        ("timeout = true", "serve.toml: timeout = true"),
        ("memory = [1]", "serve.toml: memory = [1]"),
        ("host.a = 1", "serve.toml: host = {a = 1}"),
        ("max-texts = 5\nmax_texts = 6", "max_texts is given twice"),
    ],
)
def test_a_wrong_file_is_refused(
    dragoman_, text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.serving.service.service.Service.open", loaded)
    (tmp_path / "serve.toml").write_text(text)
    ended = dragoman_("serve", "model", "--config", tmp_path / "serve.toml")
    assert (ended.code in (2, 3), says in ended.err) == (True, True), ended.err


def test_a_misspelt_variable_is_warned_of(dragoman_, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.service.service.Service.open", loaded)
    monkeypatch.setenv("DRAGOMAN_SERVE_TIMEUOT", "3")
    monkeypatch.setenv("DRAGOMAN_SERVE_SERVICE_HOST", "10.0.0.1")  # of Kubernetes
    err = dragoman_("serve", "model", "--check").err
    assert "DRAGOMAN_SERVE_TIMEUOT sets no option; did you mean DRAGOMAN_SERVE_TIMEOUT?" in err
    assert "SERVICE_HOST" not in err


def test_the_variables_of_a_kubernetes_service_of_this_name_are_left_alone() -> None:
    variables = {**os.environ, "DRAGOMAN_SERVE_PORT": "tcp://10.0.0.1:80"}
    words = [sys.executable, "-m", "dragoman", "serve", "no-model", "--check"]
    ended = subprocess.run(words, env=variables, capture_output=True, text=True)
    assert "no-model" in ended.stderr
    assert "PORT" not in ended.stderr


def test_a_wrong_variable_is_named(dragoman_, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_SERVE_PORT", "x")
    assert "DRAGOMAN_SERVE_PORT" in dragoman_("serve", "model").err


def test_names_of_models_and_files() -> None:
    assert name_and_path("runs/en-de.v2", suffix=True) == ("en-de.v2", Path("runs/en-de.v2"))
    assert name_and_path("a=runs/en-de", suffix=True) == ("a", Path("runs/en-de"))
    assert name_and_path("lists/product.csv") == ("product", Path("lists/product.csv"))
    assert name_and_path("./a=b/c.csv") == ("c", Path("./a=b/c.csv"))
