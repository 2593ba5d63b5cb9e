"""Contenders in turns at translating: settings, order, figures, and translations that differ."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from decoding import contest, report
from decoding.contenders import DecodingConditions, DecodingTurn, TranslationContender
from decoding.material import Material
from decoding.measured import Job
from measuring import turns

from dragoman.base.errors import TrainingError
from dragoman.models.operations import translation
from dragoman.models.shapes import TransformerConfig

SHAPE = TransformerConfig(source_vocab=40, target_vocab=40, d_model=16, d_ff=24, heads=2)
NOW = 0.0


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """The load of this machine is the matter of another test."""
    monkeypatch.setattr(turns, "_work", lambda: None)
    monkeypatch.setattr(contest, "product_ceiling", lambda _: {"fp32": 1e9, "int8": 4e9})


@pytest.fixture
def conditions(tmp_path: Path) -> DecodingConditions:
    material = Material(folder=tmp_path, title="toy", shape=SHAPE, lengths=(6, 8), limit=3, forced=True)
    return DecodingConditions(material=material, threads=2)


def contender(name: str, program: str = "ours", dtype: str = "float32") -> TranslationContender:
    return TranslationContender(name=name, about="", program=program, dtype=dtype, model="dragoman")  # type: ignore[arg-type]


def cells(text: str, name: str) -> list[str]:
    """The cells of the first line that begins with `name`."""
    return next(line for line in text.splitlines() if line.startswith(f"{name} ")).split()


Answer = Callable[[str, Job], tuple[float, list[list[int]]]]


def pretend(monkeypatch: pytest.MonkeyPatch, answer: Answer) -> list[tuple[str, Job]]:
    """Let each job be done by `answer`, which returns value and translations. Return the list of jobs."""
    jobs: list[tuple[str, Job]] = []

    def run(self: TranslationContender, job: Job, threads: int) -> DecodingTurn:
        jobs.append((self.name, job))
        value, translations = answer(self.name, job)
        if job.answers is not None:
            Path(job.answers).write_text(json.dumps(translations), encoding="utf-8")
        return DecodingTurn(value=value, work=0.001, peak_memory=7_000_000)

    monkeypatch.setattr(TranslationContender, "run", run)
    return jobs


def test_turns_go_round(conditions: DecodingConditions, monkeypatch: pytest.MonkeyPatch) -> None:
    """No contender is always first; the median counts; one that fails is left out of the later rounds."""
    rates = {"a": iter([100.0, 300.0, 200.0]), "b": iter([50.0, 50.0, 80.0])}

    def answer(name: str, job: Job) -> tuple[float, list[list[int]]]:
        if name == "broken":
            raise TrainingError("broken: no such thing")
        return next(rates[name]), [[1, 2, 3], [4, 5, 6]]

    jobs = pretend(monkeypatch, answer)
    said: list[str] = []
    held = contest.compete(
        [contender("a"), contender("b"), contender("broken")],
        conditions, kinds=["throughput"], beams=[1], rounds=3, patience=NOW, say=said.append,
    )  # fmt: skip

    assert [name for name, _ in jobs] == ["a", "b", "broken", "b", "a", "a", "b"]
    assert [one.value for one in held.of("throughput", 1)] == [200, 50]
    assert "broken is left out: broken: no such thing" in said
    assert "round 3: a, beam 1: 200 sentences/s (throughput)" in said
    table = json.loads(json.dumps(held.to_table()))
    assert [one["median"] for one in table["results"]] == [200, 50, None]
    assert "failed: throughput, beam 1: broken: no such thing" in report.to_text(held)


def test_settings_are_chosen_stage_by_stage(
    conditions: DecodingConditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CTranslate2's threads first, then its batches; the turns use what was fastest."""

    def answer(name: str, job: Job) -> tuple[float, list[list[int]]]:
        threads, size = job.settings["inter"], job.settings.get("batch_size", 0)
        if job.measure == "latency":
            return 1.0 / job.settings["intra"], [[1, 2, 3], [4, 5, 6]]
        examples = job.settings["batch_type"] == "examples"
        return 100.0 * threads - abs(size - 32) / 1000 + 10 * examples, [[1, 2, 3], [4, 5, 6]]

    jobs = pretend(monkeypatch, answer)
    many = replace(conditions, material=replace(conditions.material, lengths=(6, 8) * 500))
    held = contest.compete(
        [contender("theirs", "ctranslate2")],
        many, kinds=["throughput", "latency"], beams=[4], rounds=1, patience=NOW,
    )  # fmt: skip
    (throughput,), (latency,) = held.of("throughput", 4), held.of("latency", 4)

    assert throughput.settings == {"inter": 2, "intra": 1, "batch_type": "examples", "batch_size": 32}
    assert latency.settings == {"inter": 1, "intra": 2}
    assert jobs[-1][1].beam == 4
    assert all(job.limit == 3 and job.forced for _, job in jobs)
    assert cells(report.to_text(held), "theirs")[-8:] == "2 x 1 threads, batches of 32 examples".split()


def test_batches_that_hold_everything_are_tried_once() -> None:
    stage = [
        {"batch_size": 32},
        {"batch_size": 8},
        {"batch_size": 64},
        {"batch_size": 32, "batch_type": "tokens"},
    ]

    assert contest.distinct(stage, 20) == [stage[0], stage[1], stage[3]]
    assert contest.distinct(stage, 1000) == stage
    assert contest.distinct([{"threads": 1}, {"threads": 2}], 1) == [{"threads": 1}, {"threads": 2}]


def test_the_table(conditions: DecodingConditions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ratios are to CTranslate2 of the same class; the floor counts operations at the ceiling of the type."""
    rates = {"ours": 400.0, "ours-int8": 900.0, "ct2": 200.0, "ct2-bf16": 250.0, "ct2-int8": 300.0}
    pretend(monkeypatch, lambda name, _: (rates[name], [[1, 2, 3], [4, 5, 6]]))
    held = contest.compete(
        [
            contender("ours"), contender("ours-int8", dtype="int8"), contender("ct2", "ctranslate2"),
            contender("ct2-bf16", "ctranslate2", "bfloat16"), contender("ct2-int8", "ctranslate2", "int8"),
        ],
        conditions, kinds=["throughput"], beams=[1], rounds=1, patience=NOW,
    )  # fmt: skip
    text = report.to_text(held)
    operations = (translation(SHAPE, 7, 3) + translation(SHAPE, 9, 3)) / 2

    # Sentences, least and most, times CTranslate2's best float type, core time, different, memory.
    assert cells(text, "ours")[2:8] == [
        "400",
        "400-400",
        "1.60",
        f"{400 * operations / 1e9:.0%}",
        "1.00",
        "0",
    ]
    assert cells(text, "ours-int8")[4] == "3.00"
    assert cells(text, "ct2")[4] == "0.80"
    assert held.floor(held.results[1]) == pytest.approx(4e9 / operations)
    assert held.floor(held.results[3]) is None  # this machine has no rate of bfloat16
    held.ceiling["bf16"] = 1e7  # slower than float32, to which it can be converted
    assert held.floor(held.results[3]) == pytest.approx(1e9 / operations)
    assert text.startswith("toy: 2 lines, 7.0 source tokens a line, 3 target tokens forced, 2 threads, ")


def test_translations_that_differ(conditions: DecodingConditions, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 2% of float32's is a failure; another type may round as it likes."""
    same, other = [[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 7]]
    pretend(monkeypatch, lambda name, _: (1.0, same if name == "ours" else other))
    held = contest.compete(
        [contender("ours"), contender("theirs"), contender("int8", dtype="int8")],
        conditions, kinds=["throughput"], beams=[1], rounds=1, patience=NOW,
    )  # fmt: skip

    assert [one.different for one in held.results] == [0, 1, 1]
    assert [one.disagrees for one in held.results] == [False, True, False]
    assert "DISAGREES: theirs, beam 1: 1 translations differ, more than 2%" in report.to_text(held)


def test_a_beam_of_another_rule_is_not_judged(
    conditions: DecodingConditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda name, _: (1.0, [[1, 2, 3] if name == "ours" else [9, 9, 9]] * 2))
    held = contest.compete(
        [contender("ours"), replace(contender("marian"), own_beam=True)],
        conditions, kinds=["throughput"], beams=[1, 4], rounds=1, patience=NOW,
    )  # fmt: skip

    judged = {(one.contender.name, one.beam): one.disagrees for one in held.results}
    assert judged == {("ours", 1): False, ("marian", 1): True, ("ours", 4): False, ("marian", 4): False}
    assert "marian: its beam search ends by another rule" in report.to_text(held)


def test_only_what_both_have_is_compared_at_the_limit() -> None:
    assert contest.differ([1, 2], [1, 2, 3], limit=5)
    assert not contest.differ([1, 2], [1, 2, 3], limit=3)
    assert contest.differ([1, 3], [1, 2, 3], limit=3)


def test_one_sentence(conditions: DecodingConditions, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds: the fewest come first, and a ratio above 1 is faster."""
    times = {"ours": 0.01, "theirs": 0.02}
    monkeypatch.setattr(
        TranslationContender,
        "start",
        lambda self, *_: DecodingTurn(value=times[self.name], work=0.25, peak_memory=50_000_000),
    )
    held = contest.compete(
        [contender("theirs", "ctranslate2"), contender("ours")],
        conditions, kinds=["start"], beams=[4], rounds=2, patience=NOW,
    )  # fmt: skip
    text = report.to_text(held)

    assert cells(text, "ours")[2:] == ["0.01", "0.01-0.01", "2.00", "250.00", "50"]
    assert "core ms: time that it kept cores busy" in text
    assert text.index("ours") < text.index("theirs")
    assert held.ceiling == {}


def test_a_contender_that_cannot_take_part(
    conditions: DecodingConditions, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda *_: (1.0, [[1, 2, 3], [4, 5, 6]]))
    missing = replace(conditions, material=replace(conditions.material, missing={"x": "x is too odd"}))
    held = contest.compete(
        [replace(contender("odd"), model="x"), contender("ours")],
        missing, kinds=["throughput"], beams=[1], rounds=1, patience=NOW,
    )  # fmt: skip

    assert "left out: odd: x is too odd" in report.to_text(held)
    assert [one.contender.name for one in held.results] == ["ours"]


def test_a_disturbed_turn_is_marked(conditions: DecodingConditions, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lambda *_: (1.0, [[1, 2, 3], [4, 5, 6]]))
    works = iter([(0.0, 0.0, 0.0), (10.0, 21.0, 19.5)])
    monkeypatch.setattr(turns, "_work", lambda: next(works))
    held = contest.compete(
        [contender("ours")], conditions, kinds=["throughput"], beams=[1], rounds=1, patience=NOW
    )

    assert held.results[0].busy == pytest.approx([0.15])
    assert "ours *" in report.to_text(held)
    assert turns.NOTE in report.to_text(held)


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It returns at once on an idle machine, and in the end on a busy one."""
    loads = iter([0.5, 0.0])
    monkeypatch.setattr(contest.machine, "busy_cores", lambda _: next(loads))
    contest.wait_for_others(60)
    assert next(loads, None) is None
    monkeypatch.setattr(contest.machine, "busy_cores", lambda _: 2.0)
    contest.wait_for_others(1)
