"""The differences of two model folders: configuration, tokenizer, search and weights."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from dragoman.base.config import difference, to_table
from dragoman.base.errors import ModelError
from dragoman.models.folder.weights import dequantise
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.config import WEIGHTS, FolderConfig, read_config, read_json
from dragoman.translation.folder.header import Outline, read_header
from dragoman.translation.folder.quantised import INPUT_MULTIPLIER, SCALE, dequantised

_BLOCK = 1_000_000  # numbers that are compared at once, in float64


@dataclass(frozen=True, kw_only=True)
class WeightDifference:
    """How one weight differs: in its numbers, or as `text` says.

    `largest` and `mean` are of the absolute differences of numbers that are finite in both; None without
    such numbers.
    """

    name: str
    largest: float | None = None
    mean: float | None = None
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class FolderDifference:
    """All differences of two model folders."""

    config: list[str]
    tokenizer: list[str]
    generation: list[str]
    weights: list[WeightDifference]
    total: int  # weights, including those in only one model

    @property
    def equal(self) -> bool:
        """Whether both folders translate alike."""
        return not (self.config or self.tokenizer or self.generation or self.weights)

    def to_table(self) -> dict[str, Any]:
        """The differences as plain values, for JSON."""
        return {"equal": self.equal, **asdict(self)}


def differences(first: Path, second: Path) -> FolderDifference:
    """Compare two model folders. Holds one weight of each at a time.

    Raises ModelError if a folder cannot be read. Digests are not compared: damaged weights are shown.
    """
    folders = Path(first), Path(second)
    one, other = (read_config(folder) for folder in folders)
    headers = [_matrices(folder / WEIGHTS) for folder in folders]
    shapes = [{name: outline.shape for name, outline in header.items()} for header in headers]
    both = [name for name, shape in shapes[0].items() if shapes[1].get(name) == shape]
    return FolderDifference(
        config=difference(_about(one), _about(other)),
        tokenizer=_of_tokenizers(*folders),
        generation=difference(to_table(one.generation), to_table(other.generation)),
        weights=_of_outlines(*headers) + _of_numbers(*folders, both),
        total=len(headers[0].keys() | headers[1].keys()),
    )


def _about(config: FolderConfig) -> dict[str, Any]:
    return {
        "source_language": config.source_language,
        "target_language": config.target_language,
        "directions": sorted(map(list, config.directions)),
        "alignment": config.alignment and str(config.alignment),
        "guidance": list(config.guidance),
        "model": to_table(config.model),
    }


def _of_tokenizers(first: Path, second: Path) -> list[str]:
    """Return the options and files that differ, and the first piece of each side that differs."""
    one, other = Tokenizer.load(first), Tokenizer.load(second)
    lines = difference(_about_tokenizer(first, one), _about_tokenizer(second, other))
    sides = {
        "source": [each.source_pieces(range(each.source_size)) for each in (one, other)],
        "target": [each.target_pieces(range(each.target_size)) for each in (one, other)],
    }
    for side, pieces in sides.items():
        for number, (before, after) in enumerate(zip_longest(*pieces)):
            if before != after:
                lines.append(f"{side} piece {number}, the first that differs: {before!r} -> {after!r}")
                break
    return lines


def _about_tokenizer(folder: Path, tokenizer: Tokenizer) -> dict[str, Any]:
    return {
        "config": to_table(tokenizer.config),
        "special_ids": to_table(tokenizer.specials),
        "sizes": {"source": tokenizer.source_size, "target": tokenizer.target_size},
        "files": read_json(folder, "tokenizer.json")["files"],  # SentencePiece's scores are only there
    }


def _matrices(path: Path) -> dict[str, Outline]:
    """Return the weights in a file in their own type, and multipliers, without scales of int8 matrices."""
    header = read_header(path)
    weights = dequantised(header, path)
    return {name: one for name, one in header.items() if name in weights or name.endswith(INPUT_MULTIPLIER)}


def _numbers(file: Any, name: str, path: Path) -> Tensor:
    """Return a weight, in float32 if it is stored as int8."""
    weight: Tensor = file.get_tensor(name)
    if weight.dtype != torch.int8:
        return weight
    scale = name + SCALE
    return dequantise({name: weight, scale: file.get_tensor(scale)}, path)[name]


def _of_outlines(one: dict[str, Outline], other: dict[str, Outline]) -> list[WeightDifference]:
    """Return the weights that only one model has, or that differ in shape or type."""
    found = []
    for name in dict.fromkeys([*one, *other]):
        before, after = one.get(name), other.get(name)
        if before is None or after is None:
            found.append(WeightDifference(name=name, text=f"only in the {'first' if before else 'second'}"))
        elif before.shape != after.shape:
            found.append(WeightDifference(name=name, text=f"shape {before.shape} -> {after.shape}"))
        elif before.dtype != after.dtype:
            found.append(WeightDifference(name=name, text=f"{before.dtype} -> {after.dtype}"))
    return found


def _of_numbers(one: Path, other: Path, names: list[str]) -> list[WeightDifference]:
    """Return the weights of the same shape whose numbers differ."""
    found = []
    try:
        with safe_open(one / WEIGHTS, "pt") as first, safe_open(other / WEIGHTS, "pt") as second:
            for name in names:
                before, after = _numbers(first, name, one), _numbers(second, name, other)
                if (change := _of_weight(name, before, after)) is not None:
                    found.append(change)
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"the weights of {one} or {other} cannot be read ({error})",
            hint="dragoman model verify says what is wrong with a folder",
        ) from error
    return found


def _of_weight(name: str, one: Tensor, other: Tensor) -> WeightDifference | None:
    """Return the difference of the numbers; None if all are equal. NaN equals NaN."""
    if torch.equal(one, other):
        return None
    largest, total, finite, odd = 0.0, 0.0, 0, 0
    for begin in range(0, one.numel(), _BLOCK):
        block = slice(begin, begin + _BLOCK)
        before, after = one.flatten()[block].double(), other.flatten()[block].double()
        change = (before - after).abs()
        known = change.isfinite()
        odd += int((~known & (before != after) & ~(before.isnan() & after.isnan())).sum())
        change = change[known]
        if change.numel():
            largest, total = max(largest, float(change.max())), total + float(change.sum())
            finite += change.numel()
    if not odd and not largest:
        return None
    return WeightDifference(
        name=name,
        largest=largest if finite else None,
        mean=total / finite if finite else None,
        text=f"{odd:,} numbers are NaN or infinite in one of them" if odd else "",
    )
