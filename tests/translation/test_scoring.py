"""Scores of given translations."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.translation.letters import LINES

from dragoman import Translator
from dragoman.base.errors import DataError
from dragoman.translation import scoring


@pytest.fixture(scope="module")
def saved() -> Translator:
    return Translator.load(Path(__file__).parents[1] / "saved/0.1/transformer")


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


def test_pairs_are_the_same_as_two_lists(saved: Translator) -> None:
    sources, targets = ["A dog sees a bird.", "Tom sleeps."], ["Ein Hund sieht einen Vogel.", "Tom."]
    pairs = list(zip(sources, targets, strict=True))
    for method in (saved.score, saved.align, saved.evidence, saved.risk):
        assert method(iter(pairs)) == method(sources, targets)
    for wrong in (["ab", "cd"], [("a", "b", "c")]):
        with pytest.raises(TypeError, match="pairs"):
            saved.score(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="list of lines"):
        saved.score("ab", "cd")
    with pytest.raises(TypeError, match="line 1 is None"):
        saved.score([(None, "a")])  # type: ignore[list-item]


@pytest.mark.parametrize("space", [" ", "\t", "\u00a0", "\u3000"])
def test_outer_space_is_not_read(saved: Translator, space: str) -> None:
    translator, source, target = saved, "A dog sees a bird.", "Ein Hund sieht einen Vogel."
    (plain,) = translator.score([source], [target])
    (spaced,) = translator.score([space + source + space], [f"{space}{target}{space}"])

    assert spaced.token_logp == plain.token_logp
    assert spaced.text == f"{space}{target}{space}"
    (first,) = translator.align([source], [target])
    (second,) = translator.align([source], [f"{space}{target}{space}"])
    assert second.links == first.links
    assert [(a - 1, b - 1) for a, b in second.target] == [*first.target]


def test_a_pair_that_is_too_long_to_align_is_refused(
    saved: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "MOST_ATTENTION", 8)
    line = "A dog sees a bird."
    assert saved.align(["A"], ["A"])
    assert saved.score([line], [line])
    with pytest.raises(DataError, match=r"'A dog sees a bird\.'\.\.\.: .* tokens are too many to align"):
        saved.align([line], [line])
