"""What a model reads beside a line: notes on its terms and the translation of a similar line."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import pytest

from dragoman.text.guidance import (
    CONTEXT_CHARACTERS,
    CONTEXT_TOKENS,
    Context,
    Guidance,
    Match,
    Note,
    combined,
    marks_of,
    reading,
)
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig

LINE = "The print preview opens."
PAIRS = [(LINE, "Die Druckvorschau wird geöffnet."), ("Close the preview.", "Vorschau schließen.")] * 4


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=340))


@pytest.fixture(scope="module")
def lowercase() -> Tokenizer:
    return Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=340, lowercase="source"))


def read(tokenizer: Tokenizer, line: str, guidance: Guidance) -> tuple[str, list[int]]:
    """The text that a model reads, with a letter for each mark, and the line's own tokens in it."""
    (tokens,) = tokenizer.encode_source([line])
    marks = marks_of(tokenizer)
    assert marks is not None
    found = reading(tokenizer, line, tokens, guidance)
    assert [found.tokens[place] for place in found.own] == list(tokens)
    letters = dict(zip(marks, ["<t>", "<a>", "<e>", "<m>", "<s>", "<c>", "<f>", "<i>"], strict=True))
    pieces = [
        letters.get(token) or piece
        for token, piece in zip(found.tokens, tokenizer.source_pieces(found.tokens), strict=True)
    ]
    return "".join(pieces).replace("▁", " "), list(found.own)


def test_a_note_stands_behind_its_term(tokenizer: Tokenizer) -> None:
    text, _ = read(tokenizer, LINE, Guidance(notes=(Note(4, 17, "Druckvorschau"),)))
    assert text == " The<t> print preview<a> Druckvorschau<e> opens."


def test_a_hidden_note_stands_for_its_term(tokenizer: Tokenizer) -> None:
    notes = (Note(0, 3, "Die", hidden=True), Note(4, 17, "Druckvorschau", hidden=True), Note(18, 24, "auf"))
    (tokens,) = tokenizer.encode_source([LINE])
    found = reading(tokenizer, LINE, tokens, Guidance(notes=notes))
    marks = marks_of(tokenizer)
    assert marks is not None
    letters = dict(zip(marks, ["<t>", "<a>", "<e>", "<m>", "<s>", "<c>", "<f>", "<i>"], strict=True))
    pieces = tokenizer.source_pieces(found.tokens)
    text = "".join(letters.get(token) or piece for token, piece in zip(found.tokens, pieces, strict=True))
    assert text.replace("▁", " ") == "<t><a> Die<e><t><a> Druckvorschau<e><t> opens.<a> auf<e>"
    # Each token of the line has a place: its own, or the mark of its term.
    assert len(found.own) == len(tokens)
    for place, token in zip(found.own, tokens, strict=True):
        assert found.tokens[place] in (token, marks.term)


def test_notes_at_both_edges_and_side_by_side(tokenizer: Tokenizer) -> None:
    notes = (Note(0, 3, "Die"), Note(4, 9, "Druck"), Note(10, 17, "Vorschau"), Note(18, 24, "öffnet."))
    text, _ = read(tokenizer, LINE, Guidance(notes=notes))
    assert text == (
        "<t> The<a> Die<e><t> print<a> Druck<e><t> preview<a> Vorschau<e><t> opens.<a> öffnet.<e>"
    )


def test_a_match_stands_behind_the_line(tokenizer: Tokenizer) -> None:
    match = Match("The preview opens.", "Die Vorschau wird geöffnet.", 80)
    assert read(tokenizer, LINE, Guidance(match=match, reads_match=True))[0] == (
        " The print preview opens.<m> Die Vorschau wird geöffnet."
    )
    assert read(tokenizer, LINE, Guidance(match=match))[0] == " The print preview opens."


def test_a_context_stands_behind_all_and_the_formality_before(tokenizer: Tokenizer) -> None:
    context = Context("Close the preview.", "Vorschau schließen.")
    match = Match("The preview opens.", "Vorschau", 80)
    both = Guidance(match=match, reads_match=True, context=context, formality="informal")
    assert read(tokenizer, LINE, both)[0] == (
        "<i> The print preview opens.<m> Vorschau<c> Close the preview.<a> Vorschau schließen."
    )
    alone = Guidance(context=Context("Close the preview."))
    assert read(tokenizer, LINE, alone)[0] == " The print preview opens.<c> Close the preview."
    assert read(tokenizer, LINE, Guidance(formality="formal"))[0] == "<f> The print preview opens."


def test_the_end_of_a_long_context_is_read(tokenizer: Tokenizer) -> None:
    words = ["preview"] * CONTEXT_TOKENS + ["print"]
    text, own = read(tokenizer, LINE, Guidance(context=Context(" ".join(words))))
    (tokens,) = tokenizer.encode_source([LINE])
    found = reading(tokenizer, LINE, tokens, Guidance(context=Context(" ".join(words))))
    assert len(found.tokens) == len(tokens) + 1 + CONTEXT_TOKENS
    assert own == list(range(len(tokens)))
    assert text.endswith(f" {words[-1]}")


def test_a_book_of_context_is_not_cut_into_tokens(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tokens,) = tokenizer.encode_source([LINE])
    words = "print preview " * 10_000
    short = reading(tokenizer, LINE, tokens, Guidance(context=Context(words[-1400:], words[-1400:])))
    vocabulary, given = tokenizer.vocabularies[0], list[int]()
    encode = type(vocabulary).encode

    def measured(self: Any, lines: Sequence[str], **options: Any) -> Any:
        given.extend(map(len, lines))
        return encode(self, lines, **options)

    monkeypatch.setattr(type(vocabulary), "encode", measured)
    assert reading(tokenizer, LINE, tokens, Guidance(context=Context(words, words))) == short
    assert max(given) <= CONTEXT_CHARACTERS


def test_the_context_is_lower_cased_as_the_source(lowercase: Tokenizer) -> None:
    text, _ = read(lowercase, LINE, Guidance(context=Context("The", "Die")))
    assert text == " the print preview opens.<c> the<a> Die"


def test_the_translation_keeps_its_capitals(lowercase: Tokenizer) -> None:
    text, _ = read(lowercase, LINE, Guidance(notes=(Note(10, 17, "Vorschau"),)))
    assert text == " the print<t> preview<a> Vorschau<e> opens."


def test_a_note_outside_the_line_is_not_read(tokenizer: Tokenizer) -> None:
    assert read(tokenizer, LINE, Guidance(notes=(Note(90, 95, "x"),)))[0] == " The print preview opens."


def test_no_text_has_a_mark(tokenizer: Tokenizer) -> None:
    marks = marks_of(tokenizer)
    assert marks is not None
    assert len({*marks}) == len(marks)
    hostile = [
        "<0xC0>",
        "\udcc0".encode("utf-8", "surrogatepass").decode("latin-1"),
        "\u00c0\u00c1\u00f5\u00ff",
    ]
    hostile += [chr(a) + chr(b) for a, b in product((0x80, 0x7FF, 0xFFFF, 0x10FFFF), repeat=2)]
    for ids in tokenizer.encode_source(hostile):
        assert not {*ids} & {*marks}


def test_a_vocabulary_of_words_has_no_marks() -> None:
    words = Tokenizer.train(PAIRS, TokenizerConfig(kind="words"))
    assert marks_of(words) is None
    (tokens,) = words.encode_source([LINE])
    assert list(reading(words, LINE, tokens, Guidance(phrases=(("Druck",),))).tokens) == list(tokens)
    with pytest.raises(ValueError, match="no marks"):
        reading(words, LINE, tokens, Guidance(notes=(Note(0, 3, "Die"),)))


def test_what_is_said_twice_counts_once() -> None:
    one = Guidance(notes=(Note(4, 9, "a"),), phrases=(("x",), ("y",)), terms=(("x",),))
    other = Guidance(
        notes=(Note(0, 3, "b"), Note(4, 6, "c"), Note(9, 12, "d")), phrases=(("y",),), terms=(("x",), ("z",))
    )
    assert combined([one, other]) == Guidance(
        notes=(Note(0, 3, "b"), Note(4, 9, "a"), Note(9, 12, "d")),
        phrases=(("x",), ("y",)),
        terms=(("x",), ("z",)),
    )


def test_joined() -> None:
    low, high = Match("a", "b", 60), Match("c", "d", 90)
    terms = Guidance(notes=(Note(4, 5, "x"),), phrases=(("y",),))
    assert combined([None, None]) is None
    assert combined([None, terms]) is terms
    assert combined([terms, Guidance(match=low), Guidance(notes=(Note(0, 1, "z"),), match=high)]) == Guidance(
        notes=(Note(0, 1, "z"), Note(4, 5, "x")), phrases=(("y",),), match=high
    )
