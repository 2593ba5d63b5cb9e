from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sentencepiece
import torch
from hypothesis import given
from hypothesis import strategies as st
from tests.inspection.models import KINDS, bundle, transformer

from dragoman import Translator
from dragoman.base.errors import ConfigError, DataError
from dragoman.models.shapes import ConvolutionalConfig, RecurrentConfig, SSRUConfig, TransformerConfig
from dragoman.text.tokenizers.ids import Specials
from dragoman.text.tokenizers.mapped import Mapped
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.native.build import unavailable
from dragoman.translation.search.alignment import Aligning, Alignment, aligning_of, alignment_of, links_of
from dragoman.translation.search.engine import Hypothesis
from dragoman.translation.search.options import AttentionOf

LINES = ["The old woman sees 12 dogs.", "  A dog. ", "", "   ", "Is 日本 ﬁne?", "A dog.\u00a0Two"]
SAVED = Path(__file__).parents[2] / "saved" / "0.1" / "transformer"
TEXT = [
    ("The old dogs sleep, don't they?", "Die alten Hunde schlafen, nicht wahr?"),
    ("He sees a dog.", "Er sieht einen Hund."),
    ("The bird sings loudly.", "Der Vogel singt laut."),
]
CONFIGS = {
    "bpe": TokenizerConfig(kind="bpe", vocab_size=330),
    "lower": TokenizerConfig(kind="bpe", vocab_size=330, lowercase=True),
    "lower-source": TokenizerConfig(kind="unigram", vocab_size=330, lowercase="source"),
    "characters": TokenizerConfig(kind="characters", vocab_size=320),
    "words": TokenizerConfig(kind="words", vocab_size=60),
    "no-bytes": TokenizerConfig(kind="bpe", vocab_size=80, byte_fallback=False),
}
TRAINED = {name: Tokenizer.train(TEXT, config) for name, config in CONFIGS.items()}


def diagonal(tokenizer: Tokenizer, line: str, text: str, read: str | None = None) -> Alignment:
    """The alignment if the step that reads target token j attends to source token j, or to the last."""
    read = line.strip() if read is None else read
    (source,), (target,) = tokenizer.encode_source([read]), tokenizer.encode_target([text])
    rows = [[1.0 if i == min(t - 1, len(source) - 1) else 0.0 for i in range(len(source) + 1)]
            for t in range(len(target) + 1)]  # fmt: skip
    hypothesis = Hypothesis(tuple(target), 0.0, 0.0, (), False, tuple(map(tuple, rows)))
    return alignment_of(
        tokenizer, line, read, source, text, tokenizer.spans(text, "target"), hypothesis, reading=True
    )


# From weights to links


ROWS = [[0.9, 0.1, 0.0], [0.2, 0.7, 0.1], [0.8, 0.2, 0.0]]


def test_a_token_is_linked_by_the_step_that_reads_or_predicts_it() -> None:
    spans = [(0, 1), (2, 3)]
    assert links_of(ROWS, spans, spans, reading=True) == ((0, 1), (1, 0))
    assert links_of(ROWS, spans, spans, reading=False) == ((0, 0), (1, 1))


def test_only_tokens_with_text_are_linked() -> None:
    assert links_of(ROWS, [(0, 0), (2, 3)], [(0, 1), (2, 2)], reading=True) == ((1, 0),)
    assert links_of(ROWS, [(0, 0), (2, 2)], [(0, 1), (2, 3)], reading=True) == ()


def test_the_end_of_the_source_is_never_linked() -> None:
    assert links_of([[0, 1], [0.1, 0.9]], [(0, 1)], [(0, 1)], reading=True) == ((0, 0),)


# From tokens to words


def test_words_are_linked_if_any_of_their_tokens_are() -> None:
    source, target = ((0, 2), (2, 4), (5, 6), (6, 6)), ((0, 3), (3, 4), (5, 8))
    alignment = Alignment("Hund !", "dogs yes", source, target, ((0, 0), (1, 1), (2, 2), (0, 2)))
    assert alignment.words() == ((0, 0), (0, 1), (1, 1))
    assert alignment.pharaoh() == "0-0 0-1 1-1"


def test_a_token_may_have_several_words() -> None:
    alignment = Alignment(
        "  of the  dog", "des Hundes", ((2, 8), (10, 13)), ((0, 3), (4, 10)), ((0, 0), (1, 1))
    )
    assert alignment.words() == ((0, 0), (1, 0), (2, 1))


def test_without_words_there_is_nothing() -> None:
    assert Alignment("  ", "", (), (), ()).pharaoh() == ""


# Spans


@pytest.mark.parametrize("name", TRAINED)
@given(
    line=st.text(st.sampled_from("ThdDogsİΣΆß,. 日🙂\u0301\u00a0\u2581ﬁ½"), max_size=20),
    text=st.text(st.sampled_from("HuntDEİ🙂é .▁"), max_size=20),
)
def test_spans_are_the_places_of_the_tokens(name: str, line: str, text: str) -> None:
    """Every character but spaces has a token, in order, and the tokens' texts are there."""
    tokenizer = TRAINED[name]
    alignment = diagonal(tokenizer, line, text)
    for spans, whole in ((alignment.source, line), (alignment.target, text)):
        reached = 0
        for start, end in spans:
            assert 0 <= start <= end <= len(whole)
            assert not whole[reached:start].strip()
            reached = max(reached, end)
        assert not whole[reached:].strip()
        assert list(spans) == sorted(spans)
    (ids,) = tokenizer.encode_source([line.strip()])
    for piece, (start, end) in zip(tokenizer.source_pieces(ids), alignment.source, strict=True):
        known = piece.replace("▁", "")
        shown = line[start:end]
        if tokenizer.config.lowercase:
            shown = shown.lower()
        if known and not piece.startswith("<") and "▁" not in shown:
            assert known in shown


def test_the_bytes_of_a_character_have_its_span() -> None:
    alignment = diagonal(TRAINED["bpe"], " a 🙂.", "🙂")
    pieces = TRAINED["bpe"].source_pieces(TRAINED["bpe"].encode_source(["a 🙂."])[0])
    first = pieces.index("<0xF0>")
    assert alignment.source[first : first + 4] == ((3, 4),) * 4
    assert alignment.target[-4:] == ((0, 1),) * 4
    assert alignment.words() == ((0, 0), (1, 0))


def test_lower_case_may_be_longer() -> None:
    line = "İİ Dogs"  # each İ becomes two characters
    spans = diagonal(TRAINED["lower"], line, "x").source
    assert max(end for _, end in spans) == len(line)
    assert {line[a:b] for a, b in spans} >= {"İ"}
    assert spans[-1][0] >= 3


def test_text_that_looks_like_a_byte_is_text() -> None:
    line = "<0xE4>"
    alphabet = Tokenizer.train([("a b", "a b")], replace(CONFIGS["no-bytes"], vocab_size=8))
    assert len(alphabet.encode_source([line])[0]) == 2  # a space and one unknown token
    assert alphabet.source_spans(line) == [(0, 0), (0, 6)]


@pytest.fixture(scope="module")
def marian() -> Tokenizer:
    """SentencePiece with its default normalisation, NFKC, and two target languages."""
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["The dog sees a bird.", "We fin d 1 2 cm (here), " + '" .: %'] * 20),
        model_writer=writer, vocab_size=60, hard_vocab_limit=False, minloglevel=2,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_proto=writer.getvalue())
    own = [processor.id_to_piece(i) for i in range(3, len(processor))]
    specials = Specials(pad=len(own) + 4, start=len(own) + 4, end=0, unknown=1)
    vocabulary = Mapped(writer.getvalue(), ["</s>", "<unk>", ">>deu<<", ">>fra<<", *own, "<pad>"], specials)
    config = TokenizerConfig(kind="mapped", shared=False)
    return Tokenizer(config, vocabulary, vocabulary, specials=specials)


def covered(alignment: Alignment, line: str) -> str:
    return "".join(line[a:b] for a, b in alignment.source)


def test_normalised_text_is_found_where_it_was(marian: Tokenizer) -> None:
    line = "The  ﬁne\u3000ｄｏｇ ①"  # NFKC: a ligature, a wide space and letters, a digit
    alignment = diagonal(marian, line, "a")
    words = [line[a:b] for a, b in alignment.source]
    assert "".join(words).replace(" ", "") == "Theﬁneｄｏｇ①"
    assert words[-1] == "①"


@pytest.mark.parametrize("indent", ["", "  "])
def test_the_token_of_a_language_has_no_text(marian: Tokenizer, indent: str) -> None:
    plain = diagonal(marian, indent + "The dog ", "a dog")
    added = diagonal(marian, indent + "The dog ", "a dog", read=">>fra<< The dog")
    typed = diagonal(marian, indent + ">>fra<< The dog ", "a dog")

    at = len(indent)
    assert added.source == ((at, at), *plain.source)
    assert typed.source == ((at + 7, at + 7), *((a + 8, b + 8) for a, b in plain.source))
    assert all(link[0] for link in added.links)
    assert {s for s, _ in typed.words()} == {s + 1 for s, _ in added.words()} <= {1, 2}


def test_a_language_that_the_model_lacks_is_text(marian: Tokenizer) -> None:
    line = ">>xyz<< dog"
    assert covered(diagonal(marian, line, "a"), line) == ">>xyz<<dog"


def test_punctuation_is_found_where_it_was(marian: Tokenizer) -> None:
    pytest.importorskip("sacremoses")
    tokenizer = Tokenizer(
        replace(marian.config, punctuation="en"), *marian.vocabularies, specials=marian.specials
    )
    line = " We sees… (the „dog“) 1\u00a02 %."
    alignment = diagonal(tokenizer, line, "a")
    dog = line.index("dog")
    assert (dog, dog + 1) in alignment.source or (dog, dog + 3) in alignment.source
    assert line[alignment.source[-1][0] : alignment.source[-1][1]] == "."
    assert {line[a:b] for a, b in alignment.source} >= {"…", "„", "“", "%"}


# Translators


@pytest.mark.parametrize("engine", ["pytorch", "native"])
def test_a_translation_has_the_alignment_that_its_attention_gives(engine: Any) -> None:
    if engine == "native" and unavailable() is not None:
        pytest.skip("no native engine here")
    translator = Translator.of(bundle(transformer()), engine=engine)
    options: dict[str, Any] = {"max_extra_tokens": 4, "n_best": 2}
    plain = translator.translate(LINES, attention="2", **options)
    found = translator.translate(LINES, alignment=True, split=False, **options)
    for one, other in zip(found, plain, strict=True):
        for aligned, shown in zip([one, *one.alternatives], [other, *other.alternatives], strict=True):
            assert (aligned.text, aligned.attention, shown.alignment) == (shown.text, (), None)
            alignment = aligned.alignment
            assert alignment is not None
            assert (alignment.source_text, alignment.target_text) == (aligned.source, aligned.text)
            assert len(alignment.target) == len(aligned.tokens)
            assert alignment.links == links_of(
                shown.attention, alignment.source, alignment.target, reading=False
            )
    assert found[0].alignment is not None
    assert found[0].alignment.links
    assert [one.alignment.pharaoh() for one in found[2:4] if one.alignment] == ["", ""]


@pytest.mark.parametrize("engine", ["pytorch", "native"])
def test_given_translations_align_as_the_search_does(engine: Any) -> None:
    if engine == "native" and unavailable() is not None:
        pytest.skip("no native engine here")
    translator = Translator.load(SAVED, device="cpu", engine=engine)
    lines = ["There is a garden table.", "She did not watch TV.", ""]
    texts = ["Es gibt einen  Tisch 🙂. ", "Sie sah nicht fern.", ""]
    found = translator.align(lines, texts)
    scored = translator.score(lines, texts, attention="1", alignment=True)
    searched = translator.translate(lines, attention="1", alignment=True, prefix=texts, max_extra_tokens=4)

    assert found == [one.alignment for one in scored]  # the penultimate of two layers
    for given_, forced, text in zip(found, searched, texts, strict=True):
        assert forced.alignment is not None
        assert given_.target_text == text
        shared = {(s, t) for s, t in given_.links if t < len(given_.target) - 1}
        if "  " not in text:  # a prefix is stripped
            assert shared <= set(forced.alignment.links)


def test_attention_chooses_what_aligns_and_is_returned() -> None:
    translator = Translator.of(bundle(transformer()))
    line = LINES[:1]
    (chosen,) = translator.translate(line, attention="3.2", alignment=True, max_extra_tokens=4)
    (alone,) = translator.translate(line, attention="3.2", max_extra_tokens=4)
    assert chosen.attention == alone.attention
    assert chosen.alignment is not None
    assert chosen.alignment.links == links_of(
        alone.attention, chosen.alignment.source, chosen.alignment.target, reading=False
    )


def test_a_source_that_is_cut_has_the_tokens_that_were_read() -> None:
    translator = Translator.of(bundle(transformer()))
    (one,) = translator.translate(LINES[:1], alignment=True, max_source_tokens=3, max_extra_tokens=4)
    assert one.alignment is not None
    assert one.truncated
    assert len(one.alignment.source) == 3


def test_a_line_break_in_a_translation_moves_nothing() -> None:
    own = bundle(transformer())
    newline = own.tokenizer.encode_target(["\n"])[0][-1]
    translator = Translator.of(replace(own, generation=replace(own.generation, renormalize=False)))
    (one,) = translator.translate(["A dog."], alignment=True, prefix="A\nb", max_extra_tokens=2)
    assert newline in own.tokenizer.encode_target([one.text.replace(" ", "\n")])[0]
    assert one.text.startswith("A b")
    assert one.alignment is not None
    assert one.alignment.target[-1][1] == len(one.text.rstrip())


def test_numbers_of_lines_must_agree() -> None:
    with pytest.raises(DataError, match="2 sources and 1 translations"):
        Translator.of(bundle(transformer())).align(["a", "b"], ["a"])


@pytest.mark.parametrize("kind", KINDS)
def test_every_model_with_attention_aligns(kind: str) -> None:
    translator = Translator.of(bundle(KINDS[kind], dtype=torch.float32))
    lines = LINES[:1]
    if getattr(KINDS[kind], "attention", "") == "none":
        with pytest.raises(ConfigError, match="no attention to align"):
            translator.stream(lines, alignment=True)
        with pytest.raises(ConfigError, match="no attention to align"):
            translator.align(lines, lines)
    else:
        (one,) = translator.translate(lines, alignment=True, max_extra_tokens=4)
        assert one.alignment is not None
        assert len({t for _, t in one.alignment.links}) == sum(a < b for a, b in one.alignment.target)


@pytest.mark.parametrize(
    ("config", "attention"),
    [
        (TransformerConfig(decoder_layers=6), AttentionOf(5)),
        (TransformerConfig(decoder_layers=1), AttentionOf(1)),
        (SSRUConfig(decoder_layers=2), AttentionOf(1)),
        (RecurrentConfig(attention="dot"), AttentionOf(1)),
        (ConvolutionalConfig(decoder_layers=4), AttentionOf(3)),
    ],
)
def test_the_default_fits_any_depth(config: Any, attention: AttentionOf) -> None:
    assert aligning_of(config, None) == Aligning(attention)


def test_what_has_no_attention_cannot_align() -> None:
    assert aligning_of(RecurrentConfig(), None) is None


@pytest.mark.parametrize("engine", ["pytorch", "native"])
def test_a_trained_head_aligns_when_it_reads(engine: Any) -> None:
    if engine == "native" and unavailable() is not None:
        pytest.skip("no native engine here")
    own = bundle(transformer())
    trained = Translator.of(replace(own, alignment=AttentionOf(1, 2)), engine=engine)
    plain = Translator.of(own, engine=engine)
    options: dict[str, Any] = {"max_extra_tokens": 4}
    (found,) = trained.translate(LINES[:1], alignment=True, **options)
    (named,) = trained.translate(LINES[:1], alignment=True, attention="1.2", **options)
    (other,) = trained.translate(LINES[:1], alignment=True, attention="2", **options)
    (shown,) = plain.translate(LINES[:1], alignment=True, attention="1.2", **options)

    alignment = found.alignment
    assert alignment is not None
    assert alignment == named.alignment
    assert alignment.links == links_of(shown.attention, alignment.source, alignment.target, reading=True)
    assert alignment != shown.alignment
    assert other.alignment == plain.translate(LINES[:1], alignment=True, **options)[0].alignment
