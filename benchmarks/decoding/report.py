"""A contest of translation as text."""

from __future__ import annotations

from decoding.contenders import Kind
from decoding.contest import MOST_DIFFERENT, DecodingContest, DecodingResult, printed
from measuring.turns import MARK, NOTE, megabytes, spread

from dragoman.base.tables import aligned, count

_PEER = "ctranslate2"
_RATES = ("throughput", "file")  # measurements in sentences a second, of which more is better
# The title of each table, and its columns.
_TABLES: dict[Kind, tuple[str, tuple[str, ...]]] = {
    "throughput": (
        "throughput",
        ("contender", "type", "sentences/s", "spread", "ratio", "of floor", "core ms", "differ", "peak MB",
         "settings"),
    ),
    "latency": (
        "one sentence alone", ("contender", "type", "median ms", "spread", "p95 ms", "ratio", "settings"),
    ),
    "start": (
        "from the command line, one sentence",
        ("contender", "type", "seconds", "spread", "ratio", "core ms", "peak MB", ""),
    ),
    "file": (
        "dragoman translate, the whole file", ("contender", "type", "sentences/s", "spread", "peak MB", ""),
    ),
}  # fmt: skip


def to_text(contest: DecodingContest) -> str:
    """A table for each measurement and each width of the beam, with notes below."""
    lines = [_conditions(contest)]
    for beam in sorted({one.beam for one in contest.results}):
        search = "greedy" if beam == 1 else f"beam {beam}"
        for kind, (title, columns) in _TABLES.items():
            best_first = -1 if kind in _RATES else 1
            results = sorted(contest.of(kind, beam), key=lambda one: best_first * one.value)
            if results:
                rows = [[_cells(one, contest)[column] for column in columns] for one in results]
                table = aligned([list(columns), *rows], right=range(2, len(columns) - 1))
                lines += ["", f"{search}, {title}", *table]
    return "\n".join([*lines, "", *_notes(contest)])


def _conditions(contest: DecodingContest) -> str:
    material, conditions = contest.conditions.material, contest.conditions
    mean = sum(material.lengths) / len(material.lengths)
    length = "forced" if material.forced else "at most"
    return (
        f"{material.title}: {count(conditions.lines, 'line')}, {mean:.1f} source tokens a line, "
        f"{material.limit} target tokens {length}, "
        f"{count(conditions.threads, 'thread')}, {contest.processor}"
    )


def _cells(one: DecodingResult, contest: DecodingContest) -> dict[str, str]:
    """What the columns of any table say about a result."""
    form, times = {"latency": (",.1f", 1000), "start": (".2f", 1)}.get(one.kind, (",.0f", 1))
    floor = contest.floor(one)
    return {
        "contender": one.contender.name + (f" {MARK}" if one.disturbed else ""),
        "type": one.contender.dtype,
        "sentences/s": f"{one.value:,.0f}",
        "median ms": f"{one.value * 1000:,.1f}",
        "seconds": f"{one.value:.2f}",
        "spread": spread([times * turn.value for turn in one.turns], form),
        "p95 ms": "-" if one.p95 is None else f"{one.p95 * 1000:,.1f}",
        "ratio": _ratio(one, contest),
        "of floor": f"{one.value / floor:.0%}" if floor else "-",
        "core ms": "-" if one.work is None else f"{one.work * 1000:.2f}",
        "differ": "-" if one.different is None else f"{one.different:,}",
        "peak MB": megabytes(one.peak_memory),
        "settings": printed(one.settings),
        "": "",
    }


def _ratio(result: DecodingResult, contest: DecodingContest) -> str:
    """Speed as a multiple of the best of CTranslate2 in the same class: int8, or float types."""
    exact = result.contender.dtype == "int8"
    peers = [
        one.value
        for one in contest.of(result.kind, result.beam)
        if one.contender.program == _PEER and (one.contender.dtype == "int8") == exact
    ]
    if not peers:
        return "-"
    return f"{result.value / max(peers):.2f}" if result.kind in _RATES else f"{min(peers) / result.value:.2f}"


def _notes(contest: DecodingContest) -> list[str]:
    conditions = contest.conditions
    lines = [f"medians of {count(contest.rounds, 'turn')}, each in a new process; spread: least and most"]
    if any(one.contender.program == _PEER for one in contest.results):
        lines.append("ratio: speed as a multiple of CTranslate2's, of int8 or of its faster float type")
    throughput = [one for one in contest.results if one.kind == "throughput" and one.turns]
    if throughput and contest.ceiling:
        rates = ", ".join(f"{name} {rate / 1e9:,.0f}" for name, rate in contest.ceiling.items())
        lines.append(
            "floor: the operations of the search, without padding, at the rate of large products: "
            f"{rates} GFLOP/s, or the rate of fp32 if it is higher"
        )
    if any(one.work is not None for one in contest.results if one.kind in ("throughput", "start")):
        lines.append("core ms: time that it kept cores busy for one sentence, which others disturb less")
    if any(one.different is not None for one in throughput):
        compared = max(len(one.answers or ()) for one in throughput)
        lines.append(
            f"differ: of {count(compared, 'translation')}, those whose tokens are not {contest.reference}'s"
        )
    lines += [
        f"{one.contender.name}: its beam search ends by another rule, so its translations differ"
        for one in throughput
        if one.contender.own_beam and one.beam > 1
    ]
    if any(one.kind == "file" and one.turns for one in contest.results):
        length = conditions.material.limit
        least = f" of about {length} tokens, not exactly" if conditions.material.forced else ""
        lines.append(f"the whole file: text in, text out{least}, the start of the program included")
    if any(one.disturbed for one in contest.results):
        lines.append(NOTE)
    lines += [
        f"DISAGREES: {one.contender.name}, beam {one.beam}: {one.different:,} translations differ, "
        f"more than {MOST_DIFFERENT:.0%}"
        for one in contest.results
        if one.disagrees
    ]
    lines += [f"left out: {name}: {why}" for name, why in contest.left_out.items()]
    lines += [f"failed: {one.kind}, beam {one.beam}: {one.failure}" for one in contest.results if one.failure]
    return lines
