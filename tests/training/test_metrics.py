"""metrics.jsonl: its keys stay, and a resumed run writes no line twice."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tests.cli.display.runs import SAMPLES, finished, report, started, validation

from dragoman.base.errors import Interrupted, TrainingError
from dragoman.training.checkpoints.progress import Candidate
from dragoman.training.metrics import Metrics

SAVED = Path(__file__).parents[1] / "saved/0.1/transformer/metrics.jsonl"
AVERAGE = Candidate(step=600, score=-1.5, loss=1.5, perplexity=4.5, bleu=30.0, chrf=50.0)


def rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_keys_are_those_of_version_0_1(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    for event in (report(20), validation(500, samples=()), AVERAGE):
        metrics.append(event)

    before = {row["kind"]: set(row) for row in rows(SAVED)}
    before["valid"].add("search")  # since then, as the next one
    before["train"].add("peak_memory")
    assert {row["kind"]: row.keys() for row in rows(metrics.path)} == before


def test_without_a_score_there_is_no_signature(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    metrics.append(validation(bleu=None, chrf=None, signature="", samples=()))

    (row,) = rows(metrics.path)
    assert "signature" not in row
    assert row["bleu"] is None


def test_validations_come_back_without_their_samples(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    events = [validation(500, samples=()), validation(1000, signature="", bleu=None, samples=())]
    for event in (report(20), *events, AVERAGE):
        metrics.append(event)

    assert metrics.validations() == events
    assert [one.step for one in Metrics(SAVED).validations()] == [8, 16, 24]


@pytest.mark.parametrize("between", ["\u2028", "\u2029", "\x85", "\r", "\udce9"])
def test_samples_may_hold_any_character(tmp_path: Path, between: str) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    sample = replace(SAMPLES[0], source=f"One{between}two.")
    metrics.append(validation(500, samples=(sample,)))
    metrics.add({"kind": "result", "bleu": 30.0})

    assert len(metrics.path.read_bytes().splitlines()) == 3
    assert [one.step for one in metrics.validations()] == [500]
    assert metrics.result() == {"kind": "result", "bleu": 30.0}


def test_a_line_that_was_cut_is_left_out(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    assert metrics.result() is None
    metrics.append(validation(500, samples=()))
    metrics.add({"kind": "result", "bleu": 30.0})
    metrics.add({"kind": "finish", "step": 500})
    metrics.path.write_bytes(b'5\n[]\n{"a": 1}\n' + metrics.path.read_bytes()[:-5])

    assert metrics.result() == {"kind": "result", "bleu": 30.0}
    assert len(metrics.validations()) == 1


def test_lines_after_the_checkpoint_are_dropped(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    metrics.trim(20)  # no file yet
    for event in (report(20), report(40), AVERAGE):
        metrics.append(event)
    with metrics.path.open("a", encoding="utf-8") as file:
        file.write('{"kind": "train", "st')  # cut short by a crash

    metrics.trim(20)

    assert [row["step"] for row in rows(metrics.path)] == [20]


def test_samples_have_a_line_of_their_own(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    metrics.append(validation(500))

    first, second = rows(metrics.path)
    assert first["kind"] == "valid"
    assert second == {"kind": "samples", "step": 500, "samples": [asdict(sample) for sample in SAMPLES]}


def test_a_resumed_run_keeps_what_happened_before(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path / "metrics.jsonl")
    metrics.begin(started())
    metrics.append(report(20))
    metrics.append(report(40))
    metrics.end(Interrupted("stopped at update 30", signal=15), 30)
    with metrics.path.open("a", encoding="utf-8") as file:
        file.write('{"kind": "train", "st')  # cut short by a crash

    metrics.begin(started(resumed_from=30))
    metrics.append(AVERAGE)
    metrics.end(finished(step=60), 60)

    first, _, stop, second, _, end = rows(metrics.path)
    assert [first["kind"], first["step"], first["parameters"]] == ["start", 0, started().parameters]
    assert [stop["kind"], stop["step"], stop["reason"]] == ["stop", 30, "stopped at update 30"]
    assert [second["kind"], second["step"]] == ["start", 30]
    assert [end["kind"], end["step"], end["outcome"]] == ["finish", 60, finished().outcome]
    assert first["time"] <= stop["time"] <= end["time"] <= time.time()

    metrics.begin(started(resumed_from=60))  # with a higher limit
    assert [row["kind"] for row in rows(metrics.path)] == ["start", "train", "stop", "start", "start"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_the_reason_of_a_stop_is_not_hidden_by_a_full_disk() -> None:
    Metrics(Path("/dev/full")).end(TrainingError("the disk is full"), 20)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_an_error_with_a_hint() -> None:
    with pytest.raises(TrainingError, match="cannot be written") as caught:
        Metrics(Path("/dev/full")).append(report(20))

    assert "space" in caught.value.hint


@pytest.mark.parametrize("rest", [bytes(range(256)), b"\xff\xfe\n\0\0\n", b"[" * 100_000, b'{"step": 1'])
def test_any_bytes_at_the_end_are_dropped(tmp_path: Path, rest: bytes) -> None:
    line = b'{"kind": "train", "step": 3}\n'
    (tmp_path / "metrics.jsonl").write_bytes(line + rest)
    Metrics(tmp_path / "metrics.jsonl").trim(5)

    assert (tmp_path / "metrics.jsonl").read_bytes() == line
