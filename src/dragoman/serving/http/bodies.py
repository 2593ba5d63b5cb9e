"""The bodies of requests: fields from JSON, a form, the query, or the body of a GET, all alike.

Nothing is read beyond the limits.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Collection
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.fields import Sent, Upload

_FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
_MOST_FIELDS = 1000
_ARRAY = re.compile(r"(.+)\[\d*\]")


@dataclass
class Budget:
    """Bytes of bodies that all requests hold together: a bound for the memory of the server."""

    most: int
    held: int = 0

    def take(self, size: int) -> None:
        """Raises Refusal if the memory is used up now."""
        if self.held + size > self.most:
            raise Refusal(429, "too many large requests at one time: try again later", retry_after=1)
        self.held += size

    def give_back(self, size: int) -> None:
        self.held -= size


async def read_request(request: Request, *, most: int, budget: Budget, deadline: float) -> tuple[Sent, int]:
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
    length = request.headers.get("content-length", "0")
    if not re.fullmatch(r"[0-9]+", length):
        raise Refusal(400, "the Content-Length is not a number")
    return int(length.lstrip("0")[:19] or 0)  # more digits are too large, whatever they are


async def _fields(request: Request, body: _Body) -> Sent:
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(415, "a compressed body is not supported")
    query = _spelled(request.scope["query_string"])
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == MULTIPART:
        return await _multipart(request, body, query)
    data = await body.whole()
    if not data:
        return Sent(query, frozenset(query))
    if kind == "application/json" or kind.endswith("+json") or (not kind and data.lstrip()[:1] == b"{"):
        values = _json(data)
        return Sent({**query, **values}, frozenset(query.keys() - values.keys()))
    if kind == _FORM or not kind:
        form = {**query, **_spelled(data)}
        return Sent(form, frozenset(form))
    if request.method in ("GET", "HEAD"):
        return Sent(query, frozenset(query))  # a body of a GET means nothing: it is ignored
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

    def on_part_begin(self) -> None:
        super().on_part_begin()
        self._charset = "utf-8"  # not one of the client (RFC 7578): some, as punycode, take quadratic time


async def _multipart(request: Request, body: _Body, query: dict[str, Any]) -> Sent:
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
    return Sent(values, frozenset(values), files)
