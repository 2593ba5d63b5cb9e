"""`dragoman memory`: keep earlier translations in a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dragoman.base.errors import ConfigError, DataError
from dragoman.cli.input import keep_apart
from dragoman.cli.options import Commands, Flag, Json, Quiet, argument
from dragoman.cli.outcome import tell, to_json, waiting

if TYPE_CHECKING:
    from dragoman.translation.memory.store import FuzzyMatch, TranslationMemory

memory = Commands(
    help="""Keep translations, find them again, and exchange them with other programs.

    \b
      dragoman memory import app.tm old.tmx
      dragoman memory add app.tm "Save the file." "Die Datei speichern."
      dragoman memory search app.tm "Save the files."
      dragoman translate MODEL new.txt --memory app.tm""",
    no_args_is_help=True,
)

File = Annotated[Path, argument("FILE", "A translation memory.")]
SourceLanguage = Annotated[str | None, Flag("For a new memory: the language of the sources.", metavar="CODE")]
TargetLanguage = Annotated[
    str | None, Flag("For a new memory: the language of the translations.", metavar="CODE")
]
Author = Annotated[str, Flag("Who translated.", metavar="NAME")]


@memory.command("add", short_help="Add one translation.")
def memory_add(
    file: File,
    source: Annotated[str, argument("SOURCE", "The text.")],
    target: Annotated[str, argument("TARGET", "Its translation.")],
    author: Author = "",
    note: Annotated[str, Flag("A note.")] = "",
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    quiet: Quiet = False,
) -> None:
    """Add a translation. It is used first for its text from now on. A missing memory is made.

    \b
      dragoman memory add app.tm "Save the file." "Die Datei speichern."
    """
    with _made(file, (source_language, target_language)) as opened:
        new = opened.add(source, target, author=author, note=note)
    tell("added" if new else "it was there; it is now the newest", quiet=quiet)


@memory.command("search", short_help="Find a text, or similar ones.")
def memory_search(
    file: File,
    text: Annotated[str, argument("TEXT", "The text.")],
    least: Annotated[float, Flag("Find texts at least this similar, in percent.", metavar="N")] = 70.0,
    most: Annotated[int, Flag("Print up to this many.", at_least=1)] = 5,
    as_json: Json = False,
) -> None:
    """Print the pairs whose source is equal or similar: percent<TAB>source<TAB>translation.

    Exits with 0 also if nothing is found.

    \b
      dragoman memory search app.tm "Save the files."
    """
    from dragoman.translation.memory.store import TranslationMemory

    with TranslationMemory(file) as opened:
        found = opened.search(text, least=least, most=most)
    if as_json:
        print(to_json([_found(one) for one in found]))
        return
    for one in found:
        cells = (" ".join(side.split()) for side in (one.pair.source, one.pair.target))
        print(f"{percent(one.score)}\t" + "\t".join(cells))


@memory.command("import", short_help="Add the pairs of files.")
def memory_import(
    file: File,
    files: Annotated[list[str], argument("INPUT...", "A .tmx, .tsv or .jsonl file, or two files of text.")],
    source_language: SourceLanguage = None,
    target_language: TargetLanguage = None,
    author: Author = "",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add the pairs of a TMX, TSV or JSONL file, or of two files of lines. Known pairs are skipped.

    A missing memory is made, for the languages of the files or the given ones.

    \b
      dragoman memory import app.tm old.tmx
      dragoman memory import app.tm app.en app.de
    """
    from dragoman.translation.memory.exchange import import_memory, languages_of

    given = source_language, target_language
    languages = given if file.exists() else languages_of(files, given)
    with _made(file, languages) as opened, waiting("importing", shown=not quiet):
        added = import_memory(opened, files, author=author)
    if as_json:
        print(to_json({"new": added.new, "known": added.known, "blank": added.blank}))
    else:
        skipped = f"{added.known:,} were there" + (f", {added.blank:,} are blank" if added.blank else "")
        tell(f"{added.new:,} pairs added, {skipped}", quiet=quiet)


@memory.command("export", short_help="Write the pairs to a file.")
def memory_export(
    file: File, output: Annotated[Path, argument("OUTPUT", "A .tmx or .tsv file.")], quiet: Quiet = False
) -> None:
    """Write all pairs as TMX, which other programs read, or as TSV. The newest come last.

    \b
      dragoman memory export app.tm app.tmx
    """
    from dragoman.translation.memory.exchange import export_memory
    from dragoman.translation.memory.store import TranslationMemory

    keep_apart(output, [file])
    with TranslationMemory(file) as opened, waiting("exporting", shown=not quiet):
        count = export_memory(opened, output)
    tell(f"{count:,} pairs written to {output}", quiet=quiet)


@memory.command("info", short_help="Show the content of a memory, and check it.")
def memory_info(file: File, as_json: Json = False) -> None:
    """Show the content of a memory, and check that the file is whole. Exits with 3 if it is damaged.

    \b
      dragoman memory info app.tm
    """
    from dragoman.base.tables import aligned
    from dragoman.translation.memory.store import TranslationMemory

    with TranslationMemory(file) as opened:
        about = opened.about()
    changed = about.changed.isoformat(timespec="seconds") if about.changed else None
    if as_json:
        print(to_json({**vars(about), "changed": changed}))
        return
    rows = [
        ["languages", f"{about.source_language} to {about.target_language}"],
        ["pairs", f"{about.pairs:,}"],
        ["different sources", f"{about.segments:,}"],
        ["taken over", f"{about.used:,} times"],
        ["newest", changed or "-"],
        ["size", f"{about.bytes / 1e6:,.1f} MB"],
    ]
    print("\n".join(aligned(rows)))


def percent(score: float) -> str:
    """Return a likeness as whole percents. Only equal texts have 100."""
    return f"{min(round(score), 99) if score < 100 else 100}%"


@contextmanager
def _made(file: Path, languages: tuple[str | None, str | None]) -> Iterator[TranslationMemory]:
    """The memory at `file`, created if it is missing. A new one is deleted if the text is bad."""
    made = not os.path.lexists(file)
    try:
        with _opened(file, languages) as opened:
            yield opened
    except DataError:
        if made:
            file.unlink(missing_ok=True)
        raise


def _opened(file: Path, languages: tuple[str | None, str | None]) -> TranslationMemory:
    from dragoman.translation.memory.store import TranslationMemory

    source, target = languages
    if os.path.exists(file) and not (source and target):
        opened = TranslationMemory(file)
        if source in (None, opened.source_language) and target in (None, opened.target_language):
            return opened
        source, target = source or opened.source_language, target or opened.target_language
        opened.close()
    if source is None or target is None:
        raise ConfigError(
            f"{file}: which languages are its sources and translations in?",
            hint="pass --source-language and --target-language",
        )
    if not file.absolute().parent.is_dir():
        raise DataError(f"{file}: the folder does not exist", hint="make it first")
    return TranslationMemory.create(file, source_language=source, target_language=target)


def _found(one: FuzzyMatch) -> dict[str, object]:
    pair = one.pair
    times = {"created": pair.created, "changed": pair.changed}
    return {
        "score": round(one.score, 1),
        "source": pair.source,
        "target": pair.target,
        **{name: when.isoformat() if when else None for name, when in times.items()},
        **{name: getattr(pair, name) for name in ("author", "origin", "note", "used")},
    }
