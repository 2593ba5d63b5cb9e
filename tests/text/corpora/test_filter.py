"""Pairs that are left out are counted, each with its reason."""

from __future__ import annotations

import pytest

from dragoman.base.errors import ConfigError
from dragoman.text.corpora.filter import FilterConfig, FilterReport, reason_to_leave_out


def verdict(source: str, target: str, lengths: tuple[int, int], **config: float) -> str | None:
    return reason_to_leave_out(FilterConfig(**config), source, target, *lengths)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "target", "lengths", "reason"),
    [
        ("a", "b", (5, 5), None),
        ("", "b", (0, 5), "empty source"),
        (" \u3000\t", "b", (3, 5), "empty source"),
        ("a", "\n", (5, 1), "empty target"),
        ("\u200b", "b", (1, 5), "empty source"),
        ("a", "\u200e\u00ad", (1, 2), "empty target"),
        ("", "", (0, 0), "empty source"),
        ("a", "b", (256, 256), None),
        ("a", "b", (257, 256), "too long"),
        ("a", "b", (250, 257), "too long"),
        ("a", "b", (1, 8), None),
        ("a", "b", (1, 20), None),  # short: a ratio says nothing
        ("a", "b", (21, 1), "length ratio"),
        ("a", "b", (3, 27), None),  # exactly 9
        ("a", "b", (3, 28), "length ratio"),
        ("a", "b", (0, 21), "length ratio"),
        ("a", "b", (0, 1), None),
    ],
)
def test_reasons(source: str, target: str, lengths: tuple[int, int], reason: str | None) -> None:
    assert verdict(source, target, lengths) == reason


def test_limits_can_be_set() -> None:
    assert verdict("a", "b", (11, 5), max_length=10) == "too long"
    assert verdict("a", "b", (50, 20), max_ratio=2.0) == "length ratio"
    assert verdict("a", "b", (300, 1), max_length=1000, max_ratio=1e9) is None


@pytest.mark.parametrize("options", [{"max_length": 0}, {"max_ratio": 0.5}, {"max_ratio": float("nan")}])
def test_limits_that_make_no_sense(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError) as caught:
        FilterConfig(**options)  # type: ignore[arg-type]
    assert caught.value.hint


def test_the_report_counts_everything_and_shows_where() -> None:
    report = FilterReport()
    report.keep(1195)
    for number in range(1196, 1201):
        report.leave_out("empty target", number)
    report.leave_out("too long", 1201)

    assert (report.read, report.kept) == (1201, 1195)
    assert str(report) == (
        "1,201 pairs read, 1,195 kept, 6 set aside\n"
        "  empty target: 5 (lines 1,196, 1,197, 1,198, ...)\n"
        "  too long: 1 (line 1,201)"
    )


def test_the_report_names_the_shard() -> None:
    report = FilterReport()
    report.leave_out("too long", "train-2.en:1,201")
    assert "too long: 1 (line train-2.en:1,201)" in str(report)
