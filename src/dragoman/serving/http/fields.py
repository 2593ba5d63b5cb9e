"""The fields of a request: from JSON, a form, the query, or the body of a GET, all alike.

Nothing is read beyond the limits, and a value of the wrong type is refused by the name of its field.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from dragoman.serving.http.errors import Refusal

_FORM, _MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
_MOST_FIELDS = 1000
_ARRAY = re.compile(r"(.+)\[\d*\]")
_TRUE, _FALSE = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


@dataclass
class Budget:
    """Bytes of bodies that all requests hold together: a bound for the memory of the server."""

    most: int
    held: int = 0

    def take(self, size: int) -> None:
        """Raises Refusal if there is no room now."""
        if self.held + size > self.most:
            raise Refusal(429, "too many large requests at one time: try again later", retry_after=1)
        self.held += size

    def give_back(self, size: int) -> None:
        self.held -= size


@dataclass(frozen=True)
class Upload:
    """A file that a client sent."""

    name: str
    data: bytes


@dataclass(frozen=True)
class Fields:
    """What a client sent, by name. `spelled`: as text, so that numbers are spelled out.

    Each method raises Refusal for a value of the wrong type. A field that is null is left out.
    """

    values: Mapping[str, Any]
    spelled: frozenset[str] = frozenset()
    files: Mapping[str, Upload] = field(default_factory=dict)
    within: str = ""  # the field that these are in, for messages

    def text(self, name: str, default: str | None = None) -> str | None:
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            raise self._wrong(name, "must be text")
        return self._valid(name, value)

    def needed(self, name: str) -> str:
        """A text without which nothing can be done; it is not empty."""
        value = self.text(name)
        if not value:
            raise Refusal(400, f"Invalid request: missing {self.within}{name} parameter", field=name)
        return value

    def texts(self, name: str) -> tuple[list[str], bool]:
        """A text or several, and whether they are several."""
        value = self.values.get(name)
        if value is None:
            raise Refusal(400, f"Invalid request: missing {self.within}{name} parameter", field=name)
        several = isinstance(value, list)
        items = value if isinstance(value, list) else [value]
        if not all(isinstance(item, str) for item in items):
            raise self._wrong(name, "must be text or a list of texts")
        return [self._valid(name, item) for item in items], several

    def words(self, name: str) -> tuple[str, ...]:
        """A list, or text with commas."""
        if self.values.get(name) is None:
            return ()
        items, _ = self.texts(name)
        return tuple(word.strip() for item in items for word in item.split(",") if word.strip())

    def choice(self, name: str, choices: Collection[str], default: str) -> str:
        value = self.text(name)
        if value is None:
            return default
        if value not in choices:
            raise self._wrong(name, f"must be one of {', '.join(choices)}")
        return value

    def whole(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number within bounds."""
        value = self.values.get(name)
        if value is None:
            return default
        if name in self.spelled and isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,9}", value):
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # JSON has one kind of numbers
        if type(value) is not int or not least <= value <= most:
            raise self._wrong(name, f"must be a whole number from {least} to {most}")
        return value

    def number(self, name: str, *, least: float, most: float) -> float | None:
        value = self.values.get(name)
        if value is None:
            return None
        if name in self.spelled and isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                value = math.nan
        if type(value) not in (int, float) or not least <= value <= most:
            raise self._wrong(name, f"must be a number from {least:g} to {most:g}")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        value = self.values.get(name)
        if value is None:
            return default
        if name in self.spelled and isinstance(value, str) and value.lower() in _TRUE + _FALSE:
            return value.lower() in _TRUE
        if type(value) is not bool:
            raise self._wrong(name, "must be true or false")
        return value

    def loose_flag(self, name: str, default: bool) -> bool:
        """A flag that clients also send as 0, 1 or text in JSON."""
        value = self.values.get(name)
        spelled = str(value) if type(value) in (int, bool) else value
        if isinstance(spelled, str):
            return Fields({name: spelled}, frozenset({name}), within=self.within).flag(name, default)
        return self.flag(name, default)

    def section(self, name: str) -> Fields:
        """The fields in a field."""
        value = self.values.get(name)
        if value is not None and not isinstance(value, dict):
            raise self._wrong(name, "must be an object")
        return Fields(value or {}, within=f"{self.within}{name}.")

    def only(self, known: Collection[str]) -> None:
        """Refuse fields of other names."""
        for name in self.values:
            if name not in known:
                shown = "".join(char if char.isprintable() else "?" for char in name[:40])
                raise Refusal(
                    400, f"{self.within}{shown}: unknown field; known are {', '.join(known)}", field=shown
                )

    def file(self, name: str) -> Upload:
        if name not in self.files:
            raise Refusal(400, "Invalid request: no file in the request", field=name)
        return self.files[name]

    def _valid(self, name: str, value: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise self._wrong(name, "has half of a surrogate pair, which is no character") from error
        return value

    def _wrong(self, name: str, what: str) -> Refusal:
        return Refusal(400, f"Invalid request: {self.within}{name} {what}", field=f"{self.within}{name}")


async def read_fields(request: Request, *, most: int, budget: Budget, deadline: float) -> tuple[Fields, int]:
    """Return the fields of a request, and how many bytes of the budget they hold.

    `most` is how many bytes the body may have, `deadline` a time of `time.monotonic`. Raises Refusal, and
    ClientDisconnect if the client left.
    """
    body = _Body(request, most, budget)
    try:
        async with asyncio.timeout(max(0.0, deadline - time.monotonic())):
            return await _fields(request, body), body.size
    except TimeoutError as error:
        body.give_back()
        raise Refusal(408, "the request did not arrive in time") from error
    except BaseException:
        body.give_back()
        raise


class _Body:
    """The body of a request, of which no more is read than is allowed."""

    def __init__(self, request: Request, most: int, budget: Budget) -> None:
        self._request, self._most, self._budget, self.size = request, most, budget, 0

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        if _declared(self._request) > self._most:
            raise self._too_large()
        async for chunk in self._request.stream():
            if self.size + len(chunk) > self._most:
                raise self._too_large()
            self._budget.take(len(chunk))
            self.size += len(chunk)
            yield chunk

    async def whole(self) -> bytes:
        return b"".join([chunk async for chunk in self.chunks()])

    def give_back(self) -> None:
        self._budget.give_back(self.size)
        self.size = 0

    def _too_large(self) -> Refusal:
        return Refusal(413, f"Request is too large: at most {self._most:,} bytes are allowed")


def _declared(request: Request) -> int:
    length = request.headers.get("content-length", "")
    return int(length) if re.fullmatch(r"[0-9]{1,18}", length) else 0


async def _fields(request: Request, body: _Body) -> Fields:
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "a compressed body is not supported")
    query = _spelled(request.scope["query_string"])
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _MULTIPART:
        return await _multipart(request, body, query)
    data = await body.whole()
    if not data:
        return Fields(query, frozenset(query))
    if kind == "application/json" or kind.endswith("+json") or (not kind and data.lstrip()[:1] == b"{"):
        values = _json(data)
        return Fields({**query, **values}, frozenset(query.keys() - values.keys()))
    if kind == _FORM or not kind:
        form = {**query, **_spelled(data)}
        return Fields(form, frozenset(form))
    if request.method in ("GET", "HEAD"):
        return Fields(query, frozenset(query))  # a body of a GET means nothing: it is ignored
    raise Refusal(415, f"Unsupported media type: send application/json or {_FORM}")


def _spelled(data: bytes) -> dict[str, Any]:
    """The fields of a form. Those that are repeated, or named `name[]`, are lists."""
    try:
        pairs = parse_qsl(
            data.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS
        )
    except UnicodeDecodeError as error:
        raise Refusal(400, "Invalid request: the form is not UTF-8") from error
    except ValueError as error:
        raise Refusal(400, f"Invalid request: more than {_MOST_FIELDS} fields") from error
    return _gathered(pairs)


def _gathered(pairs: Collection[tuple[str, str]]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name, value in pairs:
        array = _ARRAY.fullmatch(name)
        name = array[1] if array else name
        if name not in values:
            values[name] = [value] if array else value
        elif isinstance(values[name], list):
            values[name].append(value)
        else:
            values[name] = [values[name], value]
    return values


def _json(data: bytes) -> dict[str, Any]:
    try:
        values = json.loads(data.decode("utf-8-sig"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "Invalid request: the body is not JSON in UTF-8") from error
    if not isinstance(values, dict):
        raise Refusal(400, "Invalid request: the body must be a JSON object")
    return values


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")


class _InMemory(MultiPartParser):
    """Keeps small files in memory: they are bounded, and a file system may be read-only."""

    spool_max_size = 64 * 2**20


async def _multipart(request: Request, body: _Body, query: dict[str, Any]) -> Fields:
    chunks = body.chunks()
    try:
        parser = _InMemory(request.headers, chunks, max_files=1, max_fields=100, max_part_size=2**20)
        form = await parser.parse()
    except MultiPartException as error:
        raise Refusal(400, f"Invalid request: {error.message}") from error
    finally:
        await chunks.aclose()
    pairs, files = list[tuple[str, str]](), dict[str, Upload]()
    for name, value in form.multi_items():
        if isinstance(value, UploadFile):
            files[name] = Upload(value.filename or "", await value.read())
            await value.close()
        else:
            pairs.append((name, value))
    values = {**query, **_gathered(pairs)}
    return Fields(values, frozenset(values), files)
