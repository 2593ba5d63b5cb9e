"""Whether weights fit a model: names, shapes and types, with every fault listed. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dragoman.base.errors import ModelError
from dragoman.base.tables import listing
from dragoman.translation.folder.header import Outline


@dataclass(frozen=True, kw_only=True)
class Misfits:
    """All differences between the weights that a model needs and the weights at hand."""

    missing: list[str]
    unknown: list[str]
    shapes: list[str]  # one text for each weight of another shape
    dtypes: list[str]  # one text for each weight that holds no floating-point numbers

    @property
    def names(self) -> list[str]:
        """The faults of the names: at most one text each for missing and unknown ones."""
        kinds = {"missing": self.missing, "unknown": self.unknown}
        return [f"{kind} {listing(names)}" for kind, names in kinds.items() if names]


def misfits(weights: Mapping[str, Outline], needed: Mapping[str, Outline]) -> Misfits:
    """Compare the weights in a file with those that a model needs."""
    both = [name for name in needed if name in weights]
    return Misfits(
        missing=sorted(needed.keys() - weights.keys()),
        unknown=sorted(weights.keys() - needed.keys()),
        shapes=[
            f"{name} has shape {weights[name].shape}, the model needs {needed[name].shape}"
            for name in both
            if weights[name].shape != needed[name].shape
        ],
        dtypes=[
            f"{name} holds {weights[name].dtype}, not floating-point numbers"
            for name in both
            if not weights[name].floating
        ],
    )


def check_fit(weights: Mapping[str, Outline], needed: Mapping[str, Outline], where: Path | str) -> None:
    """Raise ModelError that lists all differences, if there are any. `where` names the weights."""
    found = misfits(weights, needed)
    faults = [listing(texts, separator="; ") for texts in (found.names, found.shapes, found.dtypes) if texts]
    if faults:
        start = "weights do not fit: " if found.names else ""
        raise ModelError(
            f"{where}: {start}{'; '.join(faults)}", hint="these weights belong to a model of another shape"
        )
