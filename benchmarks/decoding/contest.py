"""A contest: contenders take turns at translating the same sentences with the same model."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from decoding.contenders import DecodingConditions, DecodingTurn, Kind, TranslationContender
from decoding.measured import Measure, Settings
from measuring.turns import Standing, ceiling_of, disturbed, orders

from dragoman.base import machine

SEARCHED = 1000  # sentences that each setting translates in the search for the best
MOST_DIFFERENT = 0.02  # share of translations that may differ in float32: ties, decided by rounding
_RATES = {"float32": "fp32", "bfloat16": "bf16", "int8": "int8"}
_PAUSE = 0.3  # seconds of a look at the other processes

Say = Callable[[str], None]


def wait_for_others(most: float) -> None:
    """Return when others keep less than `BUSY` cores busy, or after so many seconds."""
    while most > 0 and disturbed(machine.busy_cores(_PAUSE)):
        most -= _PAUSE


@dataclass(kw_only=True)
class DecodingResult(Standing[TranslationContender, DecodingTurn]):
    """One contender's turns of one kind, with one width of the beam."""

    kind: Kind
    beam: int
    settings: Settings = field(default_factory=dict)
    answers: list[list[int]] | None = None  # the first translations, as ids
    different: int | None = None  # of them, compared with the reference's

    @property
    def value(self) -> float:
        """The median over the turns."""
        return statistics.median(turn.value for turn in self.turns)

    @property
    def p95(self) -> float | None:
        """The median over the turns, if measured."""
        known = [turn.p95 for turn in self.turns if turn.p95 is not None]
        return statistics.median(known) if known else None

    @property
    def work(self) -> float | None:
        """The seconds that it kept cores busy for one sentence: the median over the turns, if measured."""
        known = [turn.work for turn in self.turns if turn.work is not None]
        return statistics.median(known) if known else None

    @property
    def disagrees(self) -> bool:
        """Whether a float32 contender translates too many sentences otherwise than the reference.

        Not judged if its beam search has another rule.
        """
        if self.different is None or not self.answers or self.contender.dtype != "float32":
            return False
        if self.contender.own_beam and self.beam > 1:
            return False
        return self.different > MOST_DIFFERENT * len(self.answers)


@dataclass(kw_only=True)
class DecodingContest:
    """The outcome of a contest."""

    conditions: DecodingConditions
    rounds: int
    results: list[DecodingResult]
    reference: str = ""  # the contender whose translations the others' are compared with
    left_out: dict[str, str] = field(default_factory=dict)  # contender: reason
    ceiling: dict[str, float] = field(default_factory=dict)  # operations per second by type
    processor: str = ""

    def of(self, kind: Kind, beam: int) -> list[DecodingResult]:
        """The results of a kind with this beam that have turns."""
        return [one for one in self.results if (one.kind, one.beam) == (kind, beam) and one.turns]

    def floor(self, result: DecodingResult) -> float | None:
        """Sentences per second that the counted operations allow at the ceiling of the type.

        A processor that multiplies the type more slowly than float32 can convert it.
        """
        rate = self.ceiling.get(_RATES[result.contender.dtype])
        rate = rate and max(rate, self.ceiling["fp32"])
        lengths = [len(answer) for answer in result.answers or ()]
        operations = self.conditions.material.operations(lengths, result.beam)
        return rate / operations if rate and operations else None

    def to_table(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        material = self.conditions.material
        return {
            "model": material.title,
            "lines": self.conditions.lines,
            "source_tokens": sum(material.lengths) / len(material.lengths),
            "limit": material.limit,
            "forced": material.forced,
            "threads": self.conditions.threads,
            "rounds": self.rounds,
            "processor": self.processor,
            "ceiling": self.ceiling,
            "reference": self.reference,
            "left_out": self.left_out,
            "results": [
                {
                    "name": one.contender.name,
                    "dtype": one.contender.dtype,
                    "measure": one.kind,
                    "beam": one.beam,
                    "settings": one.settings,
                    "median": one.value if one.turns else None,
                    "p95": one.p95,
                    "work": one.work,
                    "floor": self.floor(one),
                    "different": one.different,
                    "compared": len(one.answers or ()),
                    **one.to_table(),
                }
                for one in self.results
            ],
        }


def compete(
    contenders: Sequence[TranslationContender],
    conditions: DecodingConditions,
    *,
    kinds: Sequence[Kind],
    beams: Sequence[int],
    rounds: int,
    patience: float = 60.0,
    say: Say = lambda _: None,
) -> DecodingContest:
    """Measure every kind with every beam, in rounds; a contender that fails is left out of the rest.

    First each contender finds its best settings by short runs. Before a turn, `patience` is how many seconds
    to wait for other processes that keep the machine busy.
    """
    held = DecodingContest(conditions=conditions, rounds=rounds, results=[], processor=machine.processor())
    able = []
    for contender in contenders:
        if why := contender.unable(conditions.material):
            held.left_out[contender.name] = why
        else:
            able.append(contender)
    ceilings = [product_ceiling(conditions)] if "throughput" in kinds else []
    for kind in kinds:
        for beam in beams:
            takers = [c for c in able if kind in c.kinds and not (c.greedy and beam > 1)]
            results = [DecodingResult(contender=c, kind=kind, beam=beam) for c in takers]
            held.results += results
            _Heat(conditions, patience, say).run(results, rounds)
    if ceilings:
        ceilings.append(product_ceiling(conditions))
        held.ceiling = {name: max(one[name] for one in ceilings if name in one) for name in ceilings[0]}
    _compare(held)
    return held


class _Heat:
    """Turns of one kind with one beam."""

    def __init__(self, conditions: DecodingConditions, patience: float, say: Say) -> None:
        self._conditions, self._patience, self._say = conditions, patience, say

    def run(self, results: Sequence[DecodingResult], rounds: int) -> None:
        """Search settings, then take turns."""
        for result in results:
            self._attempt(result, self._search)
        for number, order in enumerate(orders(results, rounds) if results else [], 1):
            for result in order:
                if not result.failure:
                    self._attempt(result, self._turn)
                    if not result.failure:
                        self._say(f"round {number}: {_line(result)}")

    def _attempt(self, result: DecodingResult, work: Callable[[DecodingResult], None]) -> None:
        wait_for_others(self._patience)
        result.attempt(lambda: work(result))
        if result.failure:
            self._say(f"{result.contender.name} is left out: {result.failure}")

    def _search(self, result: DecodingResult) -> None:
        """Set the best settings, found one stage after the other."""
        if result.kind not in ("throughput", "latency"):
            return
        measure: Measure = "latency" if result.kind == "latency" else "throughput"
        stages = [
            distinct(stage, self._conditions.lines)
            for stage in result.contender.stages(measure, self._conditions.threads)
        ]
        best: Settings = {}
        for stage in stages:
            best |= stage[0]
        for stage in stages:
            if len(stage) > 1:
                tried = [best | settings for settings in stage]
                values = [self._short(result, measure, settings) for settings in tried]
                chosen = min(values) if measure == "latency" else max(values)
                best = tried[values.index(chosen)]
        result.settings = best
        if any(len(stage) > 1 for stage in stages):
            self._say(
                f"{result.contender.name}, {result.kind}, beam {result.beam}: best with {printed(best)}"
            )

    def _short(self, result: DecodingResult, measure: Measure, settings: Settings) -> float:
        job = result.contender.job(self._conditions, measure, result.beam, settings)
        job = replace(job, lines=min(job.lines, SEARCHED if measure == "throughput" else 20), passes=2)
        return result.contender.run(job, self._conditions.threads).value

    def _turn(self, result: DecodingResult) -> None:
        contender, conditions = result.contender, self._conditions
        match result.kind:
            case "start":
                result.take(lambda: contender.start(conditions, result.beam))
            case "file":
                result.take(lambda: contender.file(conditions, result.beam))
            case measure:
                result.take(lambda: self._measured(result, measure))

    def _measured(self, result: DecodingResult, measure: Measure) -> DecodingTurn:
        job = result.contender.job(self._conditions, measure, result.beam, result.settings)
        path = Path(job.folder) / f"answers-{result.contender.name}.json"
        turn = result.contender.run(replace(job, answers=str(path)), self._conditions.threads)
        result.answers = json.loads(path.read_text(encoding="utf-8"))
        return turn


def _compare(held: DecodingContest) -> None:
    """Count the translations that differ from the reference's: ours in float32, or else the first."""
    for beam in {one.beam for one in held.results}:
        results = [one for one in held.of("throughput", beam) or held.of("latency", beam) if one.answers]
        exact = [one for one in results if one.contender.dtype == "float32"]
        if not exact:
            continue
        held.reference = exact[0].contender.name
        for one in results:
            one.different = sum(
                differ(a, b, held.conditions.material.limit)
                for a, b in zip(one.answers or (), exact[0].answers or (), strict=True)
            )


def differ(one: Sequence[int], other: Sequence[int], limit: int) -> bool:
    """Whether two translations differ. If one met its limit, only the common part is compared.

    Marian's limit depends on the source.
    """
    both = min(len(one), len(other))
    if max(len(one), len(other)) < limit:
        return list(one) != list(other)
    return list(one[:both]) != list(other[:both])


def distinct(stage: Sequence[Settings], lines: int) -> list[Settings]:
    """The settings, with only the first of those whose batch would hold all lines."""
    whole = [
        s for s in stage if s.get("batch_type", "examples") == "examples" and s.get("batch_size", 0) >= lines
    ]
    return [settings for settings in stage if settings not in whole[1:]]


def printed(settings: Settings) -> str:
    """Settings in words: `2 x 1 threads, batches of 512 tokens`."""
    words = []
    if "inter" in settings:
        words.append(f"{settings['inter']} x {settings['intra']} threads")
    if "threads" in settings:
        words.append(f"{settings['threads']} threads")
    if "batch_size" in settings:
        words.append(f"batches of {settings['batch_size']} {settings.get('batch_type', 'examples')}")
    return ", ".join(words)


def product_ceiling(conditions: DecodingConditions) -> dict[str, float]:
    """Operations per second of large products, by type."""
    return ceiling_of(f"--threads={conditions.threads}", "--int8")


def _line(result: DecodingResult) -> str:
    value, name = result.turns[-1].value, f"{result.contender.name}, beam {result.beam}"
    if result.kind in ("latency", "start"):
        return f"{name}: {value * 1000:,.1f} ms ({result.kind})"
    return f"{name}: {value:,.0f} sentences/s ({result.kind})"
