"""String Catalogs of Xcode, .xcstrings: localizations of the target language are filled, in Xcode's style.

A doubtful translation is in the state "needs_review"; a catalogue has no place for the reasons. Plurals get
the categories that the target language needs. Stale strings and those not to be translated stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from dragoman.base.errors import DataError
from dragoman.base.languages import closest
from dragoman.documents.edits import Edit, Lines, PartsDocument, decode_file
from dragoman.documents.formats import Languages, expect_language
from dragoman.documents.plural_rules import categories_of
from dragoman.documents.segment import Result, Segment, Status, text_of
from dragoman.documents.strings.json import Spelling
from dragoman.documents.xml.inline import changes
from dragoman.text.blank import is_blank

Path = tuple[str, ...]
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]:]', re.DOTALL)
_LAYOUT = re.compile(r"\s*\{(\r?\n)?([ \t]*)")
_DEEPEST = 100


class _Style:
    """How a file is written, which is how Xcode does it: sorted keys, and two lines for an empty table."""

    def __init__(self, text: str) -> None:
        self._spell = Spelling(text).write
        layout = _LAYOUT.match(text)
        self._end, self._indent = (layout[1] or "", layout[2]) if layout else ("", "")
        self._colon = " : " if '" : ' in text else ": "

    def write(self, value: Any, depth: int) -> str:
        if not isinstance(value, dict):
            return self._spell(value, "") if isinstance(value, str) else json.dumps(value)
        gap = self._end + self._indent * (depth + 1)
        pairs = (
            f"{gap}{self._spell(key, '')}{self._colon}{self.write(value[key], depth + 1)}"
            for key in sorted(value)
        )
        return "{" + (",".join(pairs) or self._end) + self._end + self._indent * depth + "}"


@dataclass(frozen=True)
class _Entry:
    """A string of a catalogue, text[start:end], with a segment for each of its units."""

    start: int
    end: int
    style: _Style
    key: str
    language: str
    content: dict[str, Any]
    units: dict[Path, Segment]
    model: dict[str, Any]  # the localization of the source language

    @property
    def segments(self) -> list[Segment]:
        return [*self.units.values()]

    def edits(self, text: str, results: Sequence[Result | None]) -> Iterator[Edit]:
        new = deepcopy(self.content)
        for (path, segment), result in zip(self.units.items(), results, strict=True):
            if result is None or not changes(segment, result):
                continue
            table, model = self._below(self._below(new, "localizations"), self.language), self.model
            for name in path:
                table, model = self._below(table, name), _table(model, name)
                for key, one in model.items():  # such as the number of an argument
                    if not isinstance(one, dict):
                        table.setdefault(key, one)
            state = "needs_review" if result.doubts else "translated"
            self._below(table, "stringUnit").update(state=state, value=text_of(result.content))
        if new != self.content:
            yield Edit(self.start, self.end, self.style.write(new, 2))

    def _below(self, table: dict[str, Any], name: str) -> dict[str, Any]:
        found = table.setdefault(name, {})
        if not isinstance(found, dict):
            raise DataError(f"{self.key!r}: {name} is not a table", hint="open the file in Xcode")
        return found


def parse(data: bytes, languages: Languages) -> PartsDocument:
    """Read a catalogue. Raises DataError with the line if it is damaged, or for another source language."""
    decoded = decode_file(data)
    text = decoded.text
    try:
        root = json.loads(text)
        entries = {key: one for key, one in root["strings"].items() if isinstance(one, dict)}
    except json.JSONDecodeError as error:
        raise DataError(f"line {error.lineno}: not JSON: {error.msg}", hint="is the file complete?") from None
    except (RecursionError, ValueError, TypeError, KeyError, AttributeError):
        raise DataError("line 1: not a String Catalog", hint="use a file of Xcode") from None
    source = str(root.get("sourceLanguage", ""))
    expect_language(1, "sourceLanguage", source, languages.source)
    names = dict.fromkeys(name for one in entries.values() for name in _table(one, "localizations"))
    target = closest(languages.target, [name for name in names if name != source]) or languages.target
    style, found, categories = _Style(text), [], categories_of(languages.target)
    for key, (line, start, end) in _places(text).items():
        entry = entries.get(key, {"shouldTranslate": False})
        if entry.get("shouldTranslate") is not False and entry.get("extractionState") != "stale":
            model = _table(_table(entry, "localizations"), source)
            units = _segments(key, entry, model, target, categories, f"line {line}")
            found.append(_Entry(start, end, style, key, target, entry, units, model))
    return PartsDocument(decoded, found)


def _segments(
    key: str, entry: dict[str, Any], model: dict[str, Any], target: str, categories: Path, where: str
) -> dict[Path, Segment]:
    """The units of a string that the target language needs, by their paths."""
    units = dict(_units(model)) if model else {(): {"value": key}}
    sources = {path: str(one.get("value", "")) for path, one in units.items()}
    there = {
        path: one
        for path, one in _units(_table(_table(entry, "localizations"), target))
        if isinstance(one.get("value", ""), str) and isinstance(one.get("state", ""), str)
    }
    wanted = dict(_wanted(sources, categories))
    if there:
        groups = {path[:-1] for path in there if path}
        whole = sources.get((), key)  # of a translation that divides what its source does not
        wanted = {path: one for path, one in wanted.items() if path in there or path[:-1] in groups}
        wanted |= {path: whole for path in there if path not in wanted}
    segments, note = {}, str(entry.get("comment", ""))
    for path, source in wanted.items():
        unit = there.get(path, {})
        value, state = unit.get("value", ""), unit.get("state", "translated")
        status = {"translated": Status.DONE, "new": Status.DRAFT}.get(state, Status.DOUBTFUL)
        if status is Status.DRAFT and value != source:
            status = Status.DOUBTFUL  # a person's, and there is no comment to keep it in
        if is_blank(value):
            status = Status.MISSING
        label = ".".join([key, *(one for one in path if one not in ("variations", "substitutions"))])
        old = None if status is Status.MISSING else (value,)
        if not is_blank(source):
            segments[path] = Segment((source,), where, old, status, context=label, note=note)
    return segments


def _table(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _units(localization: dict[str, Any], path: Path = ()) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The texts of a localization by their paths, such as ("variations", "plural", "one")."""
    if unit := _table(localization, "stringUnit"):
        yield path, unit
    tables: dict[Path, Any] = {("substitutions",): localization.get("substitutions")}
    tables |= {("variations", kind): one for kind, one in _table(localization, "variations").items()}
    for above, table in tables.items():
        for name, one in table.items() if isinstance(table, dict) else ():
            if isinstance(one, dict):
                yield from _units(one, (*path, *above, name))


def _wanted(sources: dict[Path, str], categories: Path) -> Iterator[tuple[Path, str]]:
    """The units that the target language needs, each with its source."""
    for path, source in sources.items():
        category = path[-1] if path[-3:-1] == ("variations", "plural") else ""
        if category == "other":
            lacking = [(*path[:-1], one) for one in categories]
            yield from ((one, source) for one in lacking if one not in sources)
        if category in ("", "zero", "other", *(categories or (category,))):
            yield path, source


def _places(text: str) -> dict[str, tuple[int, int, int]]:
    """The line of each string by its key, and where its table begins and ends."""
    found, lines, top, key, last = {}, Lines(text), "", "", '""'
    depth = start = line = 0
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{" | "[":
                depth += 1
                start = token.start() if depth == 3 else start
                if depth > _DEEPEST:
                    what = f"line {lines.line(token.start())}: nested more than {_DEEPEST} deep"
                    raise DataError(what, hint="use a file of Xcode")
            case "}" | "]":
                if depth == 3 and top == "strings":
                    found[key] = line, start, token.end()
                depth -= 1
            case ":" if depth == 1:
                top = json.loads(last)
            case ":" if depth == 2:
                key, line = json.loads(last), lines.line(token.start())
            case string:
                last = string
    return found
