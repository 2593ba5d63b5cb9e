"""The text of a part: lines, or the values of a column, as the file has them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dragoman.base.errors import ConfigError, DataError
from dragoman.text.corpora.compressed import SUFFIXES
from dragoman.text.corpora.lines import LONGEST, line_text, one_line

Kind = Literal["lines", "jsonl", "parquet"]
NAME = "translation"  # the column, or the key, of the translation
_KINDS: dict[str, Kind] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}


@dataclass(frozen=True)
class TextPart:
    """Some lines of a file, or some rows of a row group of a Parquet file."""

    name: str  # the file, for messages
    path: str  # where its text is: a gzipped file is unpacked first
    kind: Kind
    column: str  # of JSON Lines and Parquet
    group: int  # Parquet: the row group
    start: int  # the first byte, or the first row of the group
    end: int  # the byte, or the row, after the last
    first: int  # the number of the first line or row in the file, from 1
    lines: int
    salt: str  # digest of the models and options
    digest: str  # of salt and text
    place: str  # where the translation is written


def kind_of_name(path: Path) -> Kind:
    """The format of the file, by its name; `.gz` or `.zst` at its end does not count."""
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in SUFFIXES]
    return _KINDS.get(suffixes[-1], "lines") if suffixes else "lines"


def column_values(path: Path, name: str, column: str, group: int) -> list[str | None]:
    """The texts in a row group of a Parquet file. Raises DataError without such a column, or for numbers."""
    with open_parquet(path, name) as file:
        names = file.schema_arrow.names
        if column not in names:
            raise DataError(f"{name}: no column {column!r}", hint=f"choose with --column: {', '.join(names)}")
        values = file.read_row_group(group, columns=[column]).column(0).to_pylist()
    if any(not isinstance(value, str | None) for value in values):
        raise DataError(f"{name}: column {column!r} is not text", hint="choose another with --column")
    return list(values)


@contextmanager
def open_parquet(path: Path, name: str) -> Iterator[Any]:
    """Open a Parquet file. Raises DataError if the block finds it damaged, ConfigError without pyarrow."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ConfigError(
            f"{name}: reading Parquet needs pyarrow", hint="pip install 'dragoman[ray]'"
        ) from error
    try:
        yield parquet.ParquetFile(path)
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        first = str(error).partition("\n")[0]
        raise DataError(
            f"{name}: cannot be read as Parquet ({first})", hint="copy or download it again"
        ) from error


def digest_of_part(salt: str, first: int) -> Any:
    """A digest to which the lines of a part are added. A file's first line may have a byte order mark."""
    return hashlib.blake2b(f"{salt} {first == 1}\n".encode(), digest_size=16)


def raw_items(part: TextPart) -> Iterator[bytes]:
    """Yield the input of the digest of a part: lines with their ends, or the values of a column as JSON."""
    if part.kind != "parquet":
        with open(part.path, "rb") as file:
            file.seek(part.start)
            # A line that is too long comes in pieces.
            while (left := part.end - file.tell()) > 0 and (line := file.readline(min(left, LONGEST))):
                yield line
        return
    for value in column_values(Path(part.path), part.name, part.column, part.group)[part.start : part.end]:
        yield json.dumps(value).encode()


class PartText:
    """The texts of a part, and how each is written with its translation."""

    def __init__(self, part: TextPart) -> None:
        self._part = part
        # The text around each translation, which is JSON if it is not None; and whether it is a null.
        self._rows: list[tuple[str | None, str, bool]] = []

    def texts(self) -> Iterator[str]:
        """Yield each text, empty for a null. Raises DataError, which names the line, for other values."""
        part, digest, count = self._part, digest_of_part(self._part.salt, self._part.first), 0
        for count, item in enumerate(raw_items(part), 1):
            digest.update(item)
            yield self._text(item, part.first + count - 1)
        if count != part.lines or digest.hexdigest() != part.digest:
            raise DataError(f"{part.name}: changed while it was translated", hint="repeat the command")

    def written(self, number: int, translation: str) -> str:
        """The output for text `number`, from 0: a line, or for Parquet the translation as JSON."""
        before, after, null = self._rows[number]
        if before is None:
            return f"{translation}{after}"
        return f"{before}{json.dumps(None if null else translation, ensure_ascii=False)}{after}"

    def _text(self, item: bytes, number: int) -> str:
        part = self._part
        if part.kind == "parquet":
            return self._value("", "\n", json.loads(item), f"{part.name}: row {number}")
        text = line_text(item, part.name, number)
        end = "\r\n" if item.endswith(b"\r\n") else "\n" if item.endswith(b"\n") else ""
        if part.kind == "lines":
            self._rows.append((None, end, False))
            return text
        if not text.strip():
            self._rows.append((None, text + end, False))
            return ""
        where, body = f"{part.name}:{number}", text.rstrip()
        # Everything else stays as it is, byte for byte: numbers, escapes, spaces.
        before, after = f'{body[:-1].rstrip()}, "{NAME}": ', "}" + text[len(body) :] + end
        return self._value(before, after, _value(text, part.column, where), where)

    def _value(self, before: str, after: str, value: str | None, where: str) -> str:
        self._rows.append((before, after, value is None))
        return "" if value is None else one_line(value, where)


def _value(text: str, key: str, where: str) -> str | None:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
        raise DataError(f"{where}: not valid JSON ({reason})", hint="write one object a line") from error
    if not isinstance(table, dict):
        raise DataError(f"{where}: not a JSON object", hint=f'write {{"{key}": "..."}}')
    value = table.get(key)
    if key not in table or not isinstance(value, str | None):
        problem = f'"{key}" is not text' if key in table else f'no "{key}"'
        raise DataError(f"{where}: {problem}", hint="--column names the key of the text")
    if NAME in table:
        raise DataError(f'{where}: has a "{NAME}" already', hint="rename that key")
    return value
