"""Documents of two languages: which of them belong together, their sentences, and the pairs of these."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.html.document import bundled, inert, scripted_page
from dragoman.base.languages import language_name, same
from dragoman.base.tables import listing
from dragoman.data.align import Bead, Prose
from dragoman.documents.context.around import plain_text
from dragoman.documents.files import read_bytes
from dragoman.documents.flat import parts
from dragoman.documents.formats import Format, Languages, document_format, format_of_name
from dragoman.documents.segment import Code
from dragoman.text.corpora.languages import is_language
from dragoman.text.corpora.lines import TextFile, unreadable
from dragoman.text.corpora.shards import files_of
from dragoman.text.segmenter import between, segment_text

LINES = "lines"
_TOKEN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2,}(?:[-_](?:[A-Z][a-z]{3}|[A-Z]{2}))?(?![A-Za-z0-9])")
_MARKUP = re.compile(r"""</?[A-Za-z][\w-]*(?:\s(?:"[^"]*"|'[^']*'|[^>"'])*)?>""")
_SEPARATORS = re.compile(r"[./_\s-]+")


def languages_of_names(names: Sequence[str], given: Sequence[str | None]) -> Languages:
    """The languages of both sides: the given ones, else what the names say and the other name does not.

    Raises ConfigError if a language is not known, or both are the same.
    """
    tokens = [[one for part in Path(name).parts for one in _tokens(part)] for name in names]
    found = []
    for side, (name, code) in enumerate(zip(names, given, strict=True)):
        own = [one for one in tokens[side] if one not in tokens[1 - side] and is_language(one)]
        language = code or next((one for one in own[::-1] if language_name(one) != one), None)
        if language is None:
            raise ConfigError(
                f"{name}: which language is it in?",
                hint=f"pass --{('source', 'target')[side]}-language, or name it as in manual.en.html",
            )
        found.append(language.replace("_", "-"))
    if found[0] == found[1]:
        raise ConfigError(f"both sides are in {found[0]}", hint="name documents of two languages")
    return Languages(*found)


def _tokens(name: str) -> list[str]:
    return _TOKEN.findall(name if format_of_name(Path(name)) is None else Path(name).stem)


def couples_of(names: Sequence[str], languages: Languages) -> tuple[list[tuple[Path, Path]], list[Path]]:
    """The files of two names that belong together, and those without a partner.

    A name is a file, a folder or a pattern. Files of folders and patterns belong together if their names
    differ in nothing but the language and the suffix of the format. Raises DataError if nothing is found.
    """
    files = [_files(name) for name in names]
    if all(len(own) == 1 for own in files) and not any(os.path.isdir(name) for name in names):
        return [(files[0][0], files[1][0])], []
    tops = [
        name if os.path.isdir(name) else os.path.commonpath([one.parent for one in own]) or "."
        for name, own in zip(names, files, strict=True)
    ]
    below = [{path.relative_to(top): path for path in own} for top, own in zip(tops, files, strict=True)]
    # A word of a name, such as "it", may be the code of a language.
    equal = below[0].keys() & below[1].keys() if not os.path.samefile(*tops) else set[Path]()
    sides: list[dict[str, Path]] = []
    for own, language in zip(below, (languages.source, languages.target), strict=True):
        side: dict[str, Path] = {}
        for place, path in own.items():
            key = str(place) if place in equal else _key(place, language)
            if key in side:
                raise DataError(
                    f"{side[key]} and {path}: the same name but for the language and the format",
                    hint="give one of them another name, or name the two documents to align",
                )
            side[key] = path
        sides.append(side)
    alone = [path for a, b in (sides, sides[::-1]) for key, path in a.items() if key not in b]
    couples = [(path, sides[1][key]) for key, path in sides[0].items() if key in sides[1]]
    if not couples:
        raise DataError(
            f"{names[0]} and {names[1]}: no two names fit: {listing([*map(str, alone)], most=4)}",
            hint="name them alike, as in en/manual.html and de/manual.html, or name two documents",
        )
    return couples, alone


def _files(name: str) -> list[Path]:
    if os.path.isdir(name):
        found = [Path(place, one) for place, _, names in os.walk(name) for one in names]
        inside = {one: f"/{one.relative_to(name).as_posix()}" for one in found if one.is_file()}
        found = sorted(one for one, path in inside.items() if "/." not in path)  # no hidden ones
    else:
        found = [Path(one) for one in files_of(name)]
    if not found:
        raise DataError(f"{name}: no document in this folder", hint="check the path")
    return found


def _key(path: Path, language: str) -> str:
    """The name of a file without its language and its format."""
    bare = path if format_of_name(path) is None else path.with_suffix("")
    plain = _TOKEN.sub(lambda one: "" if same(one[0], language) else one[0], bare.as_posix())
    return _SEPARATORS.sub("/", plain).strip("/").casefold()


def read_prose(path: Path, language: str, languages: Languages, format: Format | str | None = None) -> Prose:
    """The sentences of a document. Of a file with translations it reads these, if it has any.

    With the format `LINES` each line is a paragraph. Raises DataError if the file cannot be read.
    """
    try:
        if isinstance(format, str):
            texts = [*TextFile(str(path), path)]
        else:
            data = read_bytes(path)
            format = format or document_format(path, data)
            segments = format.parse(data, languages).segments
            contents = [one.target for one in segments if one.target] or [one.source for one in segments]
            texts = [
                plain_text(tuple(map(_shown, part)), labels=format.has_labels).removesuffix("¶")
                for content in contents
                for part in parts(content)
                if not isinstance(part, Code)
            ]
    except DataError as error:
        raise DataError(f"{path}: {str(error).removeprefix(f'{path}: ')}", hint=error.hint) from error
    except OSError as error:
        raise unreadable(str(path), error) from error
    sentences, begins = list[str](), list[bool]()
    for text in texts:
        own = segment_text(text, language, language, longest=None).sentences
        sentences += own
        begins += [True, *[False] * (len(own) - 1)][: len(own)]
    if not sentences:
        raise DataError(f"{path}: no text", hint="check that it is the right file")
    return Prose(sentences, language, begins)


def _shown(one: str | Code) -> str | Code:
    """Replace an element that is not to be translated, such as <code translate="no">, by its text."""
    if isinstance(one, str) or one.kind != "placeholder" or not _MARKUP.match(one.text):
        return one
    return one.shown or unescape(_MARKUP.sub("", one.text))


@dataclass(frozen=True)
class AlignedDocuments:
    """Two documents and their alignment."""

    name: str
    source: Prose
    target: Prose
    beads: list[Bead]

    def pairs(self, least: float) -> Iterator[tuple[str, str]]:
        """Yield the text of each bead with both sides and at least this confidence."""
        for one in self.beads:
            if all(one.sides) and one.confidence >= least:
                source, target = (
                    between(" ", "en", side.language).join(side.sentences[start:end])
                    for side, (start, end) in zip((self.source, self.target), one.spans, strict=True)
                )
                yield source, target

    def counts(self) -> dict[str, Any]:
        """The numbers of sentences, of beads of each kind, of pairs, and of those that stand elsewhere."""
        whole = [one for one in self.beads if all(one.sides)]
        return {
            "sentences": [len(self.source.sentences), len(self.target.sentences)],
            "beads": dict(Counter("{}-{}".format(*one.sides) for one in self.beads).most_common()),
            "pairs": len(whole),
            "moved": sum(one.moved for one in whole),
        }


def review_page(documents: Sequence[AlignedDocuments], least: float) -> str:
    """Return a page to check and correct the pairs: one file that needs no network."""
    tables = [
        {
            "name": one.name,
            "source": one.source.sentences,
            "target": one.target.sentences,
            "beads": [
                [b.start, b.end, b.target_start, b.target_end, b.confidence, b.moved] for b in one.beads
            ],
        }
        for one in documents
    ]
    languages = [side.language for side in (documents[0].source, documents[0].target)]
    data = {"data": inert({"languages": languages, "least": least, "documents": tables})}
    script = bundled("data/web/pairs.js")
    return scripted_page("Sentence pairs", script, data, name="pairs", styles=["data/web/pairs.css"])
