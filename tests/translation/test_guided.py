"""Translators that use lists of terms: what the engine is asked, and what a translation says of its terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import pytest

from dragoman import Translator
from dragoman.base.errors import ConfigError, DataError
from dragoman.documents.segment import Code, Segment, text_of
from dragoman.documents.translate import translate_segments
from dragoman.text.guidance import combined, marks_of
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.engine import Hypothesis, Request
from dragoman.translation.search.options import Sample
from dragoman.translation.terms.terms import Term, TermList

PAIRS = [
    (
        "Open the print preview. The file is closed.",
        "Öffnen Sie die Druckvorschauen. Die Datei ist geschlossen.",
    )
] * 4
TERMS = TermList(
    [Term("print preview", ("Druckvorschau", "Seitenvorschau")), Term("file", ("Datei",))], "en", "de"
)


@dataclass
class Scripted:
    """An engine that answers everything with the same text, and keeps what it was asked."""

    tokenizer: Tokenizer
    text: str = "Öffnen Sie die Druckvorschauen."
    asked: list[Request] = field(default_factory=list)

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int, lookahead: int
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        (tokens,) = self.tokenizer.encode_target([self.text])
        steps = len(tokens) + 1
        for number, request in enumerate(requests):
            self.asked.append(request)
            row = (1.0, *[0.0] * len(request.source))
            attention = (row,) * steps if request.attention else ()
            yield number, [Hypothesis(tuple(tokens), 0.0, 0.0, (0.0,) * steps, False, attention)]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=340))


def with_marks(*languages: str) -> Tokenizer:
    return Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=340, languages=languages))


def translator_of(tokenizer: Tokenizer, *reads: str) -> tuple[Translator, Scripted]:
    engine = Scripted(tokenizer)
    translator = Translator(
        tokenizer, cast(Any, engine), source_language="en", target_language="de", reads=reads
    )
    return translator, engine


def phrases_of(translator: Translator, line: str) -> list[list[str]]:
    """The forms of each term that the search is to put in."""
    found = combined(guide.guide([line])[0] for guide in translator.guides)
    return [] if found is None else [list(one.forms) for one in found.phrases]


def test_soft(tokenizer: Tokenizer) -> None:
    translator, engine = translator_of(tokenizer, "terms")
    using = translator.using(terms=TERMS)
    using.translate(["Open the print preview.", "Nothing."])
    marks = marks_of(tokenizer)
    assert marks is not None
    asked, plain = engine.asked
    assert [token for token in asked.source if token in marks] == list(marks[:3])
    begin, end = asked.source.index(marks.translated) + 1, asked.source.index(marks.end)
    assert tokenizer.decode(asked.source[begin:end]) == "Druckvorschau"
    assert not set(plain.source) & set(marks)
    assert phrases_of(using, "Open the print preview.") == []


def test_hard(tokenizer: Tokenizer) -> None:
    translator, engine = translator_of(tokenizer)
    using = translator.using(terms=TERMS)
    assert phrases_of(using, "Open the print preview.") == [["Druckvorschau", "Seitenvorschau"]]
    using.translate(["Open the print preview.", "Nothing."])
    asked, plain = engine.asked  # the first translation has its term
    assert list(asked.source) == tokenizer.encode_source(["Open the print preview."])[0]
    assert asked.rules == plain.rules == ()


def test_the_mode_can_be_chosen(tokenizer: Tokenizer) -> None:
    translator, _ = translator_of(tokenizer, "terms")
    assert phrases_of(translator.using(terms=TERMS, terms_mode="hard"), "The file.") == [["Datei"]]
    assert phrases_of(translator.using(terms=TERMS), "The file.") == []
    with pytest.raises(ConfigError, match="terms_mode = 'sofft'"):
        translator.using(terms=TERMS, terms_mode=cast(Any, "sofft"))


def test_soft_needs_a_model_that_reads_terms(tokenizer: Tokenizer) -> None:
    translator, _ = translator_of(tokenizer, "matches")
    with pytest.raises(ConfigError, match="not trained to read terms"):
        translator.using(terms=TERMS, terms_mode="soft")


def test_a_draw_cannot_have_hard_terms(tokenizer: Tokenizer) -> None:
    translator, _ = translator_of(tokenizer, "terms")
    translator.using(terms=TERMS).translate(["The file."], sample=Sample())
    with pytest.raises(ConfigError, match="hard terms cannot be used with sampling"):
        translator.using(terms=TERMS, terms_mode="hard").stream(["Nothing."], sample=Sample())


def test_several_lists(tokenizer: Tokenizer, tmp_path: Path) -> None:
    translator, _ = translator_of(tokenizer)
    (tmp_path / "own.csv").write_text("closed,geschlossen\n", encoding="utf-8")
    both = translator.using(terms=TERMS).using(terms=tmp_path / "own.csv")
    assert phrases_of(both, "The file is closed.") == [["Datei"], ["geschlossen"]]
    assert translator.guides == ()
    assert both.engine is translator.engine
    with pytest.raises(DataError, match="no such file"):
        translator.using(terms=tmp_path / "none.csv")


def test_several_lists_are_searched_as_one(tokenizer: Tokenizer) -> None:
    """The longest term wins, and no translation is forced beside its rival."""
    translator, _ = translator_of(tokenizer)
    other = TermList(
        [
            Term("preview", ("Vorschau",)),
            Term("file", ("Akte", "Datei")),
            Term("print preview", ("Ansicht",)),
        ],
        "en",
        "de",
    )
    both = translator.using(terms=TERMS).using(terms=other)
    assert phrases_of(both, "The print preview of the file.") == [
        ["Ansicht", "Druckvorschau", "Seitenvorschau"], ["Akte", "Datei"],
    ]  # fmt: skip


def test_lists_of_two_modes_are_both_used(tokenizer: Tokenizer) -> None:
    translator, engine = translator_of(tokenizer, "terms")
    both = translator.using(terms=TERMS, terms_mode="hard").using(
        terms=TermList([Term("open", ("öffnen",))], "en", "de")
    )
    both.translate(["Open the file."])
    marks = marks_of(tokenizer)
    assert marks is not None
    assert list(engine.asked[0].source).count(marks.term) == 2
    assert phrases_of(both, "Open the file.") == [["Datei"]]


def test_terms_of_other_languages_are_refused(tokenizer: Tokenizer) -> None:
    translator, _ = translator_of(tokenizer)
    french = TermList([Term("file", ("fichier",))], "en-GB", "fr")
    message = "the terms are from en-GB to fr, but the translator translates from en to de"
    with pytest.raises(ConfigError, match=message):
        translator.using(terms=french)
    with pytest.raises(ConfigError, match="from de to en, but"):
        translator.using(terms=TermList([Term("Datei", ("file",))], "de", "en"))

    translator, _ = translator_of(with_marks("de", "fr"))
    both = translator.using(terms=french).using(terms=TERMS)
    assert len(both.guides) == 2
    translator.using(terms=french).translate(["The file."], to="fr")
    with pytest.raises(ConfigError, match="from en-GB to fr, but the translator translates from en to de"):
        translator.using(terms=french).translate(["The file."], to="de")


def test_codes_of_three_letters_are_compared_with_those_of_two(tokenizer: Tokenizer) -> None:
    translator, _ = translator_of(tokenizer)
    translator.using(terms=TermList([Term("file", ("Datei",))], "eng", "ger"))
    with pytest.raises(ConfigError, match="from eng to fra, but"):
        translator.using(terms=TermList([Term("file", ("fichier",))], "eng", "fra"))


def test_a_target_language_is_found_by_any_of_its_codes(tokenizer: Tokenizer) -> None:
    translator, engine = translator_of(tokenizer)
    translator.translate(["Open the file"], to="deu")  # its only one

    several = with_marks("deu", "fra")
    translator, engine = translator_of(several)
    translator.translate(["Open the file"], to="de")
    wanted = several.encode_source([">>deu<< Open the file"])[0]
    assert list(engine.asked[-1].source) == wanted
    with pytest.raises(ConfigError, match="'es': this model does not translate to it"):
        translator.translate(["Open the file"], to="es")


@pytest.mark.parametrize("reads", [(), ("terms",)])
def test_a_translation_says_which_terms_it_has_not(tokenizer: Tokenizer, reads: tuple[str, ...]) -> None:
    translator, _ = translator_of(tokenizer, *reads)
    using = translator.using(terms=TERMS)
    lines = ["The print preview of the file.", "The print preview.", "Nothing."]
    assert [one.unused_terms for one in using.translate(lines)] == [("Datei",), (), ()]
    (one,) = using.translate(["The file. Files, and the print preview."])
    assert one.unused_terms == ("Datei",)
    assert translator.translate(["The file."])[0].unused_terms == ()


def test_the_language_token_does_not_move_a_note(tokenizer: Tokenizer) -> None:
    assert tokenizer.languages == ()
    line = ">>de<< Open the file"
    several = with_marks("de", "fr")
    translator, engine = translator_of(several, "terms")
    translator.using(terms=TERMS).translate(["Open the file"], to="de")
    marks = marks_of(several)
    assert marks is not None
    read = list(engine.asked[0].source)
    begin, end = read.index(marks.term) + 1, read.index(marks.translated)
    assert several.source_pieces(read[begin:end]) == several.source_pieces(
        several.encode_source([line])[0][-(end - begin) :]
    )
    assert "".join(several.source_pieces(read[begin:end])) == "▁file"


def test_alignment_leaves_out_what_is_read_beside_the_line(tokenizer: Tokenizer) -> None:
    translator, _ = translator_of(tokenizer, "terms")
    (one,) = translator.using(terms=TERMS).translate(["print preview"], attention="1.1")
    assert {len(row) for row in one.attention} == {len(tokenizer.encode_source(["print preview"])[0]) + 1}


def test_documents(tokenizer: Tokenizer) -> None:
    """A term across tags is found, and what is not used is marked."""
    translator, engine = translator_of(tokenizer, "terms")
    bold = Code("<b>", "open", 1), Code("</b>", "close", 1)
    segments = [
        Segment(("Open the print ", bold[0], "preview", bold[1], "."), where="line 1"),
        Segment(("Open the file.",), where="line 2"),
    ]
    results, counts = translate_segments(translator.using(terms=TERMS), segments)
    assert [result and result.doubts for result in results] == [(), ("term not used: Datei",)]
    assert counts.doubtful == 1
    assert results[0] is not None
    assert text_of(results[0].content) == engine.text
    marks = marks_of(tokenizer)
    assert marks is not None
    assert all(marks.term in request.source for request in engine.asked)


@pytest.mark.parametrize("reads", [(), ("terms",)])
def test_a_line_that_is_cut_has_the_terms_of_what_is_left(
    tokenizer: Tokenizer, reads: tuple[str, ...]
) -> None:
    line = "The file is closed. Open the print preview."
    (tokens,) = tokenizer.encode_source([line])
    kept = len(tokenizer.encode_source(["The file is closed."])[0])
    assert kept < len(tokens)
    translator, engine = translator_of(tokenizer, *reads)
    (found,) = translator.using(terms=TERMS).translate([line], max_source_tokens=kept, split=False)

    assert found.truncated
    assert found.unused_terms == ("Datei",)
    marks = [token for token in engine.asked[0].source if token in (marks_of(tokenizer) or ())]
    assert len(marks) == (3 if reads else 0)


def test_what_uses_no_terms_says_so(tokenizer: Tokenizer) -> None:
    translator, _ = translator_of(tokenizer)
    with pytest.raises(ConfigError, match="inspection does not use terms"):
        translator.using(terms=TERMS).inspect("The file.")
    translator.reverse = translator
    with pytest.raises(ConfigError, match="inspection does not use a reverse model"):
        translator.inspect("The file.")
