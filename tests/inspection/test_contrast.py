from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
import torch
from tests.inspection.models import bundle, transformer

from dragoman import Translator
from dragoman.base.errors import ConfigError
from dragoman.inspection import Contrast, Head, Intervention, TokenAt, inspect
from dragoman.text.clean import clean

SENTENCE = "The old woman sees 12 dogs."


@pytest.fixture(scope="module")
def pair() -> Any:
    return bundle(transformer(), seed=3)


@pytest.fixture(scope="module")
def both(pair: Any) -> Contrast:
    intervention = Intervention(without=(Head("cross", 1, 1), Head("encoder", 2, 2)), ban=(TokenAt(40),))
    return Translator.of(pair).inspect(SENTENCE, max_extra_tokens=3, name="m", intervention=intervention)


def test_both_runs(pair: Any, both: Contrast) -> None:
    untouched = inspect(pair, SENTENCE, max_extra_tokens=3, name="m")
    changed = inspect(pair, SENTENCE, max_extra_tokens=3, name="m", intervention=both.intervention)
    assert both.untouched.to_json() == untouched.to_json()
    assert both.changed.to_json() == changed.to_json() != untouched.to_json()


def test_log_probabilities_are_those_of_a_copy(pair: Any, both: Contrast) -> None:
    other: Any = deepcopy(pair.model)
    with torch.no_grad():
        other.decoder[0].cross_attention.output.weight[:, :8] = 0
        other.encoder[1].attention.output.weight[:, 8:] = 0
    translators = [Translator.of(pair), Translator.of(replace(pair, model=other))]
    for tokens, trace in ((both.of_untouched, both.untouched), (both.of_changed, both.changed)):
        ids = [token.id for token in trace.target.tokens]
        assert [token.piece for token in tokens] == [token.piece for token in trace.target.tokens]
        for translator, logps in zip(
            translators, ([one.before for one in tokens], [one.after for one in tokens]), strict=True
        ):
            model: Any = translator.bundle.model
            source = torch.tensor([[token.id for token in trace.source.tokens]])
            inputs = torch.tensor([[model.config.start_id, *ids[:-1]]])
            with torch.no_grad():
                memory = model.encode(source, torch.tensor([source.shape[1]]))
                logp_TV = model.decode(inputs, memory)[0].log_softmax(-1)
            wanted = [float(logp_TV[t, token]) for t, token in enumerate(ids)]
            assert logps == pytest.approx(wanted, abs=2e-5)
    assert [one.before for one in both.of_untouched] == pytest.approx(
        [step.logp for step in both.untouched.steps], abs=2e-5
    )
    assert any(abs(one.before - one.after) > 1e-3 for one in both.of_untouched)


def test_words_that_differ_turn_one_translation_into_the_other(both: Contrast) -> None:
    before = [word.text for word in both.untouched.target.words]
    after = [word.text for word in both.changed.target.words]
    rebuilt = list(before)
    for one in reversed(both.words):
        rebuilt[slice(*one.before)] = after[slice(*one.after)]
    assert rebuilt == after != before


def test_a_search_that_changes_nothing_has_no_difference(pair: Any) -> None:
    same = Translator.of(pair).inspect(
        SENTENCE, max_extra_tokens=3, intervention=Intervention(length_penalty=pair.generation.length_penalty)
    )
    assert same.words == ()
    assert all(one.before == one.after for one in same.of_untouched)
    assert "no word differs" in str(same)


def test_another_length_penalty(pair: Any) -> None:
    both = Translator.of(pair).inspect(SENTENCE, intervention=Intervention(length_penalty=2.0), beam=4)
    assert both.untouched.search["length_penalty"] == pair.generation.length_penalty
    assert both.changed.search["length_penalty"] == 2.0
    for trace in (both.untouched, both.changed):
        alone = Translator.of(pair).inspect(SENTENCE, beam=4, length_penalty=trace.search["length_penalty"])
        assert alone.translations == trace.translations


def test_a_given_translation(pair: Any) -> None:
    both = Translator.of(pair).inspect(
        SENTENCE, target="Der Hund.", intervention=Intervention(without=(Head("cross", 2, 1),))
    )
    assert both.untouched.target.text == both.changed.target.text == "Der Hund."
    assert both.words == ()
    assert any(abs(one.before - one.after) > 1e-6 for one in both.of_untouched)


def test_it_shows_itself(both: Contrast) -> None:
    lines = str(both).splitlines()
    assert lines[0] == "without cross.1.1, without encoder.2.2, ban #40"
    texts = [both.untouched.target.text, both.changed.target.text]
    assert lines[2:4] == [clean(text) for text in texts]
    total = sum(one.after for one in both.of_untouched)
    assert f"{total:9.3f}" in str(both)

    table = json.loads(both.to_json())
    assert table["format"] == "dragoman-contrast"
    assert Intervention.from_table(table["intervention"]) == both.intervention
    assert table["untouched"]["target"]["text"] == both.untouched.target.text
    assert table["words"] == [{"before": list(one.before), "after": list(one.after)} for one in both.words]

    page = both.to_html()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["difference"] == json.loads(json.dumps(both.difference()))
    assert [trace["target"]["text"] for trace in data["traces"]] == texts


def test_the_changed_run_is_refused_first(pair: Any) -> None:
    with pytest.raises(ConfigError, match="no head"):
        Translator.of(pair).inspect(SENTENCE, intervention=Intervention(without=(Head("cross", 9, 1),)))


def test_a_deadline_ends_the_search(pair: Any) -> None:
    steps = 0

    def late() -> None:
        nonlocal steps
        steps += 1
        if steps == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        inspect(pair, SENTENCE, every_step=late)
    assert steps == 3
