from __future__ import annotations

from dataclasses import replace

from rich.cells import cell_len
from tests.cli.display.runs import report, started, validation

from dragoman.cli.display.plain import clip, facts, sample_lines, share_done, sparkline, validation_parts
from dragoman.training.events import SampleTranslation


def test_clip_counts_columns_not_characters() -> None:
    assert clip("abc", 3) == "abc"
    assert clip("abcd", 3) == "ab…"
    assert clip("雪雪雪", 6) == "雪雪雪"
    for width in (4, 5):
        assert clip("雪雪雪", width).endswith("…")
        assert cell_len(clip("雪雪雪", width)) <= width


def test_sparkline() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([3, 1, 2]) == "█▁▅"
    assert sparkline([5.0]) == "▄"
    assert sparkline([]) == ""
    many = sparkline(list(range(1000)), 10)
    assert len(many) == 10
    assert (many[0], many[-1]) == ("▁", "█")


def test_the_share_is_that_of_the_time() -> None:
    assert share_done(report(seconds=6, eta_seconds=18)) == 0.25
    assert share_done(report(seconds=6, eta_seconds=18), ran=6) == 0.5
    assert share_done(report(seconds=6, eta_seconds=18), ran=30) == 1
    assert share_done(report(seconds=61, eta_seconds=-1)) == 1
    assert share_done(report(seconds=0, eta_seconds=0)) == 1


def test_facts() -> None:
    event = started(
        target_vocab=6000, train_pairs=29_000, valid_pairs=0, threads=1, processes=2, resumed_from=1500,
        max_epochs=3, max_seconds=3600,
    )  # fmt: skip
    assert dict(facts(event)) == {
        "model": "2,634,112 parameters, vocabulary 8,000 and 6,000",
        "data": "29,000 pairs to learn from",
        "machine": "bf16, 1 thread in each of 2 processes, batches of 4,096 tokens",
        "until": "8,000 updates or 3 epochs or 1:00:00",
        "resumes": "from update 1,500",
    }
    assert "resumes" not in dict(facts(replace(event, resumed_from=0)))


def test_validation_parts() -> None:
    event = validation(loss=1.5, perplexity=4.48, bleu=None, chrf=None, best=False)
    assert list(validation_parts(event)) == ["loss 1.500", "perplexity 4.48"]
    event = replace(event, bleu=31.26, chrf=55.0, best=True)
    parts = list(validation_parts(event, brief=True))
    assert parts == ["perplexity 4.48", "BLEU 31.3", "chrF 55.0", "best so far"]
    beam = list(validation_parts(replace(event, search="beam 5, length penalty 1"), brief=True))
    assert beam[1:3] == ["BLEU 31.3 (beam 5)", "chrF 55.0"]
    assert (
        list(validation_parts(validation(loss=None, perplexity=None, bleu=None, chrf=None, best=False))) == []
    )


def test_sample_lines() -> None:
    sample = SampleTranslation(source="a", hypothesis="b", reference="c")
    assert [label for label, _, _ in sample_lines(sample)] == ["source", "translation", "reference"]
    equal = list(sample_lines(replace(sample, reference="b ")))
    assert equal == [("source", "a", False), ("translation", "b", True)]
