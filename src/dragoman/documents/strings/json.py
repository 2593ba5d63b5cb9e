"""JSON and ARB: every string is translated that is a value and not empty, and no other byte changes.

ARB (Flutter): "@key" and "@@locale" describe their file and stay; a description becomes a note.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NoReturn

from dragoman.base.errors import DataError
from dragoman.documents.edits import Lines, PartsDocument, decode_file, line_of
from dragoman.documents.formats import Languages
from dragoman.documents.strings.keyed import KeyedString, escape_units, has_upper_escapes

_DEEPEST = 200
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]:,]', re.DOTALL)
_NO_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*+"|-?Infinity|NaN', re.DOTALL)
_ESCAPED = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|.)", re.DOTALL)


def parse(data: bytes, languages: Languages) -> PartsDocument:
    """Read a JSON file. Raises DataError with the line if it is not JSON or nests too deep."""
    decoded = decode_file(data)
    text = decoded.text
    _check_depth(text)
    try:
        # Numbers are not read, however long they are.
        root = json.loads(text, parse_int=str, parse_float=str, parse_constant=partial(_refuse, text))
    except json.JSONDecodeError as error:
        raise DataError(f"line {error.lineno}: not JSON: {error.msg}", hint="is the file complete?") from None
    notes = _arb_notes(root)
    values, lines, write = [], Lines(text), _Spelling(text).write
    for start, end, keys in _strings(text):
        top = str(keys[0]) if keys else ""
        value = json.loads(text[start:end])
        if value and not (top in notes and top.startswith("@")):
            path = "".join(f".{one}" if isinstance(one, str) else f"[{one}]" for one in keys)
            line, note = lines.line(start), notes.get(top, "")
            values.append(KeyedString(start, end, value, line, path.removeprefix("."), note, write))
    return PartsDocument(decoded, values)


def _refuse(text: str, name: str) -> NoReturn:
    """Python takes NaN and Infinity for numbers. JSON has none."""
    place = next(found.start() for found in _NO_NUMBER.finditer(text) if found[0] == name)
    raise DataError(f"line {line_of(text, place)}: not JSON: {name}", hint="write null, or a string")


def _check_depth(text: str) -> None:
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += (token[0] in "{[") - (token[0] in "}]")
        if depth > _DEEPEST:
            line = line_of(text, token.start())
            raise DataError(
                f"line {line}: nested more than {_DEEPEST} deep", hint="is this a file of strings?"
            )


def _arb_notes(root: Any) -> dict[str, str]:
    """The notes of keys in an ARB file. Keys of its metadata are in it, too, with an empty note."""
    if not isinstance(root, dict):
        return {}
    notes = {}
    for key, value in root.items():
        if key.startswith("@@"):
            notes[key] = ""
        elif key.startswith("@") and isinstance(value, dict) and key[1:] in root:
            described = value.get("description")
            notes[key] = ""
            notes[key[1:]] = described if isinstance(described, str) else ""
    return notes


def _strings(text: str) -> Iterator[tuple[int, int, list[str | int]]]:
    """Yield the strings of a JSON text that are values: start, end, and the keys down to them."""
    stack: list[str | int] = []  # the key or the number of the place in each object and array
    is_key = False
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "{":
                stack.append("")
                is_key = True
            case "[":
                stack.append(0)
                is_key = False
            case "}" | "]":
                stack.pop()
            case ",":
                is_key = isinstance(stack[-1], str)
                if not isinstance(stack[-1], str):
                    stack[-1] += 1
            case ":":
                is_key = False
            case key if is_key:
                stack[-1] = json.loads(key)
            case _:
                yield *token.span(), stack


class _Spelling:
    """How a file writes characters: non-ASCII as it is or escaped, and which others it escapes."""

    def __init__(self, text: str) -> None:
        self._upper = has_upper_escapes(text)
        self._spelled: dict[str, str] = {}
        escaped = 0
        for raw in _ESCAPED.findall(text):
            char = chr(int(raw[2:], 16)) if raw[1] == "u" else raw[1]
            escaped += char > "\x7f"
            if raw[1] in "u/":
                self._spelled.setdefault(char, raw)
        self._ascii = escaped > sum(char > "\x7f" for char in text)

    def write(self, text: str, _: str) -> str:
        """Return a string with its quotes."""
        return re.sub(r"[^ -~]|[<>&'/]", self._char, json.dumps(text, ensure_ascii=False))

    def _char(self, match: re.Match[str]) -> str:
        char = match[0]
        if char > "\x7e" and (self._ascii or "\ud800" <= char <= "\udfff"):
            return escape_units(char, upper=self._upper)
        return self._spelled.get(char, char) if char < "\x7f" else char
