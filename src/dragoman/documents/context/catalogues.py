"""Catalogues of two languages, such as PO and XLIFF files, as parallel text with context."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from dragoman.base.errors import ConfigError, DataError
from dragoman.documents.content import START
from dragoman.documents.context.around import contexts_of, plain_text
from dragoman.documents.formats import Format, Languages, format_of_name
from dragoman.documents.segment import Status
from dragoman.text.corpora.corpus import Corpus, chained, open_corpus
from dragoman.text.corpora.lines import Line, unreadable
from dragoman.text.corpora.shards import files_of


def are_catalogues(names: Sequence[str | Path]) -> bool:
    """Whether all of the names are of PO, XLIFF, Qt or Xcode files."""
    return bool(names) and all(_format(name) is not None for name in names)


def open_parallel(names: Sequence[str | Path], *, languages: tuple[str | None, str | None]) -> Corpus:
    """Return the pairs of text files, as `open_corpus` does, or of catalogues. Raises their errors."""
    if are_catalogues(names):
        return open_catalogues(names, languages)
    return open_corpus(names, languages=languages)


def open_catalogues(names: Sequence[str | Path], languages: tuple[str | None, str | None]) -> Corpus:
    """Return the finished translations of the files as parallel text, in order and with their contexts.

    Raises ConfigError without languages, DataError for a file that cannot be read, or has no translations.
    """
    source, target = languages
    if not source or not target:
        raise ConfigError(
            f"{names[0]}: which languages are these?", hint="pass --source-language and --target-language"
        )
    files = [(path, form) for name in names for path in files_of(str(name)) if (form := _format(path))]
    return chained([_open(path, form, Languages(source, target)) for path, form in files])


def _format(name: str | Path) -> Format | None:
    """The format of a catalogue by its name; None for others, and for TMX, which has a reader of its own."""
    path = Path(name)
    found = format_of_name(path)
    if found is None or not found.bilingual or found.name == "tmx":
        return None
    if found.name == "qt" and path.is_file():  # "mono.ts" may be plain text in Tsonga
        with path.open("rb") as file:
            return found if b"<TS" in file.read(START) else None
    return found


def _open(path: str, form: Format, languages: Languages) -> Corpus:
    from dragoman.documents.files import read_bytes  # it loads the translator

    try:
        segments = form.parse(read_bytes(Path(path)), languages).segments
    except DataError as error:
        raise DataError(f"{path}: {error}", hint=error.hint) from error
    except OSError as error:
        raise unreadable(path, error) from error
    done = [one.state is Status.DONE and one.target is not None for one in segments]
    if not any(done):
        raise DataError(f"{path}: no finished translations", hint="check that it is the right file")
    contexts = contexts_of(segments, labels=form.has_labels)

    def lines() -> Iterator[Line]:
        for number, (one, context, use) in enumerate(zip(segments, contexts, done, strict=True), 1):
            if use:
                source, target = (
                    plain_text(text, labels=form.has_labels) for text in (one.source, one.target or ())
                )
                # Each is a document of its own, whose context is complete.
                yield Line(number, source, target, context.source if context else "", str(number))

    return Corpus(path, lines, (languages.source, languages.target), files=[path])
