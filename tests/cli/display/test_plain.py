from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from tests.cli.display.runs import Clock, finished, report, started, validation

from dragoman.cli.display import Plain, Silent
from dragoman.training.events import SampleTranslation


def test_a_run_as_lines() -> None:
    stream, clock = io.StringIO(), Clock()
    plain = Plain(stream, clock=clock)
    plain.on_start(started())
    for number in range(20, 2020, 20):
        clock.now += 1
        plain.on_report(report(number))
    plain.on_validation(validation(2000))
    plain.on_message("a remark")
    plain.on_finish(finished())
    lines = stream.getvalue().splitlines()
    assert lines[0] == "output     runs/en-de"
    assert "28,961 pairs to learn from, 1,014 to validate" in lines[2]
    steps = [line for line in lines if line.startswith("update ")]
    assert len(steps) == 10  # 100 reports in 100 seconds, one in ten shown
    assert steps[1] == (
        "update 220/8,000 3%  loss 2.31  ppl 6.11  6,120 tok/s  pad 3.1%  lr 0.0012  left 1:04:50"
    )
    assert lines[-7:] == [
        "validation at 2,000: loss 1.900  perplexity 6.69  BLEU 31.3  chrF 55.0  best so far",
        "  source       A man rides a bike.",
        "  translation  Ein Mann fährt Rad.",
        "  reference    Ein Mann fährt Fahrrad.",
        "a remark",
        "done: 8,000 updates in 58:20, the best at 7,500; kept the average of 5 checkpoints",
        "peak memory of a process: 1.23 GB",
    ]


def test_more_samples_and_equal_ones() -> None:
    stream = io.StringIO()
    Plain(stream, samples=2).on_validation(validation())
    assert stream.getvalue().splitlines()[-1] == "  translation  Es schneit.  (= reference)"


def test_nothing_is_wider_than_100_columns() -> None:
    stream = io.StringIO()
    plain = Plain(stream, every=0, samples=9)
    plain.on_start(started(output="runs/" + "x" * 200, max_updates=10_000_000))
    plain.on_report(report(9_999_980, perplexity=9_999_999.0, eta_seconds=1e7, tokens_per_second=9_999_999.0))
    plain.on_validation(
        validation(samples=(SampleTranslation(source="雪" * 80, hypothesis="x" * 101, reference="\t" * 200),))
    )
    plain.on_message("m" * 500)
    lines = stream.getvalue().splitlines()
    assert max(map(cell_len, lines)) == 100
    assert "".join(lines[-5:]) == "m" * 500


def test_text_is_text() -> None:
    stream = io.StringIO()
    hostile = SampleTranslation(
        source="[bold]a[/]", hypothesis="x\x1b[31mred\nnext", reference="[/red] \ud800"
    )
    Plain(stream).on_validation(validation(samples=(hostile,)))
    lines = stream.getvalue().splitlines()
    assert lines[1:] == [
        "  source       [bold]a[/]",
        "  translation  x�[31mred next",
        "  reference    [/red] �",
    ]


def test_a_stream_that_knows_only_ascii() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Plain(stream).on_message("Ein Mann fährt")
    assert raw.getvalue() == rb"Ein Mann f\xe4hrt" + b"\n"


@pytest.mark.parametrize("error", [BrokenPipeError(), OSError(5, "Input/output error"), ValueError("closed")])
def test_a_stream_that_breaks_stops_nothing(error: Exception) -> None:
    class Broken(io.StringIO):
        calls = 0

        def write(self, text: str) -> int:
            self.calls += 1
            raise error

    stream = Broken()
    plain = Plain(stream, every=0)
    plain.on_start(started())
    plain.on_report(report())
    plain.on_validation(validation())
    plain.on_finish(finished())
    plain.close()
    assert stream.calls == 1


def test_a_display_that_missed_the_start_shows_the_rest() -> None:
    """As one that takes over from another."""
    stream = io.StringIO()
    plain = Plain(stream, every=0)
    plain.on_report(report(20))
    plain.on_validation(validation(loss=None, perplexity=None, bleu=None, chrf=None, best=False, samples=()))
    plain.on_finish(finished())
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("update 20  loss 2.31  ")
    assert lines[1] == "validation at 500: "
    assert lines[2].startswith("done: 8,000 updates")
    assert plain.instead is None


def test_silence(capsys) -> None:
    with Silent() as silent:
        silent.on_start(started())
        silent.on_report(report())
        silent.on_validation(validation())
        silent.on_message("a remark")
        silent.on_finish(finished())
    assert capsys.readouterr() == ("", "")


def test_plain_writes_to_standard_error(capsys) -> None:
    Plain().on_message("a remark")
    assert capsys.readouterr() == ("", "a remark\n")
