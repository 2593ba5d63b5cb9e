"""Progress of a preparation, by a clock of the test's own."""

from __future__ import annotations

from dragoman.runs.pace import Pace


def test_progress_is_reported_every_few_seconds_and_at_the_end() -> None:
    now = [100.0]
    messages: list[str] = []
    pace = Pace("the teachers translate", 1000, "lines", messages.append, lambda: now[0])

    for seconds, done in ((0, 200), (5, 300), (10, 400), (15, 500), (40, 1000)):
        now[0] = 100.0 + seconds
        pace.done(done)

    assert messages == [
        "the teachers translate: 400 of 1,000 lines, 20.0 lines/s, 0:30 left",
        "the teachers translate: 1,000 of 1,000 lines, 20.0 lines/s, 0:00 left",
    ]


def test_nothing_to_do_is_no_message() -> None:
    messages: list[str] = []
    pace = Pace("the teachers translate", 10, "lines", messages.append)

    pace.done(10)

    assert messages == []
