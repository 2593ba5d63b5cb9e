"""Files and folders of documents: inputs, outputs, and failures.

A file is written whole or not at all, and only after it was read back. An error in one file of a folder does
not stop the others.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.base.files import write_whole
from dragoman.base.jobs import Journal
from dragoman.documents.formats import Format, Languages, document_format, format_named, format_of_name
from dragoman.documents.segment import Replacing, text_of
from dragoman.documents.translate import Counts, translate_document
from dragoman.text.guidance import Match
from dragoman.translation.search.options import Decoding
from dragoman.translation.translator import Translator

_LARGEST = 256 * 2**20  # bytes


@dataclass(frozen=True)
class Doubt:
    """A segment for a person to check."""

    file: str
    where: str
    source: str
    translation: str
    reasons: tuple[str, ...]
    match: Match | None = None  # the most similar text of the memory


@dataclass
class Outcome:
    """The result for the files."""

    counts: Counts = field(default_factory=Counts)
    doubts: list[Doubt] = field(default_factory=list)
    offers: list[Doubt] = field(default_factory=list)  # without reasons, but with a match
    failed: list[tuple[Path, DragomanError]] = field(default_factory=list)
    left_out: list[Path] = field(default_factory=list)  # files of a folder, see `left_out_of`

    def add(self, other: Outcome) -> None:
        """Count in the outcome of another file."""
        self.counts.add(other.counts)
        self.doubts += other.doubts
        self.offers += other.offers
        self.failed += other.failed

    def to_table(self) -> dict[str, Any]:
        """Return it as plain values, for JSON, without failures."""
        return {
            "counts": vars(self.counts),
            "doubts": [asdict(one) for one in self.doubts],
            "offers": [asdict(one) for one in self.offers],
        }

    @staticmethod
    def of_table(table: dict[str, Any]) -> Outcome:
        """Return the outcome that `to_table` wrote."""
        values = dict(table["counts"])
        counts = Counts(**{**values, "ways": Counter(values["ways"])})
        return Outcome(counts, [*map(_doubt, table["doubts"])], [*map(_doubt, table["offers"])])


def _doubt(row: dict[str, Any]) -> Doubt:
    match = None if row["match"] is None else Match(**row["match"])
    return Doubt(**{**row, "reasons": tuple(row["reasons"]), "match": match})


@dataclass(frozen=True)
class Task:
    """A document and the file for its translation, None for standard output."""

    source: Path
    output: Path | None
    format: Format | None  # None: by name or content


def tasks_of(
    paths: Sequence[Path],
    output: str | Path | None,
    format: Format | None = None,
    *,
    wanted: Callable[[Path], bool] | None = None,
) -> list[Task]:
    """Return a task for each file, and for each file of a known format in the folders.

    With `wanted`, files have no format, and it chooses the files of folders by their paths there. One file
    goes to the file `output`, or into it if that is a folder or ends in a slash; several, and folders, go
    into the folder `output`, each with its name. Raises ConfigError if two would go to the same file, if one
    would overwrite a source, or if several have no output folder; DataError if a path does not exist or
    nothing is found.
    """
    single = len(paths) == 1 and not os.path.isdir(paths[0]) and not str(output).endswith(("/", os.sep))
    output = None if output is None else Path(output)
    tasks: list[Task] = []
    for path in paths:
        if not os.path.exists(path):  # Path.exists raises for a name that is too long
            raise DataError(f"{path}: no such file", hint="check the path")
        if not path.is_dir() and not path.is_file():
            raise DataError(f"{path}: not a file", hint="save it as a file first")
        if path.is_dir():
            if output is not None and output.exists() and output.samefile(path):
                raise ConfigError(f"{output}: is one of the folders to translate", hint="choose another -o")
            tasks += _of_folder(path, output, format, wanted)
            continue
        into = output if output is None or (single and not output.is_dir()) else output / path.name
        tasks.append(Task(path, into, format))
    if not tasks:
        what, hint = "document", "--format says which format its files have"
        if wanted:
            what, hint = "text", "dragoman translate reads documents, without --format lines"
        raise DataError(f"{paths[0]}: no {what} in this folder", hint=hint)
    check_places(tasks, output)
    return tasks


def _of_folder(
    folder: Path, output: Path | None, format: Format | None, wanted: Callable[[Path], bool] | None
) -> Iterator[Task]:
    for path in _files(folder, output):
        relative = path.relative_to(folder)
        known = None if wanted else format_of_name(path)
        chosen = wanted(relative) if wanted else known is not None and format in (None, known)
        if chosen and path.is_file() and not (wanted is None and _is_other(path, format)):
            yield Task(path, None if output is None else output / relative, format)


def _is_other(path: Path, format: Format | None) -> bool:
    """Whether a file has a suffix of ours but is of another kind: TypeScript, or XML such as a layout."""
    from dragoman.documents.content import START, format_by_content, start_of
    from dragoman.documents.xliff.qt import may_be_qt

    suffix = path.suffix.lower()
    with suppress(OSError):  # its reader says why
        if suffix == ".ts" or (suffix == ".xml" and format is None):
            with path.open("rb") as file:
                start = file.read(START)
            if suffix == ".ts":
                return not may_be_qt(start)
            return format_by_content(start_of(start)) in (None, "html")
    return False


def _files(folder: Path, output: Path | None) -> Iterator[Path]:
    """What is in a folder and below, without folders and without an output folder inside."""
    for place, folders, names in os.walk(folder):
        folders.sort()
        links = [name for name in folders if os.path.islink(Path(place, name))]  # which are not followed
        for name in sorted([*names, *links]):
            path = Path(place, name)
            if output is None or not (_inside(output, folder) and _inside(path, output)):
                yield path


def left_out_of(paths: Iterable[Path], tasks: Iterable[Task], output: Path | None) -> list[Path]:
    """Return the files in folders that no task reads, but for hidden ones.

    Their format is unknown or another one, or they are links to folders.
    """
    read = {task.source for task in tasks}
    return [
        path
        for folder in paths
        if folder.is_dir()
        for path in _files(folder, output)
        if path not in read and not any(name.startswith(".") for name in path.relative_to(folder).parts)
    ]


def _inside(path: Path, folder: Path) -> bool:
    return folder.exists() and path.resolve().is_relative_to(folder.resolve()) and folder.is_dir()


def check_places(tasks: Sequence[Task], output: Path | None) -> None:
    """Raise ConfigError if two would go to one file, one to a source, or several to no folder."""
    if len(tasks) > 1 and output is None:
        raise ConfigError(f"{len(tasks)} input files need an output folder (-o)", hint="add -o FOLDER")
    if len(tasks) > 1 and output is not None and output.exists() and not output.is_dir():
        raise ConfigError(f"{output}: is a file", hint="give a folder with -o")
    taken: dict[Path, Path] = {}
    sources = {task.source.resolve() for task in tasks}
    for task in tasks:
        if task.output is None:
            continue
        place = task.output.resolve()
        if place in sources:
            raise ConfigError(f"{task.output}: is one of the files to translate", hint="choose another -o")
        if task.output.is_dir():
            raise ConfigError(f"{task.output}: is a folder", hint="choose another place with -o")
        if place in taken:
            raise ConfigError(
                f"{taken[place]} and {task.source} would both go to {task.output}",
                hint="translate them apart",
            )
        taken[place] = task.source


def translate_file(
    translator: Translator,
    source: str | Path,
    output: str | Path,
    decoding: Decoding | None = None,
    *,
    format: str | None = None,
    columns: Sequence[str] = (),
    retranslate: bool = False,
    approved: bool = False,
    final: bool = False,
    locked: bool = False,
) -> Outcome:
    """Translate one document. `format` is a name of `FORMATS`; by default the file decides.
    `columns` are the names or numbers of the columns of a table, or one of them; by default its first row
    decides.

    Translations that the file has stay, unless they are fuzzy or new. `retranslate` replaces them, and
    `approved`, `final` and `locked` those in that state. Raises DataError if the file cannot be read, and
    writes nothing then; ConfigError for an unknown format or if `output` is the source.
    """
    replacing = Replacing(retranslate=retranslate, approved=approved, final=final, locked=locked)
    known = None if format is None else format_named(format)
    tasks = tasks_of([Path(source)], output, known)
    columns = [columns] if isinstance(columns, str) else columns
    check_columns([known or format_of_name(task.source) for task in tasks], columns)
    outcome = translate_files(translator, tasks, decoding, replacing=replacing, columns=columns)
    for _, error in outcome.failed:
        raise error
    return outcome


def check_columns(formats: Iterable[Format | None], columns: Sequence[str]) -> None:
    """Raise ConfigError if columns are chosen, but no format has any. None is decided by content."""
    if columns and not any(one is None or one.name == "csv" for one in formats):
        raise ConfigError("a column is chosen, but there is no table", hint="only CSV and TSV have columns")


def translate_files(
    translator: Translator,
    tasks: Sequence[Task],
    decoding: Decoding | None = None,
    *,
    replacing: Replacing | None = None,
    columns: Sequence[str] = (),
    write: Callable[[bytes], object] | None = None,
    say: Callable[[str], None] = lambda text: None,
    journal: Journal | None = None,
) -> Outcome:
    """Translate the files. If one fails, continue with the others.

    `write` gets each translation without an output file. `say` gets the name of the file being translated.
    Files that are finished in `journal` are not translated again.
    """
    outcome = Outcome()
    for number, task in enumerate(tasks, 1):
        say(f"translating {task.source}" + (f", {number} of {len(tasks)}" if len(tasks) > 1 else ""))
        try:
            place = task.output
            done = None if journal is None or place is None else journal.result(task.source, place)
            outcome.add(
                Outcome.of_table(done)
                if done is not None
                else _translate(translator, task, decoding, replacing, columns, write, journal)
            )
        except ConfigError:
            raise
        except DragomanError as error:
            outcome.failed.append((task.source, error))
        except OSError as error:
            what, hint = f"{task.source}: {error.strerror or error}", "check the path and its permissions"
            outcome.failed.append((task.source, DataError(what, hint=hint)))
    return outcome


def _translate(
    translator: Translator,
    task: Task,
    decoding: Decoding | None,
    replacing: Replacing | None,
    columns: Sequence[str],
    write: Callable[[bytes], object] | None,
    journal: Journal | None,
) -> Outcome:
    languages = Languages(*translator.pair(decoding))
    if languages.target == "mul" and translator.targets:
        hint = f"choose it with --to: {', '.join(translator.targets)}"
        raise ConfigError(f"{task.source}: the target language is open, and a document has one", hint=hint)
    data = read_bytes(task.source)
    try:
        format = task.format or document_format(task.source, data)
        document = format.parse(data, languages, columns)
        new, results, counts = translate_document(
            translator, document, decoding, replacing=replacing, labels=format.has_labels
        )
        _read_back(format, new, languages, columns)
    except DataError as error:
        raise DataError(f"{task.source}: {error}", hint=error.hint) from error
    if task.output is not None:
        write_whole(task.output, new)
    elif write is not None:
        write(new)
    counts.marked = counts.doubtful if format.bilingual else 0
    outcome = Outcome(counts)
    for segment, result in zip(document.segments, results, strict=True):
        if result is None or result.is_remembered or not (result.doubts or result.match):
            continue
        texts = text_of(segment.source), text_of(result.content)
        one = Doubt(str(task.source), segment.where, *texts, result.doubts, result.match)
        (outcome.doubts if result.doubts else outcome.offers).append(one)
    if journal is not None and task.output is not None:
        journal.add(task.source, task.output, outcome.to_table())
    return outcome


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a document. Raises OSError, DataError for a file that is too large."""
    with path.open("rb") as file:
        data = file.read(_LARGEST + 1)
    if len(data) > _LARGEST:
        raise DataError(f"{path}: larger than {_LARGEST // 2**20} MB", hint="divide the document")
    return data


def _read_back(format: Format, data: bytes, languages: Languages, columns: Sequence[str]) -> None:
    try:
        format.parse(data, languages, columns)
    except DataError as error:
        raise DataError(
            f"the translation would not be valid {format.title}: {error}", hint="please report this as a bug"
        ) from error
