"""Translators that read what stands before a line, and how to address the reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from tests.translation.test_guided import Scripted

from dragoman import Translator
from dragoman.base.errors import ConfigError, DataError
from dragoman.text.guidance import CONTEXT_TOKENS, Context, Guidance, marks_of, reading
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.folder.config import read_config

PAIRS = [("I see the lamp. It is old. Is it yours?", "Ich sehe die Lampe. Sie ist alt. Ist sie Ihre?")] * 4


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=330))


def of(tokenizer: Tokenizer, *reads: str) -> tuple[Translator, Scripted]:
    engine = Scripted(tokenizer, "Sie ist alt.")
    made = Translator(tokenizer, cast(Any, engine), source_language="en", target_language="de", reads=reads)
    return made, engine


def read(engine: Scripted) -> list[str]:
    """What the model was given: | is the mark of a context, > of its translation, f and i of formality."""
    marks = marks_of(engine.tokenizer)
    assert marks is not None
    letters = {marks.context: "|", marks.translated: ">", marks.formal: "f", marks.informal: "i"}
    rows = []
    for request in engine.asked:
        pieces = engine.tokenizer.source_pieces(request.source)
        rows.append("".join(letters.get(t, p) for t, p in zip(request.source, pieces, strict=True)))
    engine.asked.clear()
    return [row.replace("▁", " ").strip() for row in rows]


def test_one_context_for_all_lines_or_one_for_each(tokenizer: Tokenizer) -> None:
    translator, engine = of(tokenizer, "context", "context target")
    translator.translate(["It is old.", "Is it yours?"], context="I see the lamp.")
    assert read(engine) == ["It is old.| I see the lamp.", "Is it yours?| I see the lamp."]
    translator.translate(["It is old.", "It is old."], context=["", ("I see the lamp.", "Sie")])
    assert read(engine) == ["It is old.", "It is old.| I see the lamp.> Sie"]
    translator.translate("It is old.", context=" I see ")
    assert read(engine) == ["It is old.| I see"]
    translator.translate("It is old.", context=("I see", "Ich"))
    assert read(engine) == ["It is old.| I see> Ich"]


def test_a_context_is_read_on_one_line(tokenizer: Tokenizer) -> None:
    translator, engine = of(tokenizer, "context")
    translator.translate("It is old.", context=" I see\nthe\t lamp.")
    assert read(engine) == ["It is old.| I see the lamp."]


def test_a_model_of_one_side_reads_no_translation_of_the_context(tokenizer: Tokenizer) -> None:
    translator, engine = of(tokenizer, "context")
    translator.translate("It is old.", context=("I see the lamp.", "Sie"))
    assert read(engine) == ["It is old.| I see the lamp."]


def test_equal_lines_are_translated_once_in_one_context(tokenizer: Tokenizer) -> None:
    translator, engine = of(tokenizer, "context")
    translator.translate(["It is old."] * 4, context=["lamp", "see", "lamp", None])
    assert read(engine) == ["It is old.| lamp", "It is old.| see", "It is old."]


def test_a_sentence_reads_those_before_it(tokenizer: Tokenizer) -> None:
    translator, engine = of(tokenizer, "context")
    translator.translate("I see the lamp. It is old. Is it yours?")
    assert read(engine) == [
        "I see the lamp.",
        "It is old.| I see the lamp.",
        "Is it yours?| I see the lamp. It is old.",
    ]
    translator.translate("I see. It is 5% old.", context="the lamp.")
    assert next(one for one in read(engine) if one.startswith("I")) == "I see.| the lamp."
    plain, other = of(tokenizer)
    plain.translate("I see the lamp. It is old.")
    assert read(other) == ["I see the lamp.", "It is old."]


def test_formality(tokenizer: Tokenizer) -> None:
    translator, engine = of(tokenizer, "formality")
    translator.translate(["It is old."], formality="informal")
    translator.translate(["It is old."], formality="formal")
    translator.translate(["It is old."])
    assert read(engine) == ["i It is old.", "f It is old.", "It is old."]


def test_what_a_model_does_not_read_is_refused(tokenizer: Tokenizer) -> None:
    translator, _ = of(tokenizer, "terms")
    with pytest.raises(ConfigError, match="not trained to read context"):
        translator.translate("It is old.", context="a")
    with pytest.raises(ConfigError, match="not trained to read formality"):
        translator.score(["a"], ["b"], formality="formal")
    formal, _ = of(tokenizer, "formality")
    formal.target_language = "es"  # as one of the targets of a model of several
    for refused in (formal.translate, formal.score):
        with pytest.raises(ConfigError, match="formality = formal: there are no rules for es"):
            cast(Any, refused)(["a"], *([["b"]] if refused == formal.score else []), formality="formal")
    reading, _ = of(tokenizer, "context")
    with pytest.raises(DataError, match="line 2 has no context"):
        reading.translate(["a", "b"], context=["c"])
    with pytest.raises(DataError, match="more contexts than the 1 lines"):
        reading.translate(["a"], context=["c", "d"])
    with pytest.raises(TypeError, match="a context is text"):
        reading.translate(["a"], context=cast(Any, [3]))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A saved model that says it reads context. Its marks are untrained, but what it reads changes scores."""
    folder = Path(__file__).parents[1] / "saved/0.1/transformer"
    translator = Translator.load(folder)
    assert read_config(folder).guidance == ()
    translator.reads = ("context", "formality")
    return translator


def test_scores_in_context_are_those_of_the_engine(saved: Translator) -> None:
    lines, contexts = ["A dog sees a bird.", "Tom sleeps."], ["Tom sees a dog.", None]
    targets = ["Ein Hund sieht einen Vogel.", "Tom schläft."]
    scored = saved.score(lines, targets, context=contexts, attention="1")
    encoded, answers = saved.tokenizer.encode_source(lines), saved.tokenizer.encode_target(targets)
    guidance = Guidance(context=Context("Tom sees a dog."))
    inputs = [reading(saved.tokenizer, lines[0], encoded[0], guidance).tokens, encoded[1]]
    pairs = zip(inputs, answers, strict=True)
    expected = dict(saved.engine.score(pairs, saved.generation, attention=None, batch_tokens=99))
    for number, one in enumerate(scored):
        assert one.score == pytest.approx(expected[number].score, rel=1e-5)
        assert len(one.attention[0]) == len(encoded[number]) + 1  # to the line alone, and to its end
    (found,) = saved.translate(lines[:1], context=contexts[:1], attention="1")
    assert len(found.attention[0]) == len(encoded[0]) + 1
    alone = saved.score(lines, targets)
    assert alone[0].score != scored[0].score
    assert alone[1].score == pytest.approx(scored[1].score, rel=1e-6)


def test_a_long_context_is_cut(tokenizer: Tokenizer) -> None:
    translator, engine = of(tokenizer, "context")
    translator.translate("It is old.", context="lamp " * 1000, max_source_tokens=8)
    (request,) = engine.asked
    assert len(request.source) <= 8 + 1 + CONTEXT_TOKENS


def test_a_trace_shows_the_context(saved: Translator) -> None:
    pytest.importorskip("torch")
    line, context = "A dog sees a bird.", "Tom sees a dog."
    trace = saved.inspect(line, context=context, beam=1)
    assert trace.source.text == "A dog sees a bird. ⟨context⟩ Tom sees a dog."
    spans = [trace.source.text[token.start : token.end] for token in trace.source.tokens[:-1]]
    assert spans[len(saved.tokenizer.encode_source([line])[0])] == "⟨context⟩"
    assert "".join(spans).replace(" ", "") == trace.source.text.replace(" ", "")
    assert trace.target.text == saved.translate(line, context=context, beam=1, split=False).text
    spaced = saved.inspect(line, context=" Tom\tsees  a dog.\n", beam=1)  # as `translate` reads it
    assert [token.id for token in spaced.source.tokens] == [token.id for token in trace.source.tokens]


@pytest.mark.parametrize("context", ["", "Tom sees a dog."])
def test_a_trace_shows_the_formality(saved: Translator, context: str) -> None:
    pytest.importorskip("torch")
    line = "A dog sees a bird."
    trace = saved.inspect(line, context=context, formality="formal", beam=1)
    behind = f" ⟨context⟩ {context}" if context else ""
    assert trace.source.text == f"⟨formal⟩ {line}{behind}"
    spans = [trace.source.text[token.start : token.end] for token in trace.source.tokens[:-1]]
    assert spans[0] == trace.source.tokens[0].piece == "⟨formal⟩"
    assert "".join(spans).replace(" ", "") == trace.source.text.replace(" ", "")
    marks = marks_of(saved.tokenizer)
    assert marks is not None
    assert trace.source.tokens[0].id == marks.formal
    translated = saved.translate(line, context=context or None, formality="formal", beam=1, split=False)
    assert trace.target.text == translated.text
    given = saved.inspect(line, target=translated.text, context=context, formality="formal")
    assert given.source == trace.source
