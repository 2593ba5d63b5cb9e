"""Scores of given translations."""

from __future__ import annotations

import pytest
from tests.translator.letters import LINES

from dragoman import Translator
from dragoman.base.errors import DataError


def test_scores_are_those_of_the_search(translator: Translator) -> None:
    found = translator.translate(LINES)
    scored = translator.score(LINES, [one.text for one in found])

    assert [one.text for one in scored] == [one.text for one in found]
    assert [one.tokens for one in scored] == [one.tokens for one in found]
    assert [one.score for one in scored] == pytest.approx([one.score for one in found], rel=1e-12)
    worse = translator.score(LINES, [one.text + "jjj" for one in found], length_penalty=0.0)
    assert all(other.score < sum(one.token_logp) for one, other in zip(found, worse, strict=True))


def test_only_a_pair_of_blank_lines_is_not_scored(translator: Translator) -> None:
    both, source, target = translator.score(["", "", "abc"], [" ", "abc", ""])

    assert both.token_logp == ()
    assert len(source.token_logp) == 4
    assert len(target.token_logp) == 1
    with pytest.raises(DataError, match="2 sources and 1 translations"):
        translator.score(["a", "b"], ["c"])
