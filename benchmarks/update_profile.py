"""Profile an update: the time of each part, and the least time it could take.

    python benchmarks/update_profile.py -o FOLDER [--recipe FILE] [--preset NAME] [--data FOLDER]
        [OPTION=VALUE ...]
    torchrun --nproc-per-node 2 benchmarks/update_profile.py -o FOLDER [--recipe FILE] [OPTION=VALUE ...]

Trains by the recipe in FOLDER, as `dragoman train` does, and stops when 15 updates are made. The last ten are
profiled, in the first process.

Prints a line for each part of an update, the slowest first: milliseconds, its share, calls, operations,
bytes, and its floor. Below is the sum of the floors.

The floor of a part is its operations / the machine's rate of matrix products, or its bytes / the machine's
bandwidth, whichever is greater. Both rates are measured just before. Operations and bytes follow from the
shapes that PyTorch's profiler records: every operand is read once, every result written once.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import torch

from dragoman.base.errors import DragomanError, Interrupted
from dragoman.base.tables import aligned
from dragoman.models.operations import attention_products, product
from dragoman.training.data.batches import Batch
from dragoman.training.rates import product_rates, rate_of
from dragoman.training.runs.run import train
from dragoman.training.step.malloc import keep_few_products, keep_freed_memory
from dragoman.training.trainer import Trainer

WARM, UPDATES = 5, 10  # updates before the profile, and in it
_COPIED = 2**24  # numbers of 4 bytes: 64 MiB, more than a cache holds

_PRODUCTS = ("mm", "addmm", "bmm", "baddbmm")
# An operation belongs to the first part with a word that occurs in its name.
_PARTS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("attention", ("_Attention", "scaled_dot_product")),
    ("dropout", ("_Dropout", "dropout", "random_", "bernoulli")),
    ("softmax and loss", ("LinearCrossEntropy", "softmax", "logsumexp", "gather", "index_add", "bincount")),
    ("layer norm", ("layer_norm", "_LayerNorm", "rms_norm")),
    ("ReLU", ("clamp_min", "threshold")),
    ("embeddings", ("embedding", "index_select")),
    ("optimizer", ("adam", "Optimizer", "Muon")),
    ("clipping", ("norm", "foreach")),
    ("copies", ("copy", "cat", "clone", "contiguous", "_to_copy", "fill", "zero", "index", "nonzero")),
)
_LOOPS = ("_Attention", "_Dropout", "_LayerNorm", "LinearCrossEntropy")  # autograd functions of this package
# Operations that return a view, or that consist of others.
_VIEWS = frozenset(
    "view transpose t reshape chunk split split_with_sizes slice select expand as_strided permute unsqueeze "
    "detach flatten linear matmul to unbind alias".split()
)


@dataclass(kw_only=True)
class WorkPart:
    """One kind of work in an update, in seconds."""

    name: str
    seconds: float = 0.0
    calls: float = 0.0
    operations: float = 0.0
    bytes: float = 0.0
    floor: float = 0.0
    bound: Literal["operations", "bytes"] = "bytes"


@dataclass(frozen=True, kw_only=True)
class Machine:
    """The best rates of this machine."""

    operations_per_second: float  # products, in the run's precision
    bytes_per_second: float  # a large tensor, read and written


class Profile:
    """The profile of some updates of a run. Wrap every update in `around`."""

    def __init__(self, precision: str, device: torch.device) -> None:
        self.device = device
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # otherwise Kineto writes into the display
        self.dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        self.done = 0
        self.parts: list[WorkPart] = []  # when all updates are profiled
        self._profiler: Any = None

    @contextmanager
    def around(self) -> Iterator[None]:
        """Count the update inside, and profile it if it is one of the chosen ones."""
        if self.done == WARM:
            self.machine = measure(self.dtype, self.device)
            activities = [torch.profiler.ProfilerActivity.CPU]
            if self.device.type == "cuda":
                activities.append(torch.profiler.ProfilerActivity.CUDA)
            self._profiler = torch.profiler.profile(activities=activities, record_shapes=True)
            self._profiler.__enter__()
            self._began = time.perf_counter()
        yield
        self.done += 1
        if self.done == WARM + UPDATES:
            self.seconds = (time.perf_counter() - self._began) / UPDATES
            self._profiler.__exit__(None, None, None)
            events = self._profiler.events()
            self.parts = summarise(events, UPDATES, self.seconds, self.dtype.itemsize, self.machine)


def measure(dtype: torch.dtype, device: torch.device) -> Machine:
    """Measure the best rates of products and copies."""
    return Machine(
        operations_per_second=product_rates(dtype, device),
        bytes_per_second=copy_rates(device),
    )


def copy_rates(device: torch.device | str = "cpu") -> float:
    """The best rate of bytes per second of copying a large tensor: each of its bytes is read and written."""
    device = torch.device(device)
    x, y = (torch.empty(_COPIED, device=device) for _ in range(2))
    return rate_of(lambda: y.copy_(x), 2.0 * x.nbytes, device, 0.2)


def summarise(
    events: Iterable[Any], updates: int, wall: float, itemsize: int, machine: Machine
) -> list[WorkPart]:
    """Return the parts of one update, slowest first. "Python and the rest" is time outside operations."""
    parts: dict[str, WorkPart] = {}
    for event in events:
        name = part_of(event.key)
        part = parts.setdefault(name, WorkPart(name=name))
        part.seconds += event.self_cpu_time_total / 1e6 / updates
        part.calls += 1 / updates
        operations, numbers = work_of(event.key, event.input_shapes or [])
        part.operations += operations / updates
        part.bytes += numbers * itemsize / updates
    rest = WorkPart(name="Python and the rest", seconds=wall - sum(part.seconds for part in parts.values()))
    for part in parts.values():
        by_operations = part.operations / machine.operations_per_second
        by_bytes = part.bytes / machine.bytes_per_second
        part.floor, part.bound = (
            max(by_operations, by_bytes),
            "operations" if by_operations > by_bytes else "bytes",
        )
    return sorted((*parts.values(), rest), key=lambda part: -part.seconds)


def part_of(operation: str) -> str:
    """Return the part of an update that an operation belongs to."""
    name = operation.removeprefix("aten::")
    if name in _PRODUCTS:
        return "products"
    for part, words in _PARTS:
        if any(word in name for word in words):
            return part
    return "elementwise" if operation.startswith("aten::") else "autograd"


def work_of(operation: str, shapes: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Return the floating-point operations of a call and the numbers it reads and writes; 0 if unknown."""
    sizes = [math.prod(shape) for shape in shapes if shape]
    name = operation.removeprefix("aten::")
    if name in _PRODUCTS and len(shapes) >= 2:
        (*batch, m, k), (*_, n) = shapes[-2:] if name in ("mm", "bmm") else shapes[1:3]
        count = math.prod(batch)
        return product(count * m, k, n), sum(sizes[-2:]) + float(count * m * n)
    if name == "_Attention" and len(shapes) >= 2 and len(shapes[1]) == 4:
        (b, h, t, d), s = shapes[0], shapes[1][2]
        return attention_products(b * t, s, h * d), 2.0 * (sizes[0] + sizes[1])
    if _is_view(name) or not sizes:
        return 0.0, 0.0
    return 0.0, float(sum(sizes) + max(sizes))


def _is_view(name: str) -> bool:
    ours = name.startswith(_LOOPS)
    return name in _VIEWS or not (name.islower() or ours) or name.startswith(("empty", "_unsafe", "resolve"))


def to_text(parts: Sequence[WorkPart], wall: float, machine: Machine) -> str:
    """Return a table, slowest part first."""
    head = (
        f"one update: {wall * 1e3:.1f} ms, the mean of {UPDATES};"
        f" limits: {machine.operations_per_second / 1e9:,.0f} GFLOP/s in products,"
        f" {machine.bytes_per_second / 1e9:,.0f} GB/s in memory"
    )
    rows = [["part", "ms", "share", "calls", "GFLOP", "MB", "floor ms", "bound by"]]
    for part in parts:
        rows.append(
            [
                part.name,
                f"{part.seconds * 1e3:.2f}",
                f"{part.seconds / wall:.1%}",
                f"{part.calls:.0f}",
                f"{part.operations / 1e9:.2f}",
                f"{part.bytes / 1e6:.1f}",
                f"{part.floor * 1e3:.2f}" if part.floor else "-",
                part.bound if part.floor else "",
            ]
        )
    lines = [head, "", *aligned(rows, right=range(1, 7))]
    total = sum(part.floor for part in parts)
    lines += ["", f"all floors together: {total * 1e3:.1f} ms, {total / wall:.0%} of the update"]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="of the run")
    parser.add_argument("--recipe", type=Path, metavar="FILE")
    parser.add_argument("--preset", metavar="NAME")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="where the text of the recipe is")
    parser.add_argument("options", nargs="*", metavar="OPTION=VALUE", help="options of the recipe")
    options = parser.parse_args()
    keep_freed_memory()
    keep_few_products()
    made: list[Profile] = []
    update = Trainer._update

    def profiled(trainer: Trainer, batches: list[Batch]) -> None:
        if not trainer.world.leads:
            return update(trainer, batches)
        if not made:
            made.append(Profile(trainer.learner.precision, trainer.world.device))
        with made[0].around():
            update(trainer, batches)

    try:
        with patch.object(Trainer, "_update", profiled), suppress(Interrupted):
            train(
                output=options.output,
                recipe=options.recipe,
                preset=options.preset,
                data_root=options.data,
                overrides=options.options,
                stop=lambda: signal.SIGTERM if made and made[0].parts else 0,
            )
    except DragomanError as error:
        sys.exit(f"error: {error}\nhint: {error.hint}")
    if made and made[0].parts:
        print(to_text(made[0].parts, made[0].seconds, made[0].machine))
    elif os.environ.get("RANK", "0") == "0":
        sys.exit(f"error: the run ended before {WARM + UPDATES} updates\nhint: choose another folder")


if __name__ == "__main__":
    main()
