"""Checkpoints of shared weights: each process writes and reads its own rows. Nothing is pickled.

shard-00000-of-00002.safetensors   process 0: weights model/NAME, moments optimizer/NAME/KIND, and ema/NAME,
                                   their moving average, if the run has one
shard-00000-of-00002.json          the digest of that file, and which rows it has
progress.json                      written last: without it there is no checkpoint

Any number of processes can read them, also one that has all weights. Processes that share the weights also
read the checkpoints of `whole.py`. PyTorch's own distributed checkpoints pickle their plan, in a file
and on the wire.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor
from torch.distributed.tensor import DTensor

from dragoman.base.errors import ModelError
from dragoman.base.files import write_whole
from dragoman.base.tables import listing
from dragoman.models.folder.weights import HasWeights, not_finite, read_weights, write_weights
from dragoman.training.checkpoints.paths import PROGRESS, whole
from dragoman.training.checkpoints.progress import DAMAGED, Progress, read_progress
from dragoman.training.processes.sharded import like, local_part, own_rows
from dragoman.training.step.ema import MovingAverage
from dragoman.translation.folder.digest import digest_of

Optimizers = Sequence[torch.optim.Optimizer]
_SHARD = re.compile(r"shard-(\d{5})-of-(\d{5})\.safetensors")


@dataclass(frozen=True)
class Snapshot:
    """The rows of one process at one moment, copied, so that training can continue while they are written."""

    tensors: Mapping[str, Tensor]
    rows: Mapping[str, tuple[int, int]]  # the first, and the one after the last
    rank: int
    size: int

    @classmethod
    def of(
        cls, model: HasWeights, optimizers: Optimizers, rank: int, size: int, ema: MovingAverage | None = None
    ) -> Snapshot:
        """Copy the rows of this process."""
        tensors: dict[str, Tensor] = {}
        rows: dict[str, tuple[int, int]] = {}
        for key, value in _state(model, optimizers, ema):
            if isinstance(value, DTensor):
                own = own_rows(value)
                if not own:
                    continue
                rows[key] = own.start, own.stop
            elif rank:  # the same in every process
                continue
            tensors[key] = local_part(value).detach().to("cpu", copy=True)
        return cls(tensors, rows, rank, size)

    def write(self, folder: Path) -> None:
        """Write the files of this process. Raises DragomanError if that fails."""
        path = folder / f"shard-{self.rank:05d}-of-{self.size:05d}.safetensors"
        write_weights(path, self.tensors)
        about = {"digest": digest_of(path), "rows": self.rows}
        write_whole(path.with_suffix(".json"), json.dumps(about))


def _state(
    model: HasWeights, optimizers: Optimizers, ema: MovingAverage | None
) -> Iterator[tuple[str, Tensor]]:
    for name, average in ({} if ema is None else ema.weights).items():
        yield f"ema/{name}", average
    for name, parameter in model.named_parameters():
        yield f"model/{name}", parameter.detach()
        for optimizer in optimizers:
            for kind, value in optimizer.state.get(parameter, {}).items():
                yield f"optimizer/{name}/{kind}", torch.as_tensor(value)


def restore_rows(
    folder: Path, model: HasWeights, optimizers: Optimizers, ema: MovingAverage | None = None
) -> Progress | None:
    """Put weights and optimizer state back and return the progress, or None without a checkpoint.

    Reads the rows of this process only. Weights that are not shared are read whole. Raises ModelError if the
    checkpoint is damaged or belongs to another model.
    """
    checkpoint = whole(folder)
    if checkpoint is None:
        return None
    progress = read_progress(checkpoint / PROGRESS)
    stored = _Stored(checkpoint)
    parameters = dict(model.named_parameters())
    stored.check_names(parameters)
    weights = {name: stored.read(f"model/{name}", parameter) for name, parameter in parameters.items()}
    own = {} if ema is None else ema.weights
    averages = {name: stored.read(f"ema/{name}", average) for name, average in own.items()}
    wrong = not_finite(weights) + not_finite(averages)
    names = {id(parameter): name for name, parameter in parameters.items()}
    for optimizer in optimizers:
        # PyTorch numbers the parameters of an optimizer in the order of its groups.
        ordered = [p for group in optimizer.param_groups for p in group["params"]]
        moments = {number: stored.moments(names[id(p)], p) for number, p in enumerate(ordered)}
        wrong += [names[id(ordered[n])] for n, kinds in moments.items() if not_finite(kinds)]
        kinds = {frozenset(kinds) for kinds in moments.values()}
        if len(kinds) > 1:
            raise ModelError(f"{checkpoint}: some parameters have no state", hint=DAMAGED)
        state = optimizer.state_dict()
        state["state"] = {number: kinds for number, kinds in moments.items() if kinds}
        optimizer.load_state_dict(state)
    if wrong:
        raise ModelError(f"{checkpoint}: NaN or infinite in {listing(wrong, most=3)}", hint=DAMAGED)
    for name, parameter in parameters.items():
        local_part(parameter.detach()).copy_(weights[name])
    for name, average in own.items():
        local_part(average).copy_(averages[name])
    return progress


@dataclass(frozen=True)
class _Place:
    """Where some rows of a tensor are."""

    path: Path
    key: str  # in that file
    rows: range | None  # all, if None


class _Stored:
    """The tensors of a checkpoint, by the names that they have in shards."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[str, list[_Place]] = {}
        self._digests: dict[Path, str] = {}
        numbers = {path: _SHARD.fullmatch(path.name) for path in sorted(folder.glob("shard-*.safetensors"))}
        if not numbers:
            for part in ("model", "optimizer", "ema"):
                path = folder / f"{part}.safetensors"
                if part == "ema" and not path.exists():
                    continue
                read_weights(path)  # compares the digest in its header
                for key in _keys(path):
                    self._places[f"{part}/{key}"] = [_Place(path, key, None)]
        shards = {(int(match[1]), int(match[2])) for match in numbers.values() if match is not None}
        if shards != {(rank, len(numbers)) for rank in range(len(numbers))}:
            raise ModelError(f"{folder}: some files shard-* are missing", hint=DAMAGED)
        for path in numbers:
            self._add(path)

    def _add(self, path: Path) -> None:
        about = path.with_suffix(".json")
        try:
            table = json.loads(about.read_text(encoding="utf-8"))
            self._digests[path] = table["digest"]
            rows = {key: range(first, last) for key, (first, last) in table["rows"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"{about}: damaged ({error})", hint=DAMAGED) from error
        for key in _keys(path):
            self._places.setdefault(key, []).append(_Place(path, key, rows.get(key)))

    def check_names(self, parameters: Mapping[str, Tensor]) -> None:
        """Raise ModelError unless the model has these weights."""
        stored = {key.removeprefix("model/") for key in self._places if key.startswith("model/")}
        if wrong := stored.symmetric_difference(parameters):
            raise ModelError(f"{self._folder}: {listing(sorted(wrong))} does not fit the model", hint=DAMAGED)

    def moments(self, name: str, parameter: Tensor) -> dict[str, Tensor]:
        """The state of a parameter in its optimizer, by kind."""
        prefix, moments = f"optimizer/{name}/", {}
        for key in [key for key in self._places if key.startswith(prefix)]:
            value = self.read(key, parameter)
            if value.shape and isinstance(parameter, DTensor):
                value = like(parameter, value.to(parameter.device))
            moments[key.removeprefix(prefix)] = value
        return moments

    def read(self, key: str, parameter: Tensor) -> Tensor:
        """The rows of a tensor that this process has of `parameter`; a number as it is."""
        wanted = own_rows(parameter) if isinstance(parameter, DTensor) else range(len(parameter))
        shape = (len(wanted), *parameter.shape[1:])
        if key not in self._places:
            raise ModelError(f"{self._folder}: {key} is missing", hint=DAMAGED)
        parts = [part for place in self._places[key] if (part := self._part(place, wanted)) is not None]
        if len(parts) == 1 and not parts[0].shape:
            return parts[0]
        value = torch.cat(parts) if parts else torch.empty(shape, dtype=parameter.dtype)
        if value.shape != shape:
            raise ModelError(f"{self._folder}: {key} does not fit the model", hint=DAMAGED)
        return value

    def _part(self, place: _Place, wanted: range) -> Tensor | None:
        rows = place.rows
        first, last = wanted.start, wanted.stop
        if rows is not None:
            first, last = max(first, rows.start) - rows.start, min(last, rows.stop) - rows.start
            if first >= last:
                return None
        if (digest := self._digests.pop(place.path, None)) is not None and digest_of(place.path) != digest:
            raise ModelError(f"{place.path}: damaged: its digest is not the recorded one", hint=DAMAGED)
        with _opened(place.path) as file:
            part = file.get_slice(place.key)
            value: Tensor = part[first:last] if part.get_shape() else file.get_tensor(place.key)
            return value


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    try:
        with safe_open(path, framework="pt") as file:
            yield file
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path}: cannot be read as weights ({error})", hint=DAMAGED) from error


def _keys(path: Path) -> list[str]:
    with _opened(path) as file:
        return list(file.keys())
