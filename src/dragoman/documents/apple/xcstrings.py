"""String Catalogs of Xcode, .xcstrings: localizations of the target language are filled, in Xcode's style.

A doubtful translation is in the state "needs_review"; a catalogue has no place for the reasons. Plurals get
the categories that the target language needs. Stale strings and those not to be translated stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
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
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]:,]|[^\s{}\[\]:,"]+', re.DOTALL)
_LAYOUT = re.compile(r"\s*\{(\r?\n)?([ \t]*)")
_DEEPEST = 30


class _File:
    """The text of a catalogue, and where its keys and values stand."""

    def __init__(self, text: str, root: dict[str, Any]) -> None:
        self.root = root
        self._places = dict(_places(text))
        self.spell = Spelling(text).write
        layout = _LAYOUT.match(text)
        self._end, self._indent = (layout[1] or "", layout[2]) if layout else ("", "")
        self._colon = " : " if '" : ' in text else ": "

    def place(self, path: Path) -> tuple[int, int, int]:
        """Where the key at a path begins, and its value begins and ends."""
        return self._places[path]

    def insert(self, path: Path, table: dict[str, Any], new: dict[str, Any]) -> Iterator[Edit]:
        """Add what is new to the object at a path, which has the content `table`; keys are sorted."""
        for key in sorted(new.keys() & table.keys()):
            if isinstance(table[key], dict) and isinstance(new[key], dict):
                yield from self.insert((*path, key), table[key], new[key])
            elif isinstance(table[key], dict) or isinstance(new[key], dict):
                raise DataError(f"{path[1]!r}: {key} is not a table", hint="open the file in Xcode")
        gap = self._end + self._indent * (len(path) + 1)
        if not table:
            _, start, end = self.place(path)
            yield Edit(start, end, self._dump(new, len(path)))
            return
        for key in sorted(new.keys() - table.keys()):
            pair = f"{self.spell(key, '')}{self._colon}{self._dump(new[key], len(path) + 1)}"
            after = next((one for one in table if one > key), None)
            if after is not None:
                at = self.place((*path, after))[0]
                yield Edit(at, at, f"{pair},{gap}")
            else:
                at = self.place((*path, [*table][-1]))[2]
                yield Edit(at, at, f",{gap}{pair}")

    def _dump(self, value: Any, depth: int) -> str:
        if not isinstance(value, dict):
            return self.spell(value, "") if isinstance(value, str) else json.dumps(value)
        gap = self._end + self._indent * (depth + 1)
        pairs = (
            f"{gap}{self.spell(key, '')}{self._colon}{self._dump(value[key], depth + 1)}"
            for key in sorted(value)
        )
        return "{" + ",".join(pairs) + self._end + self._indent * depth + "}"


@dataclass(frozen=True)
class _Entry:
    """A string of a catalogue: what it has in the target language, and a segment for each of its units."""

    file: _File
    key: str
    language: str
    units: dict[Path, Segment]
    there: dict[Path, dict[str, Any]]
    model: dict[str, Any]  # the localization of the source language

    @property
    def segments(self) -> list[Segment]:
        return [*self.units.values()]

    def edits(self, text: str, results: Sequence[Result | None]) -> Iterator[Edit]:
        new: dict[str, Any] = {}
        for (path, segment), result in zip(self.units.items(), results, strict=True):
            if result is None or not changes(segment, result):
                continue
            state = "needs_review" if result.doubts else "translated"
            unit, old = {"state": state, "value": text_of(result.content)}, self.there.get(path, {})
            base = ("strings", self.key, "localizations", self.language, *path, "stringUnit")
            for name in sorted(unit.keys() & old.keys()):
                if old[name] != unit[name]:
                    _, start, end = self.file.place((*base, name))
                    yield Edit(start, end, self.file.spell(unit[name], ""))
            if unit.keys() - old.keys():
                self._add(new, path, {name: one for name, one in unit.items() if name not in old})
        if new:
            entry = self.file.root["strings"][self.key]
            yield from self.file.insert(("strings", self.key), entry, {"localizations": {self.language: new}})

    def _add(self, new: dict[str, Any], path: Path, unit: dict[str, str]) -> None:
        """Put a unit into a localization, with what the source says of its substitutions."""
        model: Any = self.model
        for name in path:
            new, model = new.setdefault(name, {}), model.get(name, {})
            new.update({key: one for key, one in model.items() if not isinstance(one, dict)})
        new["stringUnit"] = unit


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
    file, lines, found = _File(text, root), Lines(text), []
    for key, entry in entries.items():
        if entry.get("shouldTranslate") is not False and entry.get("extractionState") != "stale":
            where = f"line {lines.line(file.place(('strings', key))[0])}"
            found.append(_entry(file, key, entry, (source, target), categories_of(languages.target), where))
    return PartsDocument(decoded, found)


def _entry(
    file: _File, key: str, entry: dict[str, Any], names: tuple[str, str], categories: Path, where: str
) -> _Entry:
    localizations = _table(entry, "localizations")
    model = _table(localizations, names[0])
    units = _units(model) if model else {(): {"value": key}}
    sources = {path: str(one.get("value", "")) for path, one in units.items()}
    there = {
        path: one
        for path, one in _units(_table(localizations, names[1])).items()
        if isinstance(one.get("value", ""), str) and isinstance(one.get("state", ""), str)
    }
    wanted = dict(_wanted(sources, categories))
    if there:
        groups = {path[:-1] for path in there if path}
        whole = sources.get((), key)  # of a translation that divides what its source does not
        wanted = {path: one for path, one in wanted.items() if path in there or path[:-1] in groups}
        wanted |= {path: whole for path in there if path not in wanted}
    segments = {}
    for path, source in wanted.items():
        unit = there.get(path, {})
        value, state = unit.get("value", ""), unit.get("state", "translated")
        status = {"translated": Status.DONE, "new": Status.DRAFT}.get(state, Status.DOUBTFUL)
        if status is Status.DRAFT and value != source:
            status = Status.DOUBTFUL  # a person's, and there is no comment to keep it in
        if is_blank(value):
            status = Status.MISSING
        label = ".".join([key, *(one for one in path if one not in ("variations", "substitutions"))])
        target = None if status is Status.MISSING else (value,)
        if not is_blank(source):
            segments[path] = Segment(
                (source,), where, target, status, context=label, note=str(entry.get("comment", ""))
            )
    return _Entry(file, key, names[1], segments, there, model)


def _table(value: dict[str, Any], key: str) -> dict[str, Any]:
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def _items(table: Any) -> list[tuple[str, dict[str, Any]]]:
    pairs = table.items() if isinstance(table, dict) else ()
    return [(key, one) for key, one in pairs if isinstance(one, dict)]


def _units(localization: dict[str, Any]) -> dict[Path, dict[str, Any]]:
    """The texts of a localization by their paths, such as ("variations", "plural", "one")."""
    found: dict[Path, dict[str, Any]] = {}
    todo: list[tuple[Path, dict[str, Any]]] = [((), localization)]
    while todo:
        path, one = todo.pop()
        if unit := _table(one, "stringUnit"):
            found[path] = unit
        tables: dict[Path, Any] = {("substitutions",): _table(one, "substitutions")}
        tables |= {("variations", kind): table for kind, table in _table(one, "variations").items()}
        below = [((*above, name), one) for above, table in tables.items() for name, one in _items(table)]
        if len(path) < _DEEPEST:
            todo += [((*path, *more), one) for more, one in reversed(below)]
    return found


def _wanted(sources: dict[Path, str], categories: Path) -> Iterator[tuple[Path, str]]:
    """The units that the target language needs, each with its source."""
    for path, source in sources.items():
        category = path[-1] if path[-3:-1] == ("variations", "plural") else ""
        if category == "other":
            lacking = [(*path[:-1], one) for one in categories]
            yield from ((one, source) for one in lacking if one not in sources)
        if category in ("", "zero", "other", *(categories or (category,))):
            yield path, source


def _places(text: str) -> Iterator[tuple[Path, tuple[int, int, int]]]:
    """Yield each key of objects by its path: where it begins, and where its value begins and ends."""
    path: list[str] = []
    starts: list[tuple[int, int]] = []  # of keys and of their objects or arrays
    key, is_key = 0, False
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{" | "[":
                starts.append((key, token.start()))
                is_key = token[0] == "{"
                path.append("")
            case "}" | "]":
                path.pop()
                yield tuple(path), (*starts.pop(), token.end())
            case ",":
                is_key = text[starts[-1][1]] == "{"
            case ":":
                is_key = False
            case string if is_key:
                key, path[-1] = token.start(), json.loads(string)
            case _:
                yield tuple(path), (key, *token.span())
