"""What a run's lines say, and what broken ones do not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serving.studio.lines import line, samples, start, train, valid

from dragoman.serving.studio.history import History

SAVED = Path(__file__).parents[2] / "saved/0.1/transformer/metrics.jsonl"


def history(*lines: str | bytes) -> History:
    one = History()
    for text in lines:
        one.add(text.encode() if isinstance(text, str) else text)
    return one


def kinds(one: History) -> list[str]:
    return [event["kind"] for event in one.events]


def shown(one: History) -> str:
    """What the page gets: it must be strict JSON."""
    curves = {name: curve.view(50) for name, curve in one.curves.items()}
    parts = [curves, list(one.events), one.samples, one.facts, one.last, one.best, list(one.recent)]
    return json.dumps(parts, allow_nan=False)


def test_a_run_of_the_first_release() -> None:
    rows = [json.loads(text) for text in SAVED.read_text("utf-8").splitlines()]
    one = history(*SAVED.read_text("utf-8").splitlines())

    assert one.broken == 0
    assert one.state == "done"  # it has an average
    for name, kind, key in (("train/nll", "train", "nll"), ("valid/bleu", "valid", "bleu")):
        expected = [(row["step"], row[key]) for row in rows if row["kind"] == kind]
        assert [(step, value) for step, _, value in one.curves[name].view(500)] == expected
    assert one.last["step"] == max(row["step"] for row in rows)


def test_the_course_of_a_run() -> None:
    one = history(start(), train(10), valid(20, 2.0), samples(20, "Eine Katze."), valid(30, 2.5, best=False))
    assert one.state == "running"
    assert one.best is not None
    assert (one.best["step"], one.best["loss"]) == (20, 2.0)
    assert one.facts["max_updates"] == 1000
    assert one.samples[0]["sentences"][0]["hypothesis"] == "Eine Katze."

    one.add(line("stop", 30, time=5.0, reason="stopped at update 30").encode())
    assert one.state == "stopped"
    one.add(start(30).encode())
    assert one.state == "running"
    one.add(line("average", 40, loss=1.5, bleu=30.0).encode())
    assert one.state == "running"  # the scores of tuning, or the calibration, are still to come
    one.add(line("finish", 40, time=6.0, outcome="the average of 3 checkpoints").encode())
    assert one.state == "done"
    assert kinds(one) == ["start", "best", "stop", "resume", "average", "finish"]
    assert [one.events[4]["text"], one.events[5]["text"]] == [
        "loss 1.500, BLEU 30.0",
        "kept the average of 3 checkpoints",
    ]


def test_it_says_which_search_is_behind_the_scores() -> None:
    one = History()
    for text in (start(), valid(10, search="greedy"), valid(20, search="beam 5, length penalty 1")):
        one.add(text.encode())

    assert one.facts["search"] == "beam 5, length penalty 1"
    assert one.events[1]["text"] == "loss 2.500, BLEU 0.2, chrF 40.0"
    assert one.events[2]["text"] == "loss 2.500, BLEU 0.4, chrF 40.0, beam 5, length penalty 1"


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "null", "[]", "3", '"train"', "{}", '{"kind": 3, "step": 1}', '{"kind": "train"',
        '{"kind": "train", "step": "1"}', '{"kind": "train", "step": -1}', '{"kind": "train", "step": NaN}',
        '{"kind": "train", "step": true}', "[" * 100_000, '{"kind": "train", "step": 1' + "0" * 5000 + "}",
        b"\xff\xfe", b'{"kind": "train", "step": 1, "x": "\xff"}', b"\0\0\0",
    ],
)  # fmt: skip
def test_a_broken_line_is_counted_and_left_out(text: str | bytes) -> None:
    one = history(train(10), text, train(20))

    assert one.broken == 1
    assert [step for step, _, _ in one.curves["train/nll"].view(9)] == [10, 20]
    shown(one)


@settings(max_examples=40)
@given(st.data())
def test_values_of_any_kind_never_break_it(data: st.DataObject) -> None:
    value = st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner)),
        max_leaves=6,
    )
    texts = [
        train(10),
        valid(20, directions={"en-de": {"bleu": 1.0}}),
        samples(20, "Ein"),
        start(),
        line("comparison", 1, text="t", systems={}),
    ]
    one = History()
    for text in texts:
        row = json.loads(text)
        for key in data.draw(st.lists(st.sampled_from(sorted(row)), max_size=4)):
            row[key] = data.draw(value)
        one.add(json.dumps(row).encode())

    assert one.lines == len(texts)
    shown(one)


@pytest.mark.parametrize("cut", range(0, len(train(10)), 7))
def test_a_line_cut_anywhere_leaves_the_others(cut: int) -> None:
    one = history(train(5), train(10)[:cut], train(20))

    assert one.broken == 1
    assert len(one.curves["train/nll"]) == 2


def test_not_finite_values_are_gaps() -> None:
    one = history('{"kind": "train", "step": 1, "seconds": 2, "nll": NaN, "gradient_norm": Infinity}')

    assert one.curves["train/nll"].view(5) == [(1, 2, None)]
    assert one.curves["train/gradient_norm"].view(5) == [(1, 2, None)]
    assert one.last == {"step": 1, "seconds": 2}


def test_measurements_of_a_later_version_are_curves_too() -> None:
    one = history(
        train(10, memory=123, name="x", flag=True), *(train(20 + n, **{f"m{n}": 1}) for n in range(200))
    )

    assert one.curves["train/memory"].view(5) == [(10, 20, 123)]
    assert "train/name" not in one.curves
    assert "train/flag" not in one.curves
    assert len(one.curves) <= 120


def test_each_pair_of_languages_has_its_curves() -> None:
    scores = {
        "en-de": {"loss": 2.0, "bleu": 30.0},
        "de-en": {"loss": 1.5, "bleu": 34.0},
        "x": 3,
        "y" * 41: {"bleu": 1},
    }
    one = history(valid(10, directions=scores), valid(20, directions=scores), valid(20, directions="none"))

    assert [point[2] for point in one.curves["valid/de-en/bleu"].view(9)] == [34.0]  # the second was repeated
    assert one.curves["valid/en-de/loss"].view(9)[0][0] == 10
    assert {name for name in one.curves if name.count("/") == 2} == {
        f"valid/{pair}/{name}" for pair in ("en-de", "de-en") for name in ("loss", "bleu")
    }


def test_a_run_that_writes_on_from_an_earlier_update() -> None:
    one = history(train(10), train(20), valid(20), train(30), train(20, nll=9.0), valid(20, 1.0))

    assert [(step, value) for step, _, value in one.curves["train/nll"].view(9)] == [(10, 3.0), (20, 9.0)]
    assert [value for _, _, value in one.curves["valid/loss"].view(9)] == [1.0]
    assert kinds(one).count("back") == 2
    assert one.went_back


def test_everything_is_bounded() -> None:
    one = History()
    for step in range(3000):
        one.add(valid(step).encode())
        one.add(samples(step, "x" * 5000).encode())

    assert len(one.events) <= 300
    assert len(one.samples) <= 60
    assert len(one.recent) <= 1000
    steps = [entry["step"] for entry in one.samples]
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (0, 2999)
    assert len(one.samples[0]["sentences"][0]["hypothesis"]) == 1000
    many = line("samples", 5000, samples=[{"source": str(n)} for n in range(100)])
    one.add(many.encode())
    assert len(one.samples[-1]["sentences"]) == 8


def test_what_is_new_since_a_version() -> None:
    one = history(train(10))
    seen = one.version
    one.add(valid(20).encode())

    news = one.since(seen)
    assert news is not None
    assert [(kind, thing[0]) for kind, thing in news if kind == "point"] == [
        ("point", "valid/loss"), ("point", "valid/bleu"), ("point", "valid/chrf"),
    ]  # fmt: skip
    assert one.since(one.version) == []
    assert one.since(one.version + 1) is None  # of another run
    for step in range(30, 2000):
        one.add(train(step).encode())
    assert one.since(seen) is None


def test_tuning_is_compared_in_words() -> None:
    systems = {"before": {"bleu": {"value": 14.3}}, "after": {"bleu": {"value": 24.68}}, "odd": 3}
    one = history(line("comparison", 0, text="in domain", systems=systems))

    assert one.events[0]["text"] == "in domain: before BLEU 14.3, after BLEU 24.7"
