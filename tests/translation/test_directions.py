"""Lines in the languages of a model of several: what it reads, and what its translations begin with."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import pytest
import torch
from tests.translation.bundles import PAIRS, learn

from dragoman import Translator
from dragoman.base.errors import ConfigError, DataError
from dragoman.inspection import Intervention
from dragoman.models.folder.bundle import Bundle
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import Transformer
from dragoman.text.checks.faults import Fault
from dragoman.text.guidance import Context, Guidance, reading
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.exchange import AskedLine
from dragoman.translation.lines import Addressed, Directions, LineItem
from dragoman.translation.search.engine import Hypothesis, without_start
from dragoman.translation.search.evidence import evidence_of
from dragoman.translation.search.options import Beam
from dragoman.translation.search.risk import assess
from dragoman.translation.terms.terms import Term, TermList

LANGUAGES = ("de", "en", "fr")
TRAINED = (("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en"))
GERMAN = "Der alte Mann sitzt am Fenster und liest eine Zeitung."
ENGLISH = "The old man is sitting at the window and reads a newspaper."


def several(
    target_mark: Literal["source", "target"] = "source", *, source_mark: bool = False, width: int = 16
) -> Bundle:
    """A model of random weights."""
    text = [(f"{source} {more}", target) for source, target in PAIRS for more, _ in PAIRS]
    config = TokenizerConfig(
        vocab_size=360, languages=LANGUAGES, source_mark=source_mark, target_mark=target_mark
    )
    tokenizer = Tokenizer.train(text, config)
    torch.manual_seed(1)
    size = tokenizer.source_size
    shape = TransformerConfig(
        source_vocab=size,
        target_vocab=size,
        d_model=width,
        d_ff=2 * width,
        heads=2,
        encoder_layers=1,
        decoder_layers=1,
    )
    return Bundle(
        model=Transformer(shape).eval(),
        tokenizer=tokenizer,
        source_language="mul",
        target_language="mul",
        directions=TRAINED,
    )


def directions(bundle: Bundle, trained: tuple[tuple[str, str], ...] = TRAINED) -> Directions:
    return Directions(bundle.tokenizer, ("mul", "mul"), trained)


def test_the_languages_of_a_model() -> None:
    translator = Translator.of(several())
    assert translator.sources == ("en", "de", "fr")
    assert translator.targets == ("de", "en", "fr")
    assert translator.directions == TRAINED
    one = Translator.of(replace(several(), source_language="en", target_language="de", directions=()))
    assert (one.sources, one.targets) == (("en",), LANGUAGES)  # as OPUS-MT's: marks, and no list of pairs


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [
        ((None, None), (None, None)),
        (("deu", None), ("de", "en")),  # the only language that it was trained to translate German to
        (("en", None), ("en", None)),
        ((None, "fra_Latn"), (None, "fr")),
        (("en-GB", "fr-CA"), ("en", "fr")),
    ],
)
def test_languages_as_the_model_writes_them(
    asked: tuple[str | None, str | None], chosen: tuple[str | None, str | None]
) -> None:
    assert directions(several()).chosen(*asked) == chosen


def test_languages_that_it_does_not_have() -> None:
    known = directions(several())
    with pytest.raises(ConfigError, match="source = 'it': this model does not translate from it") as error:
        known.chosen("it", "de")
    assert error.value.hint == "it has en, de, fr"
    with pytest.raises(ConfigError, match="to = 'it': this model does not translate to it"):
        known.chosen("en", "it")


def test_a_pair_without_training_says_so(caplog: pytest.LogCaptureFixture) -> None:
    known = directions(several())
    known.warn_if_unseen("en", "de")
    known.warn_if_unseen("en", None)
    assert not caplog.records
    known.warn_if_unseen("de", "fr")
    assert "was not trained to translate from de to fr (zero-shot)" in caplog.text


def test_a_model_of_one_target_language_needs_no_mark_for_it() -> None:
    bundle = several()
    known = Directions(bundle.tokenizer, ("mul", "en"), (("de", "en"), ("fr", "en")))
    assert known.targets == ()
    assert known.chosen("de", "en") == ("de", None)
    with pytest.raises(ConfigError, match="one target language, en"):
        known.chosen("de", "fr")


def test_what_the_model_reads() -> None:
    before, first = directions(several()), directions(several("target", source_mark=True))
    assert before.addressed("A dog.", "en", "de") == Addressed(">>de<< A dog.")
    assert before.addressed("A dog.", None, None) == Addressed("A dog.")
    assert first.addressed("A dog.", "en", "de") == Addressed(">>en<< A dog.", (4,))
    assert first.addressed("", "en", "de") == Addressed("")


def test_a_source_language_is_detected_where_it_matters() -> None:
    before, marked = directions(several()), directions(several(source_mark=True))
    pair = directions(several(), (("en", "de"), ("de", "en")))
    # German is translated to English only, so the target follows. Its own mark is not read.
    assert before.addressed(GERMAN, None, None).text == f">>en<< {GERMAN}"
    assert before.addressed(GERMAN, None, "fr").text == f">>fr<< {GERMAN}"
    assert marked.addressed(GERMAN, None, "fr").text == f">>de<< >>fr<< {GERMAN}"
    assert pair.addressed(ENGLISH, None, None).text == f">>de<< {ENGLISH}"


def test_a_choice_that_is_missing_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    items = [LineItem("A dog."), LineItem("A cat.")]
    with caplog.at_level(logging.WARNING):
        assert list(directions(several()).warning(items, None)) == items
        assert caplog.text.count("several target languages; choose one: de, en, fr") == 1
        caplog.clear()
        list(directions(several(), (("en", "de"), ("de", "en"))).warning(items, None))
        list(directions(several()).warning([LineItem(">>de<< A dog.")], None))
        list(directions(several()).warning(items, "de"))
        assert not caplog.records


def test_it_is_said_where_translations_are_given_or_looked_into(caplog: pytest.LogCaptureFixture) -> None:
    translator = Translator.of(several())
    for use in (
        lambda **to: translator.score(["The cat sleeps."], ["Die Katze schläft."], **to),
        lambda **to: translator.inspect("The cat sleeps.", beam=2, **to),
    ):
        use(to="de")
        assert not caplog.records
        use()
        assert caplog.text.count("several target languages; choose one: de, en, fr") == 1
        caplog.clear()


def test_a_context_is_read_without_the_mark_of_its_line() -> None:
    tokenizer, line = several().tokenizer, "The cat sleeps."
    tokens = tokenizer.encode_source([line])[0]
    marked, bare = (
        reading(tokenizer, line, tokens, Guidance(context=Context(text))) for text in (f">>de<< {line}", line)
    )
    assert marked == bare


def test_the_mark_of_a_line_is_that_of_all_its_sentences() -> None:
    translator, line = Translator.of(several()), "The cat sleeps. The dog sees the cat."
    (marked,) = translator.translate([f">>de<< {line}"])
    (whole,) = translator.translate([line], to="de", split=False)
    assert marked.text == whole.text


@pytest.mark.parametrize("engine", ["pytorch", "native"])
def test_a_mark_that_begins_a_translation_is_not_part_of_it(engine: Literal["pytorch", "native"]) -> None:
    bundle = several("target", source_mark=True)
    translator = Translator.of(bundle, engine=engine)
    (german,) = translator.translate(["The cat sleeps."], source="en", to="de", beam=4, n_best=3)
    (french,) = translator.translate(["The cat sleeps."], source="en", to="fr", beam=4, n_best=3)
    assert german.text != french.text
    for one in (german, *german.alternatives):
        assert ">>" not in "".join(one.tokens)
        assert len(one.token_logp) == len(one.tokens) + 1
        # The mark has a place in the length, as in transformers, but its probability is not counted.
        score = Beam().normalise(sum(one.token_logp), len(one.token_logp) + 1)
        assert one.score == pytest.approx(score, abs=1e-5)
    longer = translator.translate("The cat sleeps.", source="en", to="de", minimum_length=30)
    assert len(longer.tokens) >= 30
    (given,) = translator.score(["The cat sleeps."], [german.text], source="en", to="de")
    if given.tokens == german.tokens:
        assert given.score == pytest.approx(german.score, abs=1e-5)
        assert given.token_logp == pytest.approx(german.token_logp, abs=1e-5)


def test_engines_agree_on_marked_translations() -> None:
    bundle = several("target")
    lines = [source for source, _ in PAIRS]
    found = {
        engine: Translator.of(bundle, engine=engine).translate(lines, to="fr", beam=3, prefix="Die")  # type: ignore[arg-type]
        for engine in ("pytorch", "native")
    }
    for one, other in zip(found["pytorch"], found["native"], strict=True):
        assert one.text == other.text
        assert one.text.startswith("Die")
        assert one.score == pytest.approx(other.score, abs=1e-5)


def test_a_trace_reads_a_context_without_its_mark() -> None:
    translator = Translator.of(replace(several(), guidance=("context",)))
    plain, marked = (
        translator.inspect("The cat sleeps.", to="de", beam=1, context=f"{mark}The cat sleeps.")
        for mark in ("", ">>de<< ")
    )
    assert marked.source == plain.source


def test_a_trace_shows_the_formality_behind_the_language() -> None:
    translator = Translator.of(replace(several(), guidance=("context", "formality")))
    trace = translator.inspect("The cat sleeps.", to="de", beam=1, formality="informal", context="It is old.")
    assert trace.source.text == ">>de<< ⟨informal⟩ The cat sleeps. ⟨context⟩ It is old."
    assert [token.piece for token in trace.source.tokens[:2]] == [">>de<<", "⟨informal⟩"]
    with pytest.raises(DataError, match="the text is empty"):
        translator.inspect("", to="de", beam=1, formality="informal")


def test_inspection_shows_the_marks() -> None:
    translator = Translator.of(several("target", source_mark=True))
    trace = translator.inspect("The cat sleeps.", source="en", to="fr", beam=2)
    assert trace.source.tokens[0].piece == ">>en<<"
    assert (trace.target.tokens[0].piece, trace.target.tokens[0].word) == (">>fr<<", None)
    assert trace.target.tokens[1].word == 0
    assert (trace.model.title, trace.source.language, trace.target.language) == ("en to fr", "en", "fr")
    (best,) = translator.translate(["The cat sleeps."], source="en", to="fr", beam=2, split=False)
    assert trace.translations[0].text == best.text
    assert trace.translations[0].score == pytest.approx(best.score, abs=1e-5)


def test_inspection_does_not_count_the_mark() -> None:
    translator = Translator.of(several("target", source_mark=True))
    asked: Any = {"target": "Le chat dort.", "source": "en", "to": "fr"}
    (scored,) = translator.score(["The cat sleeps."], ["Le chat dort."], source="en", to="fr")
    (given,) = translator.inspect("The cat sleeps.", **asked).translations
    assert given.text == scored.text
    assert given.score == pytest.approx(scored.score, abs=1e-5)
    assert given.logp == pytest.approx(sum(scored.token_logp), abs=1e-5)
    both = translator.inspect("The cat sleeps.", **asked, intervention=Intervention(shift=1))
    assert [one.before for one in both.of_untouched] == pytest.approx(scored.token_logp, abs=1e-5)
    assert len(both.of_changed) == len(scored.token_logp)


def test_a_hypothesis_without_its_start() -> None:
    whole = Hypothesis(
        (4, 8, 9), -2.0, -6.0, (-3.0, -1.0, -1.0, -1.0), False, ((1.0,), (2.0,), (3.0,), (4.0,))
    )
    bare = without_start(whole, 1, Beam(length_penalty=1.0, normalization="power"))
    assert (bare.tokens, bare.token_logp, bare.logp) == ((8, 9), (-1.0, -1.0, -1.0), -3.0)
    assert bare.score == pytest.approx(-3 / 4)
    assert bare.attention == ((2.0,), (3.0,), (4.0,))
    assert without_start(whole, 0) is whole


def test_a_translation_in_another_language_is_flagged() -> None:
    evidence = evidence_of(ENGLISH, GERMAN, (-0.1, -0.1), (), None)
    risk = assess(None, evidence, ENGLISH, GERMAN, ("en", "fr"), several=True)
    assert Fault("language", "de") in risk.flags
    assert "language" not in {one.kind for one in assess(None, evidence, ENGLISH, GERMAN, ("en", "fr")).flags}


@pytest.mark.parametrize("mark", ["source", "target"])
def test_a_term_is_placed_behind_the_mark(mark: Literal["source", "target"]) -> None:
    bundle = several(mark, source_mark=True, width=32)
    tokenizer = bundle.tokenizer
    learn(bundle, address=tokenizer.address("en", "de"), start=tokenizer.target_start("de"))
    translator = Translator.of(replace(bundle, model=bundle.model.eval()))
    terms = TermList([Term("cat", ("Dogge",)), Term("boats", ("Autos",))], "en", "de")
    lines = ["The cat sleeps on the warm stove.", "Two boats wait in the harbour."]
    options: dict[str, Any] = {"source": "en", "to": "de", "split": False, "protect": False}
    found = translator.using(terms=terms, terms_mode="hard").translate(lines, beam=2, **options)
    for one, line, term in zip(found, lines, ("Dogge", "Autos"), strict=True):
        assert term in one.text
        assert not any(">>" in piece for piece in one.tokens)
        assert translator.tokenizer.decode(ids_of(translator, one.tokens)) == one.text
        # The probabilities are those of these tokens behind the mark.
        engine, (read, start) = translator.engine, translator.addressed(line, "en", "de")
        (source,) = translator.tokenizer.encode_source([read])
        ((_, given),) = engine.score([(source, [*start, *ids_of(translator, one.tokens)])], Beam())
        assert one.token_logp == pytest.approx(given.token_logp[len(start) :], abs=1e-4)


def ids_of(translator: Translator, pieces: Sequence[str]) -> list[int]:
    vocabulary = translator.tokenizer.vocabularies[1]
    ids = {vocabulary.pieces([i])[0]: i for i in range(len(vocabulary))}
    return [ids[piece] for piece in pieces]


def test_the_attention_that_places_terms_has_a_row_for_each_token() -> None:
    """Also for the mark, which the placing of terms sees, and a translation does not show."""
    asked = AskedLine("a", ">>en<< a", (5, 9), False, None, None, start=1)
    rows = ((0.1, 0.9, 0.0), (0.2, 0.8, 0.0), (0.3, 0.7, 0.0))
    hypothesis = Hypothesis((4, 8), 0.0, 0.0, (0.0, 0.0, 0.0), False, rows)
    assert asked.own(hypothesis).attention == rows
    assert asked.shown(hypothesis).attention == rows[1:]
    assert asked.shown(hypothesis).tokens == (8,)
