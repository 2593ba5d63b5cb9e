"""YAML: the strings of Rails' locale files, and those of other files that look like language.

A scalar is written at its place, in its style if that can hold the text, else in double quotes. Keys,
comments, anchors, tags, aliases, numbers, booleans, dates and symbols stay. In a locale file the strings are
below the name of the language, which becomes that of the target, and a plural gets the keys that it needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import yaml  # type: ignore[import-untyped]

from dragoman.base.errors import DataError
from dragoman.base.languages import closest, same
from dragoman.documents.edits import Edit, PartsDocument, decode_file, line_of
from dragoman.documents.formats import Languages
from dragoman.documents.plural_rules import CATEGORIES, categories_of
from dragoman.documents.strings.keyed import KeyedString, whole_characters

_DEEPEST = 200
_STRING = "tag:yaml.org,2002:str"
_BREAK = "(?:\r\n|[\r\n\x85\u2028\u2029])"
# An anchor and a tag before a scalar, and what may stand around them.
_PROPERTIES = re.compile(rf"(?:[&!]\S*+(?:[ \t]|{_BREAK}|(?<=\s)#.*)*+)*+")
_LOCALE = re.compile(r"[A-Za-z]{2,3}(?:[-_]\w+)*")
_SYMBOL = re.compile(r":[A-Za-z_]\w*[?!]?")
_UNPLAIN = re.compile(r"[-?:,\[\]{}#&*!|>'\"%@` ]|\.{3}|[yYnN]\Z|.*(?::(?: |\Z)| #)", re.DOTALL)
_UNPRINTABLE = re.compile("[^ -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_SPECIAL = rf'["\\]|{_UNPRINTABLE.pattern}'
_HEAD = re.compile(rf"(?:(?!{_BREAK}).)*+(?:{_BREAK}[ \t]*(?={_BREAK}))*+{_BREAK}", re.DOTALL)
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\x85": "\\N", "\u2028": "\\L", "\u2029": "\\P"}
# In files that are not for a locale: below these keys are commands and values.
_SETTINGS = frozenset(
    "after_script args before_script build_command cmd command commands entrypoint enum env environment exec"
    " run runs-on script scripts shell steps_command uses variables volumes when with".split()
)
# Below these are names, if they do not begin with a capital.
_NAMED = frozenset(
    "exclude fetch files if image include install path pattern plugins repository test url urls".split()
)
_FOR_PEOPLE = frozenset(("description", "summary", "title"))  # wherever they are
_OF_NUMBERS = frozenset(("format", "negative_format", "delimiter", "separator", "unit"))
_COMMAND = re.compile(r"^[./~$]|(?:^|\s)--?\w|&&|\|\||[=!]=|\$[({]|[;{]$", re.MULTILINE)
_LONE_WORD = re.compile(r"\W*[^\W\d_][^\W_]*(?:['’-][^\W\d_]+)*\W*")


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Reads symbols of Ruby also in brackets, as in [ :year, :month ]."""

    def _at_symbol(self) -> bool:
        before = self.buffer[self.pointer - 1 : self.pointer]
        return bool(self.flow_level and before in " ,[{\n" and re.match(r":[A-Za-z_]", self.prefix(2)))

    def check_value(self) -> bool:
        return not self._at_symbol() and bool(super().check_value())

    def check_plain(self) -> bool:
        return self._at_symbol() or bool(super().check_plain())


@dataclass
class _Level:
    """A mapping, a sequence or a document that is being read."""

    path: tuple[str, ...]
    is_map: bool = False
    flow: bool = False
    count: int = 0
    key: Any = None  # the event
    keys: set[str] = field(default_factory=set)
    entries: list[tuple[Any, Any]] = field(default_factory=list)  # scalars, each after its key

    def scalars(self) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
        """Yield each scalar after its path and its key."""
        for number, (key, event) in enumerate(self.entries):
            yield (*self.path, key.value if self.is_map and key else str(number)), key, event


def parse(data: bytes, languages: Languages) -> PartsDocument:
    """Read a YAML file. Raises DataError with the line for other text, or if it has both languages."""
    decoded = decode_file(data)
    text = decoded.text
    values: list[KeyedString] = []
    locales: list[Any] = []  # keys of the files' top level that may name a language
    levels = _read(text, locales)
    names = [one.value for one in locales]
    wanted = closest(languages.source, names) or closest(languages.target, names)
    other = closest(languages.target, [one for one in names if one != wanted])
    if wanted and other and same(wanted, languages.source) and not same(wanted, other):
        line = next(one.start_mark.line for one in locales if one.value == other) + 1
        what = f"line {line}: the file has both {wanted!r} and {other!r}"
        raise DataError(what, hint="put each language in its own file")
    least = 0
    if not wanted:  # in a file of settings a single word is a value of theirs
        looks = [_likeness(path, event) for level in levels for path, _, event in level.scalars()]
        least = 1 if sum(one > 0 for one in looks) >= looks.count(0) else 2
    for level in levels:
        if not wanted or level.path[:1] == (wanted,):
            values += _strings(text, level, categories_of(languages.target), least)
    renamed = [_renamed(text, one, languages.target) for one in locales if one.value == wanted]
    values.sort(key=lambda one: one.start)
    return PartsDocument(decoded, values, renamed)


def all_strings(text: str) -> list[KeyedString]:
    """All strings of a YAML text in order. Raises DataError with the line for other text."""
    found = [one for level in _read(text, []) for one in _strings(text, level, (), 0)]
    return sorted(found, key=lambda one: one.start)


def _read(text: str, locales: list[Any]) -> list[_Level]:
    try:
        return list(_levels(text, locales))
    except yaml.MarkedYAMLError as error:
        line = (error.problem_mark or error.context_mark).line + 1
        raise DataError(f"line {line}: not YAML: {error.problem}", hint="is the file complete?") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        line = line_of(text, getattr(error, "position", 0))
        raise DataError(f"line {line}: YAML has no such character or number", hint="remove it") from None


def _renamed(text: str, key: Any, target: str) -> Edit:
    """Write the name of the target language in place of a key."""
    new = target.replace("-", "_") if "_" in key.value else target
    start, end = _start(text, key), key.end_mark.index
    quote = key.style or "" if _resolved(new) == _STRING else key.style or '"'  # "no" would be a boolean
    return Edit(start, end, text[start:end] if new == key.value else quote + new + quote)


def _start(text: str, event: Any) -> int:
    """Where a scalar stands, behind its anchor and its tag."""
    found = _PROPERTIES.match(text, event.start_mark.index, event.end_mark.index)
    return found.end() if found else event.start_mark.index


def _levels(text: str, locales: list[Any]) -> Iterator[_Level]:
    """Yield each mapping and sequence at its end. Events cost no more than the file, whatever its aliases."""
    stack: list[_Level] = []
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            stack = [_Level(())]
        elif isinstance(event, yaml.CollectionEndEvent | yaml.DocumentEndEvent):
            yield stack.pop()
        elif isinstance(event, yaml.NodeEvent):
            level, scalar = stack[-1], isinstance(event, yaml.ScalarEvent)
            if scalar:
                event.value = whole_characters(event.value)
            level.count += 1
            if level.is_map and level.count % 2:
                level.key = event if scalar else None
                level.keys.add(event.value if scalar else "?")
            elif scalar:
                level.entries.append((level.key, event))
            if not isinstance(event, yaml.CollectionStartEvent):
                continue
            if len(stack) > _DEEPEST:
                what = f"line {event.start_mark.line + 1}: nested more than {_DEEPEST} deep"
                raise DataError(what, hint="is this a file of strings?")
            key = level.key
            is_map = isinstance(event, yaml.MappingStartEvent)
            if is_map and level.is_map and len(stack) == 2 and key and _LOCALE.fullmatch(key.value):
                locales.append(key)
            name = (key.value if key else "?") if level.is_map else str(level.count - 1)
            path = (*level.path, name) if len(stack) > 1 else ()
            stack.append(_Level(path, is_map, bool(event.flow_style)))


def _strings(text: str, level: _Level, categories: tuple[str, ...], least: int) -> Iterator[KeyedString]:
    is_plural = len(level.keys) > 1 and "other" in level.keys and level.keys <= set(CATEGORIES)
    lacking = [one for one in categories if one not in level.keys] if is_plural else []
    for path, key, event in level.scalars():
        if _likeness(path, event) < least if least else _is_format(path) or not _is_string(event):
            continue
        start, end = _start(text, event), event.end_mark.index
        raw, line = text[start:end], event.start_mark.line + 1
        write = partial(_written, style=event.style or "", flow=level.flow, value=event.value)
        one = KeyedString(start, end, event.value, line, ".".join(path), "", write)
        at = key.start_mark if lacking and path[-1] == "other" else None
        if at and not text[at.index - at.column : at.index].rstrip().endswith("?"):  # an explicit key
            written = text[at.index : key.end_mark.index]
            between = text[key.end_mark.index : event.start_mark.index]
            ends = "" if event.style in ("|", ">") else "\r\n" if "\r\n" in text else "\n"
            gap = ", " if level.flow else ends + " " * at.column
            for name in lacking:
                label = ".".join((*level.path, name))
                yield one.added(at.index, label, written.replace("other", name) + between, raw, gap)
        yield one


def _is_string(event: Any) -> bool:
    """Whether a scalar is a string as YAML 1.1 reads it, and no symbol."""
    if event.tag not in (None, "!", _STRING):
        return False
    if event.tag or event.style:
        return bool(event.value.strip())
    return _resolved(event.value) == _STRING and not _SYMBOL.fullmatch(event.value)


def _resolved(plain: str, resolver: Any = yaml.resolver.Resolver()) -> str:  # noqa: B008
    """The tag of a plain scalar."""
    return str(resolver.resolve(yaml.ScalarNode, plain, (True, False)))


def _is_format(path: tuple[str, ...]) -> bool:
    """Whether a string of a locale says how Rails writes dates and numbers."""
    inside, key = path[1:-1], path[-1]
    if inside[:1] in (("date",), ("time",), ("datetime",)):
        return "formats" in inside or "order" in inside
    return inside[:1] == ("number",) and key in _OF_NUMBERS


def _likeness(path: tuple[str, ...], event: Any) -> int:
    """How much a value looks like language: 2 if words are in a row, 1 for a capitalised word.

    -1 is no text for people: a number, a command.
    """
    value = event.value
    if not _is_string(event):
        return -1
    if path[-1] in _FOR_PEOPLE:
        return 2
    named = not _NAMED.isdisjoint(path) or _COMMAND.search(value)
    if not _SETTINGS.isdisjoint(path) or (named and not value[:1].isupper()):
        return -1
    words = [any(map(str.isalpha, one)) for one in value.split()]
    if any(map(all, pairwise(words))):
        return 2
    letters = "".join(filter(str.isalpha, value))
    lone = not letters[:1].islower() and (letters[1:].islower() or not letters.isascii())
    return int(lone and bool(_LONE_WORD.fullmatch(value)))


def _written(new: str, raw: str, *, style: str, flow: bool, value: str) -> str:
    """Write a scalar as `raw` is, whose text was `value`, or in double quotes if its style cannot hold it."""
    if style in ("|", ">"):
        return _block(new, raw, style, value)
    lines = re.split(_BREAK, raw)
    indent = next((line[: -len(line.lstrip(" \t"))] for line in lines[1:] if line.strip(" \t")), "")
    texts = new.split("\n") if indent else [new]
    written = ""
    if style != '"' and all(one and one == one.strip(" ") and not _UNPRINTABLE.search(one) for one in texts):
        joined = " ".join(texts)
        if style:
            written = "'" + new.replace("'", "''") + "'"
        elif not (_UNPLAIN.match(joined) or (flow and re.search(r"[,\[\]{}]", new))):
            written = new if _resolved(new) == _STRING else ""
    written = written or _quoted(new, escaped=raw.isascii() and bool(re.search(r"\\[uUx]", raw)))
    return _wrapped(written.split("\n"), lines, indent, raw).lstrip(" \t") if indent else written


def _quoted(text: str, *, escaped: bool = False) -> str:
    def escape(found: re.Match[str]) -> str:
        char, code = found[0], ord(found[0])
        numbered = f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
        return "\\" + char if char in '"\\' else _ESCAPES.get(char, numbered)

    return '"' + re.sub(r"[^ !#-\[\]-~]" if escaped else _SPECIAL, escape, text) + '"'


def _wrapped(texts: list[str], lines: list[str], indent: str, raw: str) -> str:
    """Fold texts as the lines of `raw` are. Each line end between two that are not indented gets another."""
    width = max(40, *map(len, lines))
    out: list[str] = []
    before = ""
    for one in texts:
        if not one or one[0] in " \t":
            out.append(indent * bool(one) + one)
            before = one or before
            continue
        if before and before[0] not in " \t":
            out.append("")
        before, line = one, indent
        for word in re.split(r"(?<=[^\s\\]) (?=\S)", one):
            if line != indent and len(line) + len(word) >= width:
                out.append(line)
                line = indent
            line += " " * (line != indent) + word
        out.append(line)
    return _newline(raw).join(out)


def _newline(raw: str) -> str:
    found = re.search(_BREAK, raw)
    return found[0] if found else "\n"


def _block(new: str, raw: str, style: str, value: str) -> str:
    """Write a literal or folded block, with its header and its empty lines."""
    end = len(raw.rstrip(" \r\n\x85\u2028\u2029"))
    head = _HEAD.match(raw)
    start = head.end() if head else end
    lines = re.split(_BREAK, raw[start:end])
    first = next(line for line in value.split("\n") if line.strip(" \t"))
    depth = len(lines[0]) - len(lines[0].lstrip(" ")) - (len(first) - len(first.lstrip(" ")))
    body = re.sub("\r\n?", "\n", new).strip("\n")
    body = body.rstrip() if raw[end : end + 1] == " " else body
    texts = [line if line.strip(" \t") else "" for line in body.split("\n")]
    fits = depth > 0 and not _UNPRINTABLE.search("".join(texts).replace("\t", ""))
    if not fits or not texts[0] or (texts[0][0] in " \t" and not re.search(r"\d", raw[:3])):
        return _quoted("\n" * (value[0] == "\n") + body + "\n" * value.endswith("\n")) + raw[end:]
    indent = " " * depth
    if style == ">":
        return raw[:start] + _wrapped(texts, lines, indent, raw) + raw[end:]
    return raw[:start] + _newline(raw).join(indent * bool(line) + line for line in texts) + raw[end:]
