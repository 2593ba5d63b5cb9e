"""The fields of a request. Each is declared once, which gives its parser, its message and its schema.

FIELDS = {"q": texts(), "target": text(required=True), "most": whole(1, least=1, most=9)}
read(FIELDS, sent, limits)  # {"q": ["A dog."], "target": "de", "most": 1}, or raises Refusal
schemas(FIELDS, limits)  # for /openapi.json

A field that is null is left out. `bodies.py` reads them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dragoman.serving.http.errors import Refusal
from dragoman.serving.service.limits import Limits

Schema = Mapping[str, Any]  # JSON Schema 2020-12

TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
NULL: Schema = {"type": "null"}
_SCHEMAS: Mapping[Any, Schema] = {str: TEXT, int: COUNT, float: NUMBER, bool: FLAG, dict: {"type": "object"}}

_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


# Schemas


def schema_of(shape: Any) -> Schema:
    """The schema of an answer by its shape: {"name": str, "targets?": [str], "at": (int, None)}.

    A name with "?" may be missing, a tuple has alternatives, and a schema stands for itself.
    """
    if isinstance(shape, tuple):
        return either(*map(schema_of, shape))
    if isinstance(shape, list):
        return array(schema_of(shape[0]))
    if not isinstance(shape, Mapping):
        return NULL if shape is None else _SCHEMAS[shape]
    if isinstance(shape.get("type"), str):
        return shape
    needed = [name for name in shape if not name.endswith("?")]
    return structure({name.rstrip("?"): schema_of(one) for name, one in shape.items()}, required=needed)


def array(items: Schema, **bounds: int) -> Schema:
    return {"type": "array", "items": items, **bounds}


def either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


def enum(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text} if text else schema


def structure(
    properties: Mapping[str, Schema], *, required: Sequence[str] | None = None, closed: bool = False
) -> Schema:
    """An object; by default it has all of the properties. `closed`: and no others."""
    needed = list(properties if required is None else required)
    return {
        "type": "object",
        "properties": dict(properties),
        **({"required": needed} if needed else {}),
        **({"additionalProperties": False} if closed else {}),
    }


# The request of a client


@dataclass(frozen=True)
class Upload:
    """A file that a client sent."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Sent:
    """The values that a client sent, by name. `spelled`: as text, so that numbers are spelled out."""

    values: Mapping[str, Any]
    spelled: frozenset[str] = frozenset()
    files: Mapping[str, Upload] = field(default_factory=dict)


# Declarations


class SentValue(NamedTuple):
    """A value that a client sent for a field, and where."""

    value: Any
    name: str  # in full, such as options.beam
    spelled: bool
    limits: Limits

    def wrong(self, what: str) -> Refusal:
        return Refusal(400, f"Invalid request: {self.name} {what}", field=self.name)


@dataclass(frozen=True)
class Field:
    """A field of requests. `parse` raises Refusal for a value of the wrong kind."""

    parse: Callable[[SentValue], Any]
    schema: Schema | Callable[[Limits], Schema]  # of a value that is not null
    default: Any = None
    required: bool = False
    about: str = ""
    missing: Any = None  # parsed if the field is left out

    def described(self, limits: Limits) -> Schema:
        """The schema of the field. Null is the same as leaving it out."""
        schema = self.schema(limits) if callable(self.schema) else self.schema
        return described(schema if self.required else either(schema, NULL), self.about)


Fields = Mapping[str, Field]
Bound = int | Callable[[Limits], int]


def read(
    fields: Fields, sent: Sent, limits: Limits, *, within: str = "", closed: bool = False
) -> dict[str, Any]:
    """Return the value of each field. `closed`: refuse fields of other names. Raises Refusal."""
    for name in sent.values if closed else ():
        if name not in fields:
            shown = "".join(char if char.isprintable() else "?" for char in name[:40])
            known = ", ".join(fields)
            raise Refusal(400, f"{within}{shown}: unknown field; known are {known}", field=shown)
    return {name: _value(one, name, sent, limits, within) for name, one in fields.items()}


def schemas(fields: Fields, limits: Limits) -> dict[str, Schema]:
    """The schema of each field."""
    return {name: one.described(limits) for name, one in fields.items()}


def required(fields: Fields) -> tuple[str, ...]:
    """The names of the fields without which a request is refused."""
    return tuple(name for name, one in fields.items() if one.required)


def _value(one: Field, name: str, sent: Sent, limits: Limits, within: str) -> Any:
    value: Any = sent.files.get(name) if one.parse is _upload else sent.values.get(name)
    value = one.missing if value is None else value
    if value is not None:
        return one.parse(SentValue(value, within + name, name in sent.spelled, limits))
    if one.required:
        missing = "no file in the request" if one.parse is _upload else f"missing {within}{name} parameter"
        raise Refusal(400, f"Invalid request: {missing}", field=within + name)
    return one.default


def text(
    about: str = "", *, required: bool = False, empty: bool = False, default: str | None = None
) -> Field:
    """A text. One that is required is not empty, unless `empty`."""

    def parse(one: SentValue) -> str:
        if not isinstance(one.value, str):
            raise one.wrong("must be text")
        if required and not empty and not one.value:
            raise Refusal(400, f"Invalid request: missing {one.name} parameter", field=one.name)
        return _valid(one, one.value)

    schema = {**TEXT, "minLength": 1} if required and not empty else TEXT
    return Field(parse, schema, default, required, about)


def texts(about: str = "", **bounds: int) -> Field:
    """A text or several: a list."""
    return Field(_texts, either(TEXT, array(TEXT, **bounds)), required=True, about=about)


def words() -> Field:
    """A list, or text with commas."""

    def parse(one: SentValue) -> tuple[str, ...]:
        return tuple(word.strip() for item in _texts(one) for word in item.split(",") if word.strip())

    return Field(parse, either(TEXT, array(TEXT)), default=())


def choice(
    choices: Collection[str], default: str | None = None, *, loose: bool = False, message: str = ""
) -> Field:
    """One of several texts. `loose`: clients also send a number or a truth value, as JSON has them.

    `message` is the error of a protocol, with {name}, {value} and {choices}.
    """

    def parse(one: SentValue) -> str:
        value = one.value
        if loose and isinstance(value, int):
            value = str(int(value))  # of a truth value, too
        if not isinstance(value, str) and not message:
            raise one.wrong("must be text")
        if not isinstance(value, str) or value not in choices:
            known = ", ".join(filter(None, choices))
            if message:
                shown = message.format(name=one.name, value=repr(str(value)[:40]), choices=known)
                raise Refusal(400, shown, field=one.name)
            raise one.wrong(f"must be one of {known}")
        return value

    schema: Schema = enum(*choices)
    if loose:
        schema = either(schema, FLAG, {"type": "integer", "enum": [0, 1]})
    return Field(parse, schema, default)


def several(choices: Collection[str]) -> Field:
    """One of several texts, or some of them."""

    def parse(one: SentValue) -> list[str]:
        found = _texts(one)
        for item in found:
            if item not in choices:
                raise one.wrong(f"must be of {', '.join(choices)}, not {item[:40]!r}")
        return found

    return Field(parse, either(enum(*choices), array(enum(*choices))), default=[])


def whole(default: int | None, *, least: int, most: Bound) -> Field:
    """A whole number within bounds. `most` may be a limit of the server."""

    def parse(one: SentValue) -> int:
        value, top = one.value, _bound(most, one.limits)
        if one.spelled and isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,9}", value):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one kind of numbers
        if type(value) is not int or not least <= value <= top:
            raise one.wrong(f"must be a whole number from {least} to {top}")
        return value

    def schema(limits: Limits) -> Schema:
        return {"type": "integer", "minimum": least, "maximum": _bound(most, limits)}

    return Field(parse, schema, default)


def number(*, least: float, most: float | Bound) -> Field:
    """A number within bounds. `most` may be a limit of the server."""

    def parse(one: SentValue) -> float:
        value, top = one.value, _bound(most, one.limits)
        if one.spelled and isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                value = math.nan
        if type(value) not in (int, float) or not least <= value <= top:
            raise one.wrong(f"must be a number from {least:g} to {top:g}")
        return float(value)

    return Field(parse, lambda limits: {"type": "number", "minimum": least, "maximum": _bound(most, limits)})


def flag(*, default: bool, loose: bool = False) -> Field:
    """A truth value. `loose`: clients also send it as 0, 1 or text in JSON."""

    def parse(one: SentValue) -> bool:
        value = one.value
        spelled = str(value) if loose and type(value) in (int, bool) else value
        if (one.spelled or loose) and isinstance(spelled, str) and spelled.lower() in _TRUE + _FALSE:
            return spelled.lower() in _TRUE
        if type(value) is not bool:
            raise one.wrong("must be true or false")
        return value

    numbers: Schema = {"type": "integer", "enum": [0, 1]}
    return Field(parse, either(FLAG, enum("0", "1", "true", "false"), numbers) if loose else FLAG, default)


def file() -> Field:
    """A file."""
    return Field(_upload, {"type": "string", "format": "binary"}, required=True)


def section(fields: Fields) -> Field:
    """An object with these fields and no others."""

    def parse(one: SentValue) -> dict[str, Any]:
        if not isinstance(one.value, dict):
            raise one.wrong("must be an object")
        return read(fields, Sent(one.value), one.limits, within=f"{one.name}.", closed=True)

    def schema(limits: Limits) -> Schema:
        return structure(schemas(fields, limits), required=required(fields), closed=True)

    return Field(parse, schema, missing={})


def table(about: str = "") -> Field:
    """An object with any fields."""

    def parse(one: SentValue) -> Mapping[str, Any]:
        if not isinstance(one.value, dict):
            raise one.wrong("must be an object")
        _valid(one, json.dumps(one.value, ensure_ascii=False))
        return one.value

    return Field(parse, {"type": "object"}, about=about, missing={})


def sections(fields: Fields, about: str = "") -> Field:
    """A list of objects with these fields, at most as many as a request may have texts."""

    def parse(one: SentValue) -> list[dict[str, Any]]:
        value, most = one.value, one.limits.texts
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            raise one.wrong("must be a list of objects")
        if len(value) > most:
            raise Refusal(400, f"Invalid request: at most {most} {one.name}", field=one.name)
        return [read(fields, Sent(item), one.limits, within=f"{one.name}.") for item in value]

    def schema(limits: Limits) -> Schema:
        return array(structure(schemas(fields, limits), required=required(fields)))

    return Field(parse, schema, [], about=about)


class Several(list[str]):
    """Texts that were sent as a list, so that the answer is a list, too."""


def _texts(one: SentValue) -> list[str]:
    several = isinstance(one.value, list)
    items = one.value if several else [one.value]
    if not all(isinstance(item, str) for item in items):
        raise one.wrong("must be text or a list of texts")
    return (Several if several else list)(_valid(one, item) for item in items)


def _upload(one: SentValue) -> Upload:
    upload: Upload = one.value
    return upload


def _valid(one: SentValue, value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise one.wrong("has half of a surrogate pair, which is not a character") from error
    return value


def _bound(most: float | Bound, limits: Limits) -> float:
    return most(limits) if callable(most) else most


KEYS: Fields = {"api_key": text(), "auth_key": text()}
"""Where a key may be, besides the header."""
