"""Several processes train one model by the command line, started as torchrun starts them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dragoman.text import toy

WORDS = [
    "--preset=tiny", "tokenizer.vocab_size=400",
    *(f"model.{o}" for o in ("d_model=16", "d_ff=32", "heads=2", "encoder_layers=1", "decoder_layers=1")),
    *(f"training.{o}" for o in ("batch_tokens=300", "max_updates=100000", "validate_every=50000")),
]  # fmt: skip


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> list[str]:
    folder = tmp_path_factory.mktemp("text")
    pairs = toy.pairs(seed=5, count=60)
    paths = [folder / f"train.{side}" for side in ("en", "de")]
    for place, path in enumerate(paths):
        path.write_text("".join(f"{pair[place]}\n" for pair in pairs), encoding="utf-8")
    return [str(path) for path in paths]


def start(*words: str) -> list[subprocess.Popen[str]]:
    """`dragoman train`, twice."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": "2",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",
        "GLOO_SOCKET_IFNAME": "lo0" if sys.platform == "darwin" else "lo",
    }
    return [
        subprocess.Popen(
            [sys.executable, "-m", "dragoman", "train", *words],
            env=shared | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]


def ended(processes: list[subprocess.Popen[str]]) -> tuple[list[int], list[str]]:
    """Exit codes, and what each said on standard error."""
    try:
        said = [process.communicate(timeout=120) for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [out for out, _ in said] == ["", ""]
    return [process.returncode for process in processes], [err for _, err in said]


def test_what_is_wrong_with_the_text_is_said_once(text, tmp_path):
    (tmp_path / "bad.de").write_bytes(b"Gut.\n\xff\n")

    codes, said = ended(start(text[0], str(tmp_path / "bad.de"), "-o", str(tmp_path / "x"), *WORDS))

    assert codes == [3, 1]
    assert said[0].count("error:") == 1
    assert "bad.de:2: not valid UTF-8" in said[0]
    assert said[1] == ""


def test_a_signal_to_all_saves(text, tmp_path):
    """As torchrun passes on Ctrl-C or SIGTERM: to each process, at its own time."""
    processes = start(*text, "-o", str(tmp_path / "x"), *WORDS)
    deadline = time.monotonic() + 60
    metrics = tmp_path / "x" / "metrics.jsonl"  # the first report comes once both are at work
    while (
        not (metrics.exists() and '"train"' in metrics.read_text("utf-8"))
        and time.monotonic() < deadline
        and processes[0].poll() is None
    ):
        time.sleep(0.05)
    for process in reversed(processes):
        process.send_signal(signal.SIGTERM)

    codes, said = ended(processes)

    assert codes == [143, 143], said
    assert "everything is saved" in said[0]
    assert said[1] == ""
    assert Path(tmp_path / "x" / "checkpoints" / "latest" / "progress.json").exists()
