"""Texts with markup: their words are translated, and their tags put back by word alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from dragoman.decoding.options import Decoding
from dragoman.documents.edits import Decoded
from dragoman.documents.formats import Languages
from dragoman.documents.markup.fragment import XmlFragment
from dragoman.documents.markup.html import Html
from dragoman.documents.translate import translate_segments

if TYPE_CHECKING:
    from dragoman.documents.segment import Document
    from dragoman.text.guidance import Match
    from dragoman.translator import Translator


def translate_markup(
    translator: Translator,
    texts: Sequence[str],
    markup: Literal["html", "xml"],
    ignored: frozenset[str],
    decoding: Decoding,
) -> list[tuple[str, Match | None]]:
    """Return the translation of each text, and what the memory has for it if it is one segment.

    Any text is read, also if it is malformed. No tag is lost. All texts are translated together.
    """
    documents = [_document(translator, text, markup, ignored, decoding) for text in texts]
    segments = [segment for document in documents for segment in document.segments]
    results, _ = translate_segments(translator, segments, decoding)
    answers: list[tuple[str, Match | None]] = []
    done = 0
    for document in documents:
        own = results[done : done + len(document.segments)]
        done += len(own)
        only = own[0] if len(own) == 1 else None
        answers.append((document.render(own).decode(), only.match if only else None))
    return answers


def _document(
    translator: Translator, text: str, markup: Literal["html", "xml"], ignored: frozenset[str], how: Decoding
) -> Document:
    names = frozenset(name.lower() for name in ignored)
    if markup == "xml":
        return XmlFragment(text, ignored=names, stand_ins=bool(translator.tokenizer.placeholders))
    languages = Languages(translator.source_language, how.to or translator.target_language)
    return Html(Decoded(text, "utf-8", b""), languages, True, names)
