"""The header of safetensors: what the library wrote is read, and a hostile one costs nothing."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from dragoman.base.errors import ModelError
from dragoman.translation.folder.header import Outline, read_header

DTYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2,
    torch.int64, torch.int32, torch.int16, torch.int8, torch.uint64, torch.uint32, torch.uint16, torch.uint8,
    torch.bool, torch.complex64,
]  # fmt: skip


def test_it_says_what_the_library_wrote(tmp_path: Path) -> None:
    tensors = {str(dtype): torch.zeros(2, 3, dtype=dtype) for dtype in DTYPES}
    tensors |= {"scalar": torch.tensor(1.0), "empty": torch.zeros(0, 4)}
    save_file(tensors, tmp_path / "w", metadata={"format": "pt"})

    header = read_header(tmp_path / "w")

    assert header == {
        name: Outline(shape=tuple(tensor.shape), dtype=str(tensor.dtype).removeprefix("torch."))
        for name, tensor in tensors.items()
    }
    assert header["scalar"].count == 1
    assert {dtype for dtype in DTYPES if header[str(dtype)].floating} == set(DTYPES[:4])


def written(path: Path, header: Any, numbers: int = 16, length: int | None = None) -> Path:
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    count = len(data) if length is None else length
    path.write_bytes(count.to_bytes(8, "little") + data + bytes(numbers))
    return path


def row(**changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]} | changes


def test_the_rows_of_these_tests_are_right_without_changes(tmp_path: Path) -> None:
    assert read_header(written(tmp_path / "w", {"a": row()})) == {"a": Outline(shape=(2, 2), dtype="float32")}


@pytest.mark.parametrize(
    "header",
    [
        [], 3, b"{", b"\xff", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 10_000,
        {"a": None}, {"a": []}, {"a": {}}, {"a": row(shape=3)}, {"a": row(shape="22")},
        {"a": row(shape=[2, -2])}, {"a": row(shape=[2.0, 2])}, {"a": row(shape=[True, 4])},
        {"a": row(shape=[2, 3])},
        {"a": row(shape=[10**300, 10**300])}, {"a": row(shape=[9] * 900_000)}, {"a": row(shape=[2**64, 0])},
        {"a\0": row()}, b'{"\\ud800":' + json.dumps(row()).encode() + b"}",
        {"a": row(dtype="F31")}, {"a": row(dtype=["F32"])},
        {"a": row(data_offsets=[0])}, {"a": row(data_offsets=[16, 0])}, {"a": row(data_offsets=[-16, 0])},
        {"a": row(data_offsets=[16, 32])}, {"a": row(data_offsets=["0", "16"])},
        {"a": row(data_offsets=None)},
        b'{"a":' + json.dumps(row()).encode() + b',"a":' + json.dumps(row()).encode() + b"}",
    ],
    ids=lambda header: str(header)[:50],
)  # fmt: skip
def test_a_wrong_header_is_refused(header: Any, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"w\.safetensors: cannot be read as weights") as caught:
        read_header(written(tmp_path / "w.safetensors", header))

    assert caught.value.hint
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("content", [b"", b"\x08", b"\xff" * 8, b"not weights at all"])
def test_a_file_without_a_header_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(content)

    with pytest.raises(ModelError, match="cannot be read"):
        read_header(tmp_path / "w")


def test_a_long_header_is_not_read(tmp_path: Path) -> None:
    path = written(tmp_path / "w", b"", length=2_000_000_000)
    with path.open("r+b") as file:
        file.truncate(3_000_000_000)  # a sparse file: the header would fit

    tracemalloc.start()
    with pytest.raises(ModelError, match="2,000,000,000 bytes"):
        read_header(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 1_000_000


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_no_file_is_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        read_header(tmp_path / name)
