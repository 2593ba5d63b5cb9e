"""The paper's table 1 on this machine: how the cost of a layer grows with the length of a sentence.

    python benchmarks/complexity.py [-o FILE] [--lengths N,N,...] [--width N] [--heads N] [--kernel N]
        [--neighbours N] [--batch N] [--rounds N] [--threads N] [--json]

Prints the times and the memory of each kind of layer, and the fitted exponents.

The layers are those of dragoman's models, with their projections. Time is the median over turns. Memory is
the peak in bytes beyond the input and the weights, counted from the allocator's requests.

B batch, n positions, d width, k kernel, r neighbours.
"""

from __future__ import annotations

import json
import math
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from measuring.turns import orders
from torch import Tensor, nn

from dragoman.base import machine
from dragoman.base.errors import ConfigError
from dragoman.base.files import write_whole
from dragoman.base.html import charts
from dragoman.base.tables import aligned, count
from dragoman.cli.options import Commands, Json, Quiet
from dragoman.cli.outcome import run, tell
from dragoman.models import loops as native
from dragoman.models.convolutional import Convolution
from dragoman.models.layers.cache import KeyValueCache
from dragoman.models.operations import product, self_attention, window_keys
from dragoman.models.recurrent import LSTM, read_words
from dragoman.models.shapes import ConvolutionalConfig, TransformerConfig
from dragoman.models.transformer import SelfAttention

FITTED = 3  # the exponents are fitted to this number of the longest lengths


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Sizes of the layers and lengths of the sentences."""

    lengths: tuple[int, ...] = (128, 256, 512, 1024, 2048)
    width: int = 256
    heads: int = 4
    kernel: int = 3
    neighbours: int = 32
    batch: int = 1
    rounds: int = 5


@dataclass(frozen=True, kw_only=True)
class Law:
    """A row of table 1, section 4."""

    name: str
    complexity: str
    sequential: str
    path: str
    operations: Callable[[Setting, int], float]  # of a forward pass over n positions
    step: Callable[[Setting, int], float]  # of one position that sees n


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of one kind of layer at one length."""

    layer: str
    length: int
    forward: float  # seconds
    train: float  # seconds, forward and backward
    step: float  # seconds for one more token, as a translation is generated
    forward_bytes: int
    train_bytes: int
    operations: float  # of the forward pass, counted
    step_operations: float


LAWS = (
    Law(
        name="self-attention",
        complexity="n^2 d",
        sequential="1",
        path="1",
        operations=lambda s, n: s.batch * self_attention(n, n, s.width),
        step=lambda s, n: s.batch * self_attention(1, n, s.width),
    ),
    Law(
        name="recurrent",
        complexity="n d^2",
        sequential="n",
        path="n",
        # An LSTM projects its input and its state to four gates each.
        operations=lambda s, n: s.batch * product(n, s.width, 8 * s.width),
        step=lambda s, n: s.batch * product(1, s.width, 8 * s.width),
    ),
    Law(
        name="convolutional",
        complexity="k n d^2",
        sequential="1",
        path="log_k(n) dilated, n/k not",
        # k positions are projected to a value and a gate.
        operations=lambda s, n: s.batch * product(n, s.kernel * s.width, 2 * s.width),
        step=lambda s, n: s.batch * product(1, s.kernel * s.width, 2 * s.width),
    ),
    Law(
        name="restricted self-attention",
        complexity="r n d",
        sequential="1",
        path="n/r",
        operations=lambda s, n: s.batch * self_attention(n, window_keys(s.neighbours), s.width),
        step=lambda s, n: s.batch * self_attention(1, min(n, s.neighbours), s.width),
    ),
)


class _Layer:
    """A layer of one kind: a pass over sentences, and a step of one more position."""

    def __init__(self, kind: str, setting: Setting) -> None:
        width, self.kind, self.setting = setting.width, kind, setting
        torch.manual_seed(1)
        self.module: Any
        match kind:
            case "recurrent":
                self.module = LSTM(width, width)
            case "convolutional":
                config = ConvolutionalConfig(d_model=width, kernel=setting.kernel, dropout=0.0)
                self.module = Convolution(config, 0)
            case _:
                window = setting.neighbours if kind.startswith("restricted") else None
                shape = TransformerConfig(d_model=width, heads=setting.heads, window=window)
                self.module = SelfAttention(shape)

    def whole(self, x_BTE: Tensor) -> Tensor:
        """Return the output of the layer for every position of x_BTE."""
        b, n, _ = x_BTE.shape
        out: Tensor
        match self.kind:
            case "recurrent":
                out = read_words(self.module, x_BTE, x_BTE.new_zeros(b, 2, self.setting.width))
            case "convolutional":
                side = self.module.reach // 2
                out = self.module(nn.functional.pad(x_BTE, (0, 0, side, side)))
            case _:
                visible = torch.ones(b, n, dtype=torch.bool)
                out = self.module(x_BTE, self.module.span.both_ways(x_BTE, visible))
        return out

    def after(self, n: int) -> Callable[[], object]:
        """Return a function that computes one more position after n."""
        b, width = self.setting.batch, self.setting.width
        x_B1E = torch.randn(b, 1, width)
        match self.kind:
            case "recurrent":
                state = torch.randn(b, 2, width)
                return lambda: self.module.step(self.module.input(x_B1E[:, 0]), state)
            case "convolutional":
                before = torch.randn(b, self.module.reach, width)
                return lambda: self.module(torch.cat((before, x_B1E), 1))
            case _:
                heads = self.setting.heads
                shape = b, heads, n + KeyValueCache.BLOCK, width // heads
                cache = KeyValueCache(torch.randn(shape), torch.randn(shape), n)

                def step() -> object:
                    cache.length = n
                    return self.module.step(x_B1E, cache)

                return step


def measure_costs(setting: Setting, say: Callable[[str], None] = lambda _: None) -> list[Cost]:
    """Measure the cost of each kind of layer at each length. The layers take turns."""
    native.enable()
    layers = {law.name: _Layer(law.name, setting) for law in LAWS}
    costs = []
    for n in setting.lengths:
        say(f"n = {n:,}")
        x = torch.randn(setting.batch, n, setting.width)
        works: dict[tuple[str, str], Callable[[], object]] = {}
        for name, layer in layers.items():
            works[name, "forward"] = _forward(layer, x)
            works[name, "train"] = _train(layer, x)
            works[name, "step"] = _without_gradients(layer.after(n))
        seconds = _medians(works, setting.rounds)
        for law in LAWS:
            costs.append(
                Cost(
                    layer=law.name,
                    length=n,
                    **{what: seconds[law.name, what] for what in ("forward", "train", "step")},
                    forward_bytes=_peak(works[law.name, "forward"]),
                    train_bytes=_peak(works[law.name, "train"], before=layers[law.name].module.zero_grad),
                    operations=law.operations(setting, n),
                    step_operations=law.step(setting, n),
                )
            )
    return costs


def exponent(lengths: Sequence[float], values: Sequence[float]) -> float:
    """Slope of the line fitted to the logarithms: 2 for a cost that grows as n^2."""
    x, y = [math.log(v) for v in lengths], [math.log(max(v, 1e-12)) for v in values]
    return statistics.linear_regression(x, y).slope


def exponents(costs: Sequence[Cost], layer: str, what: str) -> float:
    """Exponent of the length in the field `what` of a layer's costs, fitted to the longest lengths."""
    chosen = sorted((c for c in costs if c.layer == layer), key=lambda c: c.length)[-FITTED:]
    return exponent([c.length for c in chosen], [getattr(c, what) for c in chosen])


# Columns: field of `Cost`, heading, scale to the unit of the heading, field with the operations behind it.
_SHOWN = (
    ("forward", "forward, ms", 1e3, "operations"),
    ("train", "training, ms", 1e3, "operations"),
    ("step", "a token, ms", 1e3, "step_operations"),
    ("forward_bytes", "forward, MB", 1e-6, None),
    ("train_bytes", "training, MB", 1e-6, None),
)


def to_text(setting: Setting, costs: Sequence[Cost]) -> str:
    """A table for each layer, and the measured exponents beside those of the operations."""
    parts = [_conditions(setting), ""]
    for law in LAWS:
        rows = [["n", *(head for _, head, _, _ in _SHOWN)]]
        for cost in costs:
            if cost.layer == law.name:
                rows.append(
                    [f"{cost.length:,}", *(f"{getattr(cost, w) * scale:.3g}" for w, _, scale, _ in _SHOWN)]
                )
        parts += [f"{law.name}: {law.complexity} in table 1", *aligned(rows, right=range(6)), ""]
    parts += [_fitted_to(costs), *aligned(_fits(costs))]
    return "\n".join(parts)


def to_html(setting: Setting, costs: Sequence[Cost]) -> str:
    """A self-contained page with a chart of each measurement."""
    parts = [charts.paragraph(_conditions(setting)), charts.heading("How it grows")]
    head, *rows = _fits(costs)
    parts += [charts.table(head, rows), charts.paragraph(_fitted_to(costs))]
    head = ["layer", "complexity", "sequential operations", "maximum path length"]
    table_1 = [[law.name, law.complexity, law.sequential, law.path] for law in LAWS]
    parts += [charts.heading("The paper's table 1"), charts.table(head, table_1)]
    for what, title, scale, predicted in _SHOWN:
        curves = []
        for law in LAWS:
            of_layer = [cost for cost in costs if cost.layer == law.name]
            points = [(float(c.length), getattr(c, what) * scale) for c in of_layer]
            curves.append(charts.Curve(name=law.name, points=points))
            if predicted:  # scaled to meet the measurement at the longest length
                factor = points[-1][1] / getattr(of_layer[-1], predicted)
                points = [(float(c.length), getattr(c, predicted) * factor) for c in of_layer]
                curves.append(charts.Curve(name=law.name, points=points, predicted=True))
        parts += [
            charts.heading(title),
            charts.line_chart(
                curves,
                title=f"{title}; dashed: growth of the operations" if predicted else title,
                x="positions",
                y=title,
                log=True,
            ),
            charts.table(
                ["n", *(law.name for law in LAWS)],
                [
                    [f"{n:,}"]
                    + [
                        f"{getattr(c, what) * scale:.3g}"
                        for law in LAWS
                        for c in costs
                        if c.layer == law.name and c.length == n
                    ]
                    for n in setting.lengths
                ],
            ),
        ]
    return charts.page("What a layer costs as sentences grow", *parts)


def to_table(setting: Setting, costs: Sequence[Cost]) -> dict[str, Any]:
    """Plain values, for JSON."""
    return {
        "setting": asdict(setting),
        "processor": machine.processor(),
        "threads": torch.get_num_threads(),
        "costs": [asdict(cost) for cost in costs],
        "exponents": {
            law.name: {what: exponents(costs, law.name, what) for what, *_ in _SHOWN} for law in LAWS
        },
    }


def _conditions(setting: Setting) -> str:
    return (
        f"width d = {setting.width}, {setting.heads} heads, kernel k = {setting.kernel}, "
        f"r = {setting.neighbours} neighbours, batch of {setting.batch}, float32, "
        f"{count(torch.get_num_threads(), 'thread')}, {machine.processor()}; "
        f"medians of {setting.rounds} turns; training "
        + ("with the loops in C, which hold no n x n weights" if native.enabled() else "without loops in C")
    )


def _fitted_to(costs: Sequence[Cost]) -> str:
    lengths = sorted({cost.length for cost in costs})[-FITTED:]
    return (
        f"exponent of n, fitted to n = {', '.join(map(str, lengths))}: measured, and of the operations in "
        "brackets; both include the projections, which grow as n d^2"
    )


def _fits(costs: Sequence[Cost]) -> list[list[str]]:
    rows = [
        ["layer", *(head.split(",")[0] for _, head, _, _ in _SHOWN[:3]), "forward memory", "training memory"]
    ]
    for law in LAWS:
        row = [law.name]
        for what, _, _, predicted in _SHOWN:
            text = f"{exponents(costs, law.name, what):.2f}"
            row.append(text + (f" ({exponents(costs, law.name, predicted):.2f})" if predicted else ""))
        rows.append(row)
    return rows


def _forward(layer: _Layer, x: Tensor) -> Callable[[], object]:
    return _without_gradients(lambda: layer.whole(x))


def _without_gradients(work: Callable[[], object]) -> Callable[[], object]:
    def run() -> object:
        with torch.inference_mode():
            return work()

    return run


def _train(layer: _Layer, x: Tensor) -> Callable[[], object]:
    def step() -> None:
        layer.module.zero_grad()
        leaf = x.detach().requires_grad_()  # a new leaf each time, so that no gradient is kept
        layer.whole(leaf).sum().backward()  # type: ignore[no-untyped-call]

    return step


def _medians(works: dict[tuple[str, str], Callable[[], object]], rounds: int) -> dict[tuple[str, str], float]:
    """Median seconds of each work over the rounds. Short work is repeated within its turn."""
    times: dict[tuple[str, str], list[float]] = {key: [] for key in works}
    repeats = {}
    for key, work in works.items():
        work()
        began = time.perf_counter()
        work()
        repeats[key] = max(1, min(1000, int(0.02 / max(time.perf_counter() - began, 1e-6))))
    for order in orders(list(works), rounds):
        for key in order:
            began = time.perf_counter()
            for _ in range(repeats[key]):
                works[key]()
            times[key].append((time.perf_counter() - began) / repeats[key])
    return {key: statistics.median(each) for key, each in times.items()}


def _peak(work: Callable[[], object], before: Callable[[], object] = lambda: None) -> int:
    """Run `before`, then return the most bytes that `work` holds at once beyond those held at its start."""
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # otherwise the profiler logs on standard error
    before()
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True, acc_events=True
    ) as profile:
        work()
    held = most = 0
    events = profile.profiler.kineto_results.events()
    for event in sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns()):
        held += event.nbytes()
        most = max(most, held)
    return most


def complexity(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Also write charts: a self-contained page."),
    ] = None,
    lengths: Annotated[
        str, typer.Option("--lengths", metavar="N,N,...", help="Positions in a sentence.")
    ] = "128,256,512,1024,2048",
    width: Annotated[int, typer.Option("--width", min=1, metavar="N", help="d: width of the layers.")] = 256,
    heads: Annotated[int, typer.Option("--heads", min=1, metavar="N", help="Heads of the attention.")] = 4,
    kernel: Annotated[
        int, typer.Option("--kernel", min=1, metavar="N", help="k: positions a convolution sees.")
    ] = 3,
    neighbours: Annotated[
        int,
        typer.Option("--neighbours", min=1, metavar="N", help="r: positions that restricted attention sees."),
    ] = 32,
    batch: Annotated[int, typer.Option("--batch", min=1, metavar="N", help="Sentences in a batch.")] = 1,
    rounds: Annotated[int, typer.Option("--rounds", min=1, metavar="N", help="Turns of each layer.")] = 5,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, metavar="N", help="Threads. [default: the number of cores]"),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how the time and memory of each kind of layer grow with the length of a sentence.

    Measures self-attention, recurrent, convolutional and restricted self-attention layers: a forward pass,
    a training step, and one token of a translation. Prints the fitted exponents beside those of the
    operations.

    \b
      python benchmarks/complexity.py -o complexity.html
      python benchmarks/complexity.py --width 64 --lengths 512,1024,2048,4096
    """
    try:
        chosen = tuple(sorted({int(length) for length in lengths.split(",")}))
    except ValueError:
        chosen = ()
    if len(chosen) < FITTED or chosen[0] < 1:
        raise ConfigError(f"--lengths {lengths}", hint=f"give {FITTED} or more numbers, as in 128,256,512")
    if width % heads:
        raise ConfigError(f"--width {width} is not a multiple of --heads {heads}", hint="change one of them")
    if kernel % 2 == 0:
        raise ConfigError(f"--kernel {kernel} is even", hint="choose an odd number")
    if threads is not None:
        torch.set_num_threads(threads)
    setting = Setting(
        lengths=chosen, width=width, heads=heads, kernel=kernel, neighbours=neighbours, batch=batch,
        rounds=rounds,
    )  # fmt: skip
    costs = measure_costs(setting, partial(tell, quiet=quiet))
    print(json.dumps(to_table(setting, costs), indent=2) if as_json else to_text(setting, costs))
    if output is not None:
        write_whole(output, to_html(setting, costs))


app = Commands()
app.command()(complexity)

if __name__ == "__main__":
    sys.exit(run(typer.main.get_command(app), sys.argv[1:], program="benchmarks/complexity.py"))
