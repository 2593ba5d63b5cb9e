"""What a display says, as plain text of a known width."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size

WIDTH = 100  # columns; nothing plain is wider, and nothing live either, since long lines are hard to read
_BLOCKS = "▁▂▃▄▅▆▇█"


def clip(text: str, width: int) -> str:
    """`text` in at most `width` columns of a terminal; an ellipsis says that something is missing."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def clock_time(seconds: float | None) -> str:
    """`3:07`, `1:02:09`; `-` where it is not known."""
    if seconds is None or not math.isfinite(seconds):
        return "-"
    minutes, second = divmod(max(0, round(seconds)), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def number(value: float) -> str:
    """A figure of three digits or all before the point: `4.13`, `52.1`, `6,120`, `1.2e+09`."""
    if not math.isfinite(value) or abs(value) >= 1e7:
        return f"{value:.2g}"
    return f"{value:,.{0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2}f}"


def sparkline(values: Sequence[float], width: int = 30) -> str:
    """A curve of blocks, lowest to highest; of more values than `width`, evenly chosen ones and the last."""
    if len(values) > width:
        chosen = [round(n * (len(values) - 1) / (width - 1)) for n in range(width)] if width > 1 else [-1]
        values = [values[n] for n in chosen]
    low, high = min(values, default=0), max(values, default=0)
    span = high - low
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[round((value - low) / span * top) if span else top // 2] for value in values)


def share_done(info: dict[str, Any], step: int, seconds: float) -> float:
    """How much of the run is behind, 0 to 1: by updates or by time, whichever ends it first."""
    shares = [0.0]
    if info.get("max_updates"):
        shares.append(step / info["max_updates"])
    if info.get("max_seconds"):
        shares.append(seconds / info["max_seconds"])
    return min(max(shares), 1.0)


def facts(info: dict[str, Any]) -> Iterable[tuple[str, str]]:
    """What a run is, as labelled lines."""
    source, target = info.get("source_vocab"), info.get("target_vocab")
    if "parameters" in info:
        vocabulary = f"{source:,}" if source == target else f"{source:,} and {target:,}"
        yield "model", f"{info['parameters']:,} parameters, vocabulary {vocabulary}"
    if "train_pairs" in info:
        validation = f", {info['valid_pairs']:,} to validate" if info.get("valid_pairs") else ""
        yield "data", f"{info['train_pairs']:,} pairs to learn from{validation}"
    if "precision" in info:
        threads, ranks = info.get("threads", 1), info.get("world_size", 1)
        machine = f"{info['precision']}, {threads} thread{'' if threads == 1 else 's'}"
        machine += f" in each of {ranks} processes" if ranks > 1 else ""
        yield "machine", f"{machine}, batches of {info.get('batch_tokens', 0):,} tokens"
    limits = [f"{info['max_updates']:,} updates"] if info.get("max_updates") else []
    limits += [clock_time(info["max_seconds"])] if info.get("max_seconds") else []
    if limits:
        yield "until", " or ".join(limits)
    if info.get("resumed_from"):
        yield "goes on", f"from update {info['resumed_from']:,}"


def validation_parts(metrics: dict[str, Any], *, brief: bool = False) -> Iterable[str]:
    """The figures of a validation; `brief` leaves out the loss, which the perplexity says too."""
    loss = metrics.get("loss")
    if loss is not None and loss >= 0:  # below 0 it stands for "not measured"
        if not brief:
            yield f"loss {loss:.3f}"
        yield f"perplexity {number(metrics['perplexity'])}"
    for name, label in (("bleu", "BLEU"), ("chrf", "chrF")):
        if metrics.get(name) is not None:
            yield f"{label} {metrics[name]:.1f}"
    if metrics.get("best"):
        yield "best so far"


def sample_lines(sample: dict[str, str]) -> Iterable[tuple[str, str, bool]]:
    """Label, text, and whether it is what the reference says, which then needs no line."""
    equal = sample["hypothesis"].strip() == sample["reference"].strip()
    yield "source", sample["source"], False
    yield "translation", sample["hypothesis"], equal
    if not equal:
        yield "reference", sample["reference"], False


def finished(metrics: dict[str, Any]) -> str:
    text = f"done: {metrics['step']:,} updates in {clock_time(metrics['seconds'])}"
    if metrics.get("best_step") is not None:
        text += f", the best at {metrics['best_step']:,}"
    return text + (f"; kept {metrics['outcome']}" if metrics.get("outcome") else "")
