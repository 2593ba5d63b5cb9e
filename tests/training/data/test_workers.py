"""Chunks come back in order, as one process would make them; a process that dies is an error, not a hang."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dragoman.base.errors import DragomanError
from dragoman.text import toy
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.data.chunk import Chunk, Chunker
from dragoman.training.data.workers import Texts, Workers

PAIRS = toy.pairs(seed=3, count=120)
TEXTS: list[tuple[int, Texts]] = [
    (n, ([s for s, _ in PAIRS[n : n + 10]], [t for _, t in PAIRS[n : n + 10]])) for n in range(0, 120, 10)
]


@pytest.fixture(scope="module")
def chunker() -> Chunker:
    tokenizer = Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=420, placeholders=5))
    return Chunker(tokenizer=tokenizer, keep=FilterConfig(max_length=12), dtype="uint16")


def same(one: Chunk, other: Chunk) -> bool:
    return one.blobs() == other.blobs()


def test_chunks_come_in_order_as_one_process_makes_them(chunker: Chunker) -> None:
    with Workers(chunker, 2) as pool:
        result = list(pool.chunks(TEXTS))

    assert [number for number, _ in result] == [number for number, _ in TEXTS]
    for (_, texts), (_, chunk) in zip(TEXTS, result, strict=True):
        assert same(chunk, chunker.chunk(*texts))
    assert any(chunk.reasons.any() for _, chunk in result)


def test_few_chunks_are_read_ahead(chunker: Chunker) -> None:
    read = 0

    def texts() -> Iterator[tuple[int, Texts]]:
        nonlocal read
        for one in TEXTS:
            read += 1
            yield one

    with Workers(chunker, 2) as pool:
        next(pool.chunks(texts()))
        assert read <= 4


def test_a_process_that_is_killed_is_an_error(chunker: Chunker) -> None:
    with pytest.raises(DragomanError, match="was killed by SIGKILL") as caught, Workers(chunker, 2) as pool:
        for number in pool.processes:
            os.kill(number, signal.SIGKILL)
        list(pool.chunks(TEXTS))
    assert "data.workers=1" in (caught.value.hint or "")


def test_an_error_in_a_process_keeps_its_words(chunker: Chunker, monkeypatch: pytest.MonkeyPatch) -> None:
    def save(tokenizer: Tokenizer, folder: Path) -> None:
        (folder / "tokenizer.json").write_text("{}")

    monkeypatch.setattr(Tokenizer, "save", save)
    with pytest.raises(DragomanError, match="format_version None"), Workers(chunker, 1) as pool:
        list(pool.chunks(TEXTS))


def test_none_is_left_when_the_reader_stops(chunker: Chunker) -> None:
    """As Ctrl-C does: an exception leaves the block while chunks are on their way."""
    with pytest.raises(KeyboardInterrupt), Workers(chunker, 2) as pool:
        for _ in pool.chunks(TEXTS):
            raise KeyboardInterrupt
    for number in pool.processes:
        with pytest.raises(ProcessLookupError):
            os.kill(number, 0)


SCRIPT = """
import sys, time
from pathlib import Path
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.training.data.chunk import Chunker
from dragoman.training.data.workers import Workers
chunker = Chunker(tokenizer=Tokenizer.load(Path(sys.argv[1])), keep=FilterConfig(), dtype="uint16")
with Workers(chunker, 2) as pool:  # without a guard: workers do not import this script
    next(pool.chunks([(0, (["a"], ["b"]))] * 9))
    print(*pool.processes, flush=True)
    time.sleep(600)
"""


@pytest.mark.thorough
def test_they_end_with_a_process_that_is_killed(chunker: Chunker, tmp_path: Path) -> None:
    chunker.tokenizer.save(tmp_path)
    (tmp_path / "script.py").write_text(SCRIPT)
    parent = subprocess.Popen(
        [sys.executable, tmp_path / "script.py", tmp_path], stdout=subprocess.PIPE, text=True
    )
    try:
        assert parent.stdout
        numbers = [int(word) for word in parent.stdout.readline().split()]
        assert len(numbers) == 2
    finally:
        parent.kill()
        parent.communicate()
    guard = time.monotonic() + 60
    while any(alive(number) for number in numbers):
        assert time.monotonic() < guard
        time.sleep(0.02)


def alive(number: int) -> bool:
    """Whether a process runs; one that has ended may wait for a parent that never asks."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_chunk_survives_its_bytes(chunker: Chunker) -> None:
    chunk = chunker.chunk(["See %s.", "", "x " * 30], ["Sieh %s.", "y", "z"])

    assert same(Chunk.of_blobs(chunk.blobs(), "uint16"), chunk)
    assert chunk.reasons.tolist() == [0, 1, 3]
    assert (len(chunk.source_lengths), len(chunk.digests), len(chunk.copied)) == (1, 1, 5)
    assert np.array_equal(chunk.source, chunker.tokenizer.encode_source(["See %s."])[0])
