"""A contest of translation as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dragoman.base.tables import aligned, count
from dragoman.bench.decoding.contest import MOST_DIFFERENT, DecodingContest, DecodingResult, printed
from dragoman.bench.turns import MARK, NOTE, megabytes, spread

_PEER = "ctranslate2"


def to_text(contest: DecodingContest) -> str:
    """A table for each measurement and each width of the beam, with notes below."""
    lines = [_conditions(contest)]
    for beam in sorted({one.beam for one in contest.results}):
        search = "greedy" if beam == 1 else f"beam {beam}"
        lines += _section(f"{search}, throughput", contest.of("throughput", beam), _throughput(contest))
        lines += _section(f"{search}, one sentence alone", contest.of("latency", beam), _latency)
        lines += _section(f"{search}, from the command line, one sentence", contest.of("start", beam), _start)
        lines += _section(f"{search}, dragoman translate, the whole file", contest.of("file", beam), _file)
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


def _section(
    title: str, results: Sequence[DecodingResult], rows: Callable[[Sequence[DecodingResult]], list[list[str]]]
) -> list[str]:
    if not results:
        return []
    table = rows(results)
    return ["", title, *aligned(table, right=range(2, len(table[0]) - 1))]


def _throughput(contest: DecodingContest) -> Callable[[Sequence[DecodingResult]], list[list[str]]]:
    def rows(results: Sequence[DecodingResult]) -> list[list[str]]:
        head = "contender,type,sentences/s,spread,ratio,of floor,core ms,differ,peak MB,settings"
        table = [head.split(",")]
        for one in sorted(results, key=lambda one: -one.value):
            floor = contest.floor(one)
            table.append(
                [
                    *_name(one),
                    f"{one.value:,.0f}",
                    spread([turn.value for turn in one.turns]),
                    _ratio(one, results, faster_is_more=True),
                    f"{one.value / floor:.0%}" if floor else "-",
                    "-" if one.work is None else f"{one.work * 1000:.2f}",
                    "-" if one.different is None else f"{one.different:,}",
                    megabytes(one.peak_memory),
                    printed(one.settings),
                ]
            )
        return table

    return rows


def _latency(results: Sequence[DecodingResult]) -> list[list[str]]:
    table = [["contender", "type", "median ms", "spread", "p95 ms", "ratio", "settings"]]
    for one in sorted(results, key=lambda one: one.value):
        values = [turn.value * 1000 for turn in one.turns]
        p95 = "-" if one.p95 is None else f"{one.p95 * 1000:,.1f}"
        ratio = _ratio(one, results, faster_is_more=False)
        cells = [f"{one.value * 1000:,.1f}", spread(values, ",.1f"), p95, ratio, printed(one.settings)]
        table.append([*_name(one), *cells])
    return table


def _start(results: Sequence[DecodingResult]) -> list[list[str]]:
    table = [["contender", "type", "seconds", "spread", "ratio", "peak MB", ""]]
    for one in sorted(results, key=lambda one: one.value):
        values = [turn.value for turn in one.turns]
        ratio = _ratio(one, results, faster_is_more=False)
        cells = [f"{one.value:.2f}", spread(values, ".2f"), ratio, megabytes(one.peak_memory), ""]
        table.append([*_name(one), *cells])
    return table


def _file(results: Sequence[DecodingResult]) -> list[list[str]]:
    table = [["contender", "type", "sentences/s", "spread", "peak MB", ""]]
    for one in sorted(results, key=lambda one: -one.value):
        values = [turn.value for turn in one.turns]
        table.append([*_name(one), f"{one.value:,.0f}", spread(values), megabytes(one.peak_memory), ""])
    return table


def _name(result: DecodingResult) -> list[str]:
    return [result.contender.name + (f" {MARK}" if result.disturbed else ""), result.contender.dtype]


def _ratio(result: DecodingResult, results: Sequence[DecodingResult], *, faster_is_more: bool) -> str:
    """Speed as a multiple of the best of CTranslate2 in the same class: int8, or float types."""
    exact = result.contender.dtype == "int8"
    peers = [
        one.value
        for one in results
        if one.contender.program == _PEER and (one.contender.dtype == "int8") == exact
    ]
    if not peers:
        return "-"
    return f"{result.value / max(peers):.2f}" if faster_is_more else f"{min(peers) / result.value:.2f}"


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
    if any(one.work is not None for one in throughput):
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
