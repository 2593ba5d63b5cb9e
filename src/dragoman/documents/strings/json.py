"""JSON and ARB: every string is translated that is a value and not empty, and no other byte changes.

ARB (Flutter): "@key" describes a key and stays; a description becomes a note. "@@locale" names the target.
Files of objects that describe a message each (WebExtensions, FormatJS, Transifex, VS Code, go-i18n): only the
messages are translated. Plurals of i18next and i18n-js get the keys that the target language needs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

from dragoman.base.errors import DataError
from dragoman.documents.edits import Edit, Lines, PartsDocument, decode_file, line_of
from dragoman.documents.formats import Languages
from dragoman.documents.plural_rules import CATEGORIES, categories_of, plurals_of
from dragoman.documents.strings.keyed import KeyedString, escape_units, has_upper_escapes

_DEEPEST = 200
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]:,]', re.DOTALL)
_NO_NUMBER = re.compile(r'"(?:[^"\\]|\\.)*+"|-?Infinity|NaN', re.DOTALL)
_LOCALE = re.compile(r"(?:[^\[\].]*\.)?(?:@@locale|locale|lang|language)")  # where a file names its language
_DESCRIBED = {  # the key of a message in an object, and the keys that may describe it
    "message": {"description", "placeholders", "hash", "comment"},
    "defaultMessage": {"description", "id", "file", "start", "end"},
    "string": {"context", "developer_comment", "character_limit"},
    "translation": {"id", "key", "notes", "context", "description", "comment"},
}
_KEY = re.compile(r'\s*"((?:(?:[^"\\]|\\.)*_)?)(other|plural)"\s*:\s*\Z')  # of a plural
_CODE = re.compile(r"[a-z]{2,3}(?:[-_]\w+)*")  # of a language
_PLURAL = {*CATEGORIES, "description", "hash"}  # of go-i18n
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
    notes, described = _arb_notes(root), _described(root)
    values, also, lines, write = list[KeyedString](), list[Edit](), Lines(text), Spelling(text).write
    for before, start, end, keys in _strings(text):
        top, around = str(keys[0]) if keys else "", _around(root, keys)
        value = json.loads(text[start:end])
        path = "".join(f".{one}" if isinstance(one, str) else f"[{one}]" for one in keys).removeprefix(".")
        if _LOCALE.fullmatch(path) and _CODE.fullmatch(value) and languages.renames(value):
            new = languages.target if "@@locale" not in keys else languages.target.replace("-", "_")
            also.append(Edit(start, end, json.dumps(new)))
            continue
        if (
            not value
            or (top in notes and top.startswith("@"))
            or (keys[-1:] in (["description"], ["hash"]) and {"one", "other"} <= around.keys() <= _PLURAL)
            or not {"_comment", "developer_comment"}.isdisjoint(keys)
            or not described.isdisjoint(keys[1:2])
        ):
            continue
        note = notes.get(top, "") or (_note(around) if described and len(keys) == 2 else "")
        values.append(own := KeyedString(start, end, value, lines.line(start), path, note, write))
        for form, source, entry in _lacking(text[before:start], around, languages.target):
            values.append(replace(own, value=source).added(end, f"{path}[{form}]", f",{entry}", "", ""))
    return PartsDocument(decoded, values, also)


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
            raise DataError(f"line {line}: nested more than {_DEEPEST} deep", hint="is it a file of strings?")


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


def _described(root: Any) -> set[str]:
    """The keys that describe the messages of a file, if its objects have one message each."""
    every = [*root.values()] if isinstance(root, dict) else root if isinstance(root, list) else []
    objects = [one for one in every if not isinstance(one, str)]
    for key, others in _DESCRIBED.items() if objects else ():
        kinds = (str, dict) if key == "translation" else str
        if all(isinstance(one, dict) and isinstance(one.get(key), kinds) for one in objects):
            mixed = len(objects) < len(every)  # then only "comment" tells it from any other file
            if all(one.keys() <= {key, *others} and (not mixed or "comment" in one) for one in objects):
                return others
    return set()


def _note(described: dict[str, Any]) -> str:
    notes = [described.get(key, "") for key in ("description", "comment", "developer_comment")]
    every = [one for each in notes for one in (each if isinstance(each, list) else [each])]
    return "\n".join(one for one in every if one and isinstance(one, str))


def _around(root: Any, keys: list[str | int]) -> dict[str, Any]:
    """The object that has a value, or an empty one if an array has it."""
    try:
        for key in keys[:-1]:
            root = root[key]
    except (KeyError, IndexError, TypeError):  # a key is there twice
        return {}
    return root if isinstance(root, dict) else {}


def _lacking(head: str, around: dict[str, Any], target: str) -> Iterator[tuple[str, str, str]]:
    """Yield the plural forms that the target language needs after the last one of an object.

    Each is the end of its key, the text that it is translated from, and its `head`: its key as the file has
    it, with the space around. The form "other" of i18next is in `key_other`, or was in `key_plural`.
    """
    found, known = _KEY.match(head), plurals_of(target)
    if found is None or known is None or not around:
        return
    stem = json.loads(f'"{found[1]}"')
    one, last = around.get(stem.removesuffix("_") or "one"), around.get(stem + found[2])
    lacking: list[str] = []
    if found[2] == "plural":
        numbered = known.forms != 2 and isinstance(one, str) and f"{stem}0" not in around
        lacking = [str(number) for number in range(known.forms)] * numbered
    elif f"{stem}one" in around and (stem or around.keys() <= _PLURAL):
        needed = categories_of(target, ordinal=stem.endswith("_ordinal_"))
        lacking = [category for category in needed if stem + category not in around]
    for form in lacking:
        # n = 0 is first in Arabic.
        is_one = form.isdigit() and known.forms > 1 and int(form) == (known.forms > 4)
        yield form, str(one if is_one else last), head[: found.start(2)] + form + head[found.end(2) :]


def _strings(text: str) -> Iterator[tuple[int, int, int, list[str | int]]]:
    """Yield the strings of a JSON text that are values.

    Each with the place behind the last bracket or comma, its start, its end, and the keys down to it.
    """
    before = 0
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
                yield before, *token.span(), stack
        before = before if token[0] == ":" or token[0][0] == '"' else token.end()


class Spelling:
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
