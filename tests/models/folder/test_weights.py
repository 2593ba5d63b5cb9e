"""Weights on disk: whole, tied ones once, and with an error that helps where they do not fit."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dragoman.base.errors import DragomanError, ModelError
from dragoman.models.folder.weights import (
    average,
    not_finite,
    put_weights,
    read_weights,
    weights_of,
    write_weights,
    writing_weights,
)
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig


def model(seed: int = 0, **changes: Any) -> nn.Module:
    shape: dict[str, Any] = {"d_model": 8, "d_ff": 12, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    torch.manual_seed(seed)
    return build_model(TransformerConfig(**({"source_vocab": 9, "target_vocab": 9} | shape | changes)))


@contextmanager
def disk_full_after(count: int) -> Iterator[None]:
    """No file can grow beyond `count` bytes: writing fails as it does where the disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize(("tie", "matrices"), [("all", 1), ("decoder", 2), ("none", 3)])
def test_tied_weights_are_listed_once(tie: str, matrices: int) -> None:
    weights = weights_of(model(tie=tie))

    assert sum(weight.shape == (9, 8) for weight in weights.values()) == matrices
    assert not any(weight.requires_grad for weight in weights.values())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("tie", ["all", "none"])
def test_what_is_written_is_read_bit_for_bit(tie: str, dtype: torch.dtype, tmp_path: Path) -> None:
    path = tmp_path / "new" / "weights.safetensors"
    weights = weights_of(model(tie=tie).to(dtype))

    write_weights(path, weights)

    read = read_weights(path)
    assert read.keys() == weights.keys()
    assert all(read[name].dtype == dtype and torch.equal(read[name], weights[name]) for name in weights)


def test_weights_are_put_into_a_model(tmp_path: Path) -> None:
    one, other = model(seed=1), model(seed=2)

    put_weights(other, weights_of(one), "one")
    with torch.no_grad():
        next(iter(one.parameters())).zero_()  # a copy, not the same memory

    assert bool(next(iter(other.parameters())).any())


def test_views_and_strides_are_written_as_they_look(tmp_path: Path) -> None:
    square = torch.arange(16.0).view(4, 4)

    write_weights(tmp_path / "w", {"turned": square.T, "column": square[:, 1]})

    read = read_weights(tmp_path / "w")
    assert torch.equal(read["turned"], square.T)
    assert torch.equal(read["column"], square[:, 1])


def test_other_names_are_an_error() -> None:
    with pytest.raises(ModelError, match="here.*missing.*encoder_norm.*unknown") as caught:
        put_weights(model(norm="pre"), weights_of(model(output_bias=True)), "here")

    assert caught.value.hint


def test_other_shapes_are_an_error_and_change_nothing() -> None:
    receiver = model(seed=1)
    before = {name: weight.clone() for name, weight in weights_of(receiver).items()}
    weights = weights_of(model(seed=2))
    last = list(weights)[-1]

    with pytest.raises(ModelError, match=rf"here: {last} has shape \(99,\)") as caught:
        put_weights(receiver, weights | {last: torch.zeros(99)}, "here")

    assert caught.value.hint
    assert all(torch.equal(weight, before[name]) for name, weight in weights_of(receiver).items())


@pytest.mark.parametrize("content", [b"", b"not weights at all", b"\x08\0\0\0\0\0\0\0{}{}{}{}"])
def test_a_file_that_holds_no_weights_is_an_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    path.write_bytes(content)

    with pytest.raises(ModelError, match=r"w\.safetensors: cannot be read") as caught:
        read_weights(path)

    assert caught.value.hint


def test_half_a_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    write_weights(path, weights_of(model()))
    path.write_bytes(path.read_bytes()[:-100])

    with pytest.raises(ModelError, match="cannot be read"):
        read_weights(path)


@pytest.mark.parametrize("name", ["missing.safetensors", "."])
def test_no_file_is_an_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read"):
        read_weights(tmp_path / name)


def test_a_full_disk_is_an_error_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    write_weights(path, {"a": torch.ones(3)})

    with (
        disk_full_after(1000),
        pytest.raises(DragomanError, match=r"w\.safetensors: cannot be written") as caught,
    ):
        write_weights(path, {"a": torch.zeros(100_000)})

    assert caught.value.hint
    assert torch.equal(read_weights(path)["a"], torch.ones(3))
    assert [each.name for each in tmp_path.iterdir()] == ["w.safetensors"]


def test_integers_are_not_put_into_a_model() -> None:
    weights = weights_of(model())
    names = list(weights)[:2]

    with pytest.raises(ModelError, match=rf"{names[0]} holds int64.*{names[1]} holds int64"):
        put_weights(model(), weights | {name: weights[name].long() for name in names}, "here")


def test_the_file_can_be_looked_at_before_it_replaces_another(tmp_path: Path) -> None:
    path = tmp_path / "w.safetensors"
    write_weights(path, {"a": torch.ones(3)})

    with pytest.raises(RuntimeError), writing_weights(path, {"a": torch.zeros(3)}) as part:
        assert torch.equal(read_weights(part)["a"], torch.zeros(3))
        raise RuntimeError

    assert torch.equal(read_weights(path)["a"], torch.ones(3))


def test_what_is_not_finite_is_named() -> None:
    weights = {"a": torch.ones(2), "b": torch.tensor([1, torch.nan]), "c": torch.tensor([torch.inf])}

    assert not_finite(weights) == ["b", "c"]


# Averages


def drawn(
    count: int, folder: Path, dtype: torch.dtype = torch.float32
) -> tuple[list[Path], list[dict[str, Tensor]]]:
    paths, drawn = [], []
    for seed in range(count):
        generator = torch.Generator().manual_seed(seed)
        weights = {
            name: (torch.randn(shape, generator=generator) * 10.0 ** (3 * seed - 6)).to(dtype)
            for name, shape in (("a", (50, 40)), ("b", (7,)))
        }
        paths.append(folder / f"{seed}.safetensors")
        write_weights(paths[-1], weights)
        drawn.append(weights)
    return paths, drawn


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_average_is_the_float64_mean_rounded_once(count: int, tmp_path: Path) -> None:
    paths, files = drawn(count, tmp_path)

    mean = average(paths)

    for name in ("a", "b"):
        wanted = np.mean([weights[name].double().numpy() for weights in files], axis=0)
        assert mean[name].dtype == torch.float32
        assert np.array_equal(mean[name].numpy(), wanted.astype(np.float32))


def test_the_average_keeps_the_precision_of_its_files(tmp_path: Path) -> None:
    paths, files = drawn(3, tmp_path, torch.float64)

    mean = average(paths)

    wanted = (files[0]["a"] + files[1]["a"] + files[2]["a"]) / 3
    torch.testing.assert_close(mean["a"], wanted, rtol=1e-15, atol=0)


@pytest.mark.parametrize("other", [{"a": torch.ones(3)}, {"a": torch.ones(50, 40), "b": torch.ones(8)}])
def test_an_average_of_what_does_not_go_together_is_an_error(
    other: dict[str, Tensor], tmp_path: Path
) -> None:
    paths, _ = drawn(1, tmp_path)
    write_weights(tmp_path / "other.safetensors", other)

    with pytest.raises(ModelError, match=r"other\.safetensors") as caught:
        average([*paths, tmp_path / "other.safetensors"])

    assert caught.value.hint


def test_a_file_that_may_not_be_read_is_named_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "w.safetensors"
    write_weights(path, weights_of(model()))

    def refuse(path: Path, *_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(ModelError, match=r"w\.safetensors: cannot be read as weights \(Permission denied\)"):
        read_weights(path)
