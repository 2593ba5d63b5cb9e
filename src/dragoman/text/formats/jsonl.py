"""JSON Lines: a line is an object that holds a sentence and its translation, in one of three ways.

    {"source": "A dog.", "target": "Ein Hund."}
    {"translation": {"en": "A dog.", "de": "Ein Hund."}}
    {"en": "A dog.", "de": "Ein Hund."}

Where keys are languages and nothing else says which is the source, it is the first of the first line.
A line break inside a sentence is read as a space, since a sentence is a line everywhere else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dragoman.base.errors import DataError
from dragoman.text.languages import Languages, is_language
from dragoman.text.lines import Line, TextFile, one_line

_HINT = 'write {"source": "...", "target": "..."} or {"translation": {"en": "...", "de": "..."}}'


def languages(file: TextFile) -> Languages:
    """The languages that the keys of the first object name, in their order; (None, None) where they do not.

    Raises DataError where it has neither source and target nor exactly two languages.
    """
    number, line = next(((n, line) for n, line in enumerate(file, 1) if line.strip()), (1, "{}"))
    record = _record(line, f"{file.name}:{number}")
    if "source" in record and "target" in record:
        return None, None
    named = [key for key in record if is_language(key) and isinstance(record[key], str)]
    if len(named) > 2:  # an identifier, more likely than Indonesian
        named = [key for key in named if key != "id"]
    match named:
        case [source, target]:
            return source, target
        case found:
            listed = ", ".join(f'"{key}"' for key in found or record) or "nothing"
            raise DataError(
                f"{file.name}:{number}: which keys are the sentence and its translation? It has {listed}",
                hint=_HINT,
            )


def read(file: TextFile, keys: Languages) -> Iterator[Line]:
    """Yields the pairs; a blank line is a pair of empty sentences.

    `keys` are the languages to take where there is no "source" and "target". Raises DataError.
    """
    for number, line in enumerate(file, 1):
        where = f"{file.name}:{number}"
        if not line.strip():
            yield Line(number, "", "")
            continue
        record = _record(line, where)
        if "source" in record and "target" in record:
            source, target = "source", "target"
        else:
            source, target = keys[0] or "source", keys[1] or "target"
        yield Line(number, _sentence(record, source, where), _sentence(record, target, where))


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
        raise DataError(
            f"{where}: not valid JSON ({reason})", hint="one object a line is expected"
        ) from error
    if isinstance(record, dict) and isinstance(record.get("translation"), dict):
        record = record["translation"]
    if not isinstance(record, dict):
        raise DataError(f"{where}: not a JSON object", hint=_HINT)
    return record


def _sentence(record: dict[str, Any], key: str, where: str) -> str:
    text = record.get(key)
    if not isinstance(text, str):
        problem = f'"{key}" is not text' if key in record else f'no "{key}"'
        raise DataError(f"{where}: {problem}", hint=_HINT)
    return one_line(text, where)
