"""The words and figures of the displays, as plain text of a known width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size

from dragoman.base.progress import clock_time, number
from dragoman.base.tables import count
from dragoman.training.events import Finished, SampleTranslation, Started, Validation

WIDTH = 100  # columns at most, since long lines are hard to read
_BLOCKS = "▁▂▃▄▅▆▇█"


def clip(text: str, width: int) -> str:
    """Return `text` cut to `width` columns of a terminal, with an ellipsis if it was longer."""
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def sparkline(values: Sequence[float], width: int = 30) -> str:
    """Return a curve of block characters. More than `width` values are thinned evenly; the last is kept."""
    if len(values) > width:
        chosen = [round(n * (len(values) - 1) / (width - 1)) for n in range(width)] if width > 1 else [-1]
        values = [values[n] for n in chosen]
    low, high = min(values, default=0), max(values, default=0)
    span = high - low
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[round((value - low) / span * top) if span else top // 2] for value in values)


def share_done(started: Started, step: int, seconds: float) -> float:
    """Return the share of the run that is done, from 0 to 1: by updates or by time, whichever is greater."""
    share = step / started.max_updates
    if started.max_seconds is not None:
        share = max(share, seconds / started.max_seconds)
    return min(share, 1.0)


def facts(started: Started) -> Iterable[tuple[str, str]]:
    """Yield labels and values that describe the run."""
    source, target = started.source_vocab, started.target_vocab
    vocabulary = f"{source:,}" if source == target else f"{source:,} and {target:,}"
    yield "model", f"{started.parameters:,} parameters, vocabulary {vocabulary}"
    validation = f", {started.valid_pairs:,} to validate" if started.valid_pairs else ""
    yield "data", f"{started.train_pairs:,} pairs to learn from{validation}"
    machine = f"{started.precision}, {count(started.threads, 'thread')}"
    if started.processes > 1:
        machine += f" in each of {started.processes} processes"
    yield "machine", f"{machine}, batches of {started.batch_tokens:,} tokens"
    limits = [f"{started.max_updates:,} updates"]
    if started.max_seconds is not None:
        limits.append(clock_time(started.max_seconds))
    yield "until", " or ".join(limits)
    if started.resumed_from:
        yield "resumes", f"from update {started.resumed_from:,}"


def validation_parts(validation: Validation, *, brief: bool = False) -> Iterable[str]:
    """The figures of a validation. `brief` leaves out the loss, which the perplexity implies."""
    if validation.loss is not None and not brief:
        yield f"loss {validation.loss:.3f}"
    if validation.perplexity is not None:
        yield f"perplexity {number(validation.perplexity)}"
    search, _, _ = validation.search.partition(",")  # the width of the beam is enough here
    for value, label in ((validation.bleu, "BLEU"), (validation.chrf, "chrF")):
        if value is not None:
            yield f"{label} {value:.1f}" + (f" ({search})" if label == "BLEU" and search != "greedy" else "")
    if validation.best:
        yield "best so far"


def sample_lines(sample: SampleTranslation) -> Iterable[tuple[str, str, bool]]:
    """Label, text, and whether it equals the reference, which then gets no separate line."""
    equal = sample.hypothesis.strip() == sample.reference.strip()
    yield "source", sample.source, False
    yield "translation", sample.hypothesis, equal
    if not equal:
        yield "reference", sample.reference, False


def finished(event: Finished) -> list[str]:
    """The last lines of a run."""
    lines = [
        f"done: {event.step:,} updates in {clock_time(event.seconds)}, the best at {event.best_step:,}; "
        f"kept {event.outcome}"
    ]
    if event.peak_memory is not None:
        lines.append(f"peak memory of a process: {event.peak_memory / 1e9:.2f} GB")
    return lines
