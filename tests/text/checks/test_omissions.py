"""Translations that lack most of their source."""

from __future__ import annotations

import pytest

from dragoman.text import toy
from dragoman.text.checks.faults import faults
from dragoman.text.checks.omissions import lacks_most


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("A man rides his bike. " * 20, "Ein Mann fährt mit seinem Rad."),
        ("The shop opens at nine. It closes at six. On Sundays nobody is there.", "Das Geschäft öffnet."),
        ("The committee will meet again before the end of the year.", "Der Ausschuss."),
        ("Please read the manual before you switch on the machine.", "请。"),
        ("请在打开机器之前仔细阅读说明书。不要把它放在水里。否则您会失去保修。", "Please read."),
        (
            "She has lost her keys. Nobody has seen them anywhere. We will look again.",
            "Sie hat ihre Schlüssel.",
        ),
        ("The dog sleeps in the garden behind the house.", ""),
    ],
)
def test_most_is_missing(source: str, target: str) -> None:
    assert lacks_most(source, target)
    assert [one.kind for one in faults(source, target, "en", "de")].count("omission") == 1


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("How do you do?", "Hallo."),
        ("I beg your pardon?", "Bitte?"),
        ("The shop opens at nine. It closes at six.", "Das Geschäft ist von neun bis sechs geöffnet."),
        ("Please read the manual before you switch on the machine.", "开机前请阅读说明书。"),
        ("This is the first time that I have heard of it.", "初耳です。"),
        ("-------------------------------------------------- Note", "Hinweis"),
        ("It is seven forty-five.", "7:45."),
        ("", ""),
        ("\u200b" * 80, ""),
        ("https://example.com/" + "a" * 80, "https://example.com/" + "a" * 80),
    ],
)
def test_short_translations_are_not_suspected(source: str, target: str) -> None:
    assert not lacks_most(source, target)


def test_no_reference_of_the_grammar_is_suspected_and_each_beginning_is() -> None:
    pairs = toy.pairs(3, 2000)
    assert not any(lacks_most(*pair) or lacks_most(*pair[::-1]) for pair in pairs)
    for first in range(0, len(pairs) - 5, 5):
        source = " ".join(one for one, _ in pairs[first : first + 5])
        assert lacks_most(source, pairs[first][1])
        assert not lacks_most(source, " ".join(two for _, two in pairs[first : first + 5]))
