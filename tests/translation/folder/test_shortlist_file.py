from __future__ import annotations

import json
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.base.errors import ModelError
from dragoman.translation.folder.shortlist import Shortlist, write

CANDIDATES = [[5, 2, 3], [-1, -1, -1], [7, -1, -1], [0, 9, 1]]
FREQUENT = [6, 2]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "shortlist.safetensors"
    candidates = np.array(CANDIDATES, dtype=np.int32)
    probability = np.where(candidates < 0, 0, 0.25).astype(np.float32)
    write(
        path,
        tokenizer="t",
        frequent=np.array(FREQUENT, dtype=np.int32),
        candidates=candidates,
        probability=probability,
    )
    return path


def read(path: Path) -> Shortlist:
    return Shortlist.read(path, tokenizer="t", source_vocab=4, target_vocab=10)


@pytest.mark.parametrize(
    ("source", "allowed"),
    [
        ([], (2, 6)),
        ([1], (2, 6)),
        ([0], (2, 3, 5, 6)),
        ([2, 0, 2], (2, 3, 5, 6, 7)),
        ([3, 2, 1, 0], (0, 1, 2, 3, 5, 6, 7, 9)),
    ],
)
def test_a_sentence_may_use_frequent_tokens_and_its_own_translations(
    source: list[int], allowed: tuple[int, ...], path: Path
) -> None:
    assert read(path).of(source) == allowed


def test_any_reader_of_safetensors_reads_it(path: Path) -> None:
    from safetensors.numpy import load_file

    tensors = load_file(path)
    assert tensors["candidates"].tolist() == CANDIDATES
    assert tensors["frequent"].tolist() == FREQUENT
    assert tensors["probability"][2].tolist() == [0.25, 0, 0]


@pytest.mark.thorough
def test_reading_loads_neither_numpy_nor_torch(path: Path) -> None:
    code = f"""
import sys
from pathlib import Path
from dragoman.translation.folder.shortlist import Shortlist
shortlist = Shortlist.read(Path({str(path)!r}), tokenizer="t", source_vocab=4, target_vocab=10)
assert shortlist.of([0]) == (2, 3, 5, 6)
print([name for name in ("numpy", "torch", "safetensors") if name in sys.modules])
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout == "[]\n"


def test_it_outlives_its_file(path: Path) -> None:
    """An archive is unpacked into a folder that is gone after loading."""
    shortlist = read(path)
    path.unlink()
    assert shortlist.of([2]) == (2, 6, 7)


def changed(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the header, whose places count from its end."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    table = json.loads(data[8 : 8 + length])
    change(table)
    header = json.dumps(table).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + data[8 + length :])


def test_the_changes_below_change_only_what_they_name(path: Path) -> None:
    changed(path, lambda table: None)
    assert read(path).of([0]) == (2, 3, 5, 6)


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.pop("candidates"),
        lambda table: table.pop("__metadata__"),
        lambda table: table["__metadata__"].update(version="2"),
        lambda table: table["candidates"].update(shape=[4, 3_000_000_000]),
        lambda table: table["candidates"].update(shape=[12]),
        lambda table: table["candidates"].update(shape=[-4, -3]),
        lambda table: table["candidates"].update(shape=[4, 3.0]),
        lambda table: table["candidates"].update(shape=[True, 12]),
        lambda table: table["candidates"].update(shape="43"),
        lambda table: table["candidates"].update(shape=[0, 3], data_offsets=[0, 0]),
        lambda table: table["candidates"].update(dtype="F32"),
        lambda table: table["candidates"].update(data_offsets=[-48, 0]),
        lambda table: table["candidates"].update(data_offsets=[10**30, 10**30 + 48]),
        lambda table: table["candidates"].update(data_offsets=[96, 144]),
        lambda table: table["candidates"].update(data_offsets=[0]),
        lambda table: table["frequent"].update(data_offsets=None),
        lambda table: table.update(frequent=[1, 2]),
    ],
)
def test_a_header_that_lies_is_refused(change: Callable[[dict[str, Any]], object], path: Path) -> None:
    changed(path, change)
    with pytest.raises(ModelError, match="not a shortlist of this model") as caught:
        read(path)
    assert "dragoman model shortlist" in str(caught.value.hint)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x05",
        b"\xff" * 8,
        b"\x00" * 8,
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 3) + b"\xff{}",
        struct.pack("<Q", 9_000) + b"[" * 9_000,
        struct.pack("<Q", 20_000) + b" " * 20_000,
    ],
    ids=lambda data: str(data[:12]),
)
def test_a_file_of_another_kind_is_refused(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    with pytest.raises(ModelError, match="not a shortlist of this model"):
        read(path)


def test_a_file_cut_short_is_refused_wherever_it_is_cut(path: Path) -> None:
    data = path.read_bytes()
    for length in range(0, len(data) - 1, 7):
        path.write_bytes(data[:length])
        with pytest.raises(ModelError):
            # The file ends with the probabilities, which are not read.
            if read(path).of(range(4)) == (0, 1, 2, 3, 5, 6, 7, 9):
                assert len(data) - length <= 48
                raise ModelError("whole but for the probabilities", hint="")


def test_a_missing_file_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        read(tmp_path / "shortlist.safetensors")


def test_another_tokenizer_is_refused(path: Path) -> None:
    with pytest.raises(ModelError, match="another tokenizer"):
        Shortlist.read(path, tokenizer="u", source_vocab=4, target_vocab=10)


def test_other_vocabularies_are_refused(path: Path) -> None:
    with pytest.raises(ModelError, match="4 source tokens, the model 5"):
        Shortlist.read(path, tokenizer="t", source_vocab=5, target_vocab=10)
    with pytest.raises(ModelError, match="tokens from 2 to 6, of a vocabulary of 6"):
        Shortlist.read(path, tokenizer="t", source_vocab=4, target_vocab=6)
    smaller = Shortlist.read(path, tokenizer="t", source_vocab=4, target_vocab=9)
    assert smaller.of([0, 2]) == (2, 3, 5, 6, 7)
    with pytest.raises(ModelError, match="tokens from 0 to 9, of a vocabulary of 9"):
        smaller.of([3])
