"""JSON Lines: each line is an object with a sentence and its translation, in one of three forms.

    {"source": "A dog.", "target": "Ein Hund."}
    {"translation": {"en": "A dog.", "de": "Ein Hund."}}
    {"en": "A dog.", "de": "Ein Hund."}

If the keys are languages and the user names none, the first key of the first line is the source. A line
break inside a sentence becomes a space. An object may have a "context", such as the name of a menu, and the
name of its "document".
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dragoman.base.errors import DataError
from dragoman.text.corpora.languages import Languages, is_language
from dragoman.text.corpora.lines import Line, TextFile, one_line

_HINT = 'write {"source": "...", "target": "..."} or {"translation": {"en": "...", "de": "..."}}'

_SHOWN = 8  # keys in a message
_LETTERS = 40  # of a key in a message


def languages(file: TextFile) -> Languages:
    """Return the languages that are keys of the first object, in order.

    Return (None, None) if its keys are "source" and "target". Raise DataError if it has neither these nor
    exactly two languages.
    """
    number, line = next(((n, line) for n, line in enumerate(file, 1) if line.strip()), (1, "{}"))
    record = _record(line, f"{file.name}:{number}")
    if "source" in record and "target" in record:
        return None, None
    codes = [key for key in record if is_language(key) and isinstance(record[key], str)]
    if len(codes) > 2:  # "id" is more likely an identifier than Indonesian
        codes = [key for key in codes if key != "id"]
    if len(codes) == 2:
        return codes[0], codes[1]
    names = codes or list(record)
    keys = ", ".join(f'"{key[:_LETTERS]}"' for key in names[:_SHOWN]) or "none"
    keys += ", ..." if len(names) > _SHOWN else ""
    raise DataError(
        f"{file.name}:{number}: which keys hold the sentence and its translation? Keys: {keys}", hint=_HINT
    )


def read(file: TextFile, keys: Languages) -> Iterator[Line]:
    """Yield the pairs; a blank line is a pair of empty sentences.

    `keys` are the languages to read from objects without "source" and "target". Raise DataError naming
    file and line.
    """
    for number, line in enumerate(file, 1):
        where = f"{file.name}:{number}"
        if not line.strip():
            yield Line(number, "", "")
            continue
        record = _record(line, where)
        source, target = keys[0] or "source", keys[1] or "target"
        if "source" in record and (source not in record or "target" in record):
            source, target = "source", "target"
        about = {key: record[key] for key in ("context", "document") if record.get(key) is not None}
        about |= {key: one.decode() for key, one in about.items() if isinstance(one, bytes)}
        more = {key: _sentence(about, key, where) for key in about}
        yield Line(number, _sentence(record, source, where), _sentence(record, target, where), **more)


def _record(line: str, where: str) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_int=str.encode, parse_float=str.encode)  # of any length
    except (ValueError, RecursionError) as error:
        reason = f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else error
        raise DataError(f"{where}: not valid JSON ({reason})", hint="write one object a line") from error
    if isinstance(record, dict) and isinstance(inner := record.get("translation"), dict):
        record = {key: record[key] for key in ("context", "document") if key in record} | inner
    if not isinstance(record, dict):
        raise DataError(f"{where}: not a JSON object", hint=_HINT)
    return record


def _sentence(record: dict[str, Any], key: str, where: str) -> str:
    text = record.get(key)
    if not isinstance(text, str):
        problem = f'"{key}" is not text' if key in record else f'no "{key}"'
        raise DataError(f"{where}: {problem}", hint=_HINT)
    return one_line(text, where)
