"""What a translation holds, also that of several sentences, and its risk."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.translation.folder.models import saved
from tests.translation.letters import Letters, translator_of
from tests.translation.search.reference import History
from tests.translation.search.test_risk import MODEL as RISK_MODEL

from dragoman import Translator
from dragoman.base.errors import ConfigError, DataError
from dragoman.translation.search.options import Decoding
from dragoman.translation.search.risk import Risk, assess


def test_a_translation_says_what_it_is_made_of(translator: Translator) -> None:
    for one in translator.translate(["abc", "hgf"]):
        assert "".join(one.tokens) == one.text
        assert len(one.token_logp) == len(one.tokens) + 1
        assert one.score == pytest.approx(math.fsum(one.token_logp) / ((6 + len(one.tokens)) / 6) ** 0.6)
        assert one.alternatives == ()
    assert translator("abc") == translator.translate(["abc"])[0].text


def test_the_sentences_of_a_line_are_translated_by_themselves(translator: Translator) -> None:
    lines = ["abc. Hgf!  a", "", "hgf"]
    found = translator.translate(lines)
    parts = translator.translate(["abc.", "Hgf!", "a", "hgf"])

    assert [one.source for one in found] == lines
    assert [one.text for one in found] == [
        f"{parts[0].text} {parts[1].text}  {parts[2].text}",
        "",
        parts[3].text,
    ]
    assert found[0].tokens == parts[0].tokens + parts[1].tokens + parts[2].tokens
    counts = [len(one.token_logp) for one in parts[:3]]
    weighted = sum(one.score * count for one, count in zip(parts, counts, strict=False))
    assert found[0].score == pytest.approx(weighted / sum(counts))
    assert found[2] == parts[3]


def test_a_line_break_that_the_model_spells_does_not_break_the_line(model: History) -> None:
    class Breaking(Letters):
        def decode(self, ids: Sequence[int]) -> str:
            return "one\ntwo\r\nthree"

    translator = translator_of(model)
    translator.tokenizer = cast(Any, Breaking())
    assert translator("abc") == "one two  three"


def test_a_translation_shows_itself_in_a_notebook(translator: Translator) -> None:
    one = translator.translate(["abc"], beam=3, n_best=3)[0]
    shown = one._repr_html_()
    chances = [math.exp(logp) for logp in one.token_logp[:-1]]
    assert re.findall(r'title="([\d.]+)%"', shown) == [f"{100 * chance:.1f}" for chance in chances]
    assert re.findall(r"<li>(.*?) <small>", shown) == [other.text for other in one.alternatives]
    hostile = replace(one, source="<i>", text="<b>", tokens=("<b>",), token_logp=(-1.0, -0.5))
    assert "<i>" not in hostile._repr_html_()
    assert "<b>" not in hostile._repr_html_()
    remembered = replace(one, tokens=(), token_logp=())
    assert one.text in remembered._repr_html_()
    # The values of several sentences are not those of their tokens, nor are the pieces those of another text.
    for other in (translator.translate("abc. hgf"), replace(one, text="http://a.example")):
        assert f">{other.text}</div>" in other._repr_html_()


# Risk


@pytest.fixture(scope="module")
def risky(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A translator with a risk model, whose flags hang on the likelihood of the tokens."""
    translator = Translator.load(saved(tmp_path_factory.mktemp("risky") / "model"))
    translator.risk_models = {translator.target_language: RISK_MODEL}
    return translator


def test_the_risk_of_a_search_is_that_of_its_evidence(risky: Translator) -> None:
    lines = ["the moon is pale", "", "old stones is"]
    plain, found = risky.translate(lines), risky.translate(lines, risk=True)
    evidence = risky.evidence(lines, [one.text for one in found])

    assert [replace(one, risk=None, alternatives=()) for one in found] == [
        replace(one, alternatives=()) for one in plain
    ]
    assert all(one.risk is None for one in plain)
    assert found[1].risk == Risk(None)
    for number in (0, 2):
        risk, text = found[number].risk, found[number].text
        expected = assess(RISK_MODEL, evidence[number], lines[number], text, ("en", "yo"))
        assert risk is not None
        assert risk.probability == pytest.approx(expected.probability, abs=1e-4)
        assert risk.flags == expected.flags
        assert all(other.risk is not None for other in found[number].alternatives)


def test_the_risk_of_given_translations(risky: Translator) -> None:
    sources, targets = ["the moon", "old 15 stones"], ["moon", "stones 13 old"]
    found = risky.risk(sources, targets)

    for source, target, evidence, risk in zip(
        sources, targets, risky.evidence(sources, targets), found, strict=True
    ):
        assert risk == assess(RISK_MODEL, evidence, source, target, ("en", "yo"), given=True)
    assert {"15 missing", "13 added"} <= {flag.detail for flag in found[1].flags}
    with pytest.raises(DataError, match="2 sources and 1 translations"):
        risky.risk(sources, targets[:1])


def test_the_risk_of_a_line_of_several_sentences(risky: Translator) -> None:
    first, second = risky.translate(["the moon.", "old stones."], risk=True)
    (whole,) = risky.translate(["the moon. old stones."], risk=True)
    (cut,) = risky.translate(["The moon. Old stones."])

    assert cut.risk is None
    assert whole.risk is not None
    assert first.risk is not None
    assert second.risk is not None
    assert whole.risk.probability is not None


def test_a_model_without_attention_has_risk_too() -> None:
    translator = translator_of(History(vocab=14, seed=2, end=0.5))
    translator.risk_models = {translator.target_language: RISK_MODEL}

    (found,) = translator.translate(["abc"], risk=True)
    assert found.risk is not None
    assert found.risk.probability is not None


def test_risk_and_another_attention_exclude_each_other() -> None:
    with pytest.raises(ConfigError, match="risk cannot be used with attention"):
        Decoding(risk=True, attention="1")
