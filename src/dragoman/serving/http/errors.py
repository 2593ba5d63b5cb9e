"""Errors as answers, in the form of each protocol."""

from __future__ import annotations

import logging
import math
from typing import Any, Literal

from starlette.responses import JSONResponse, Response

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.serving.http.logs import log, place_of
from dragoman.serving.service.limits import Late, NoPyTorch, NotReady, Overloaded, TooLong, UnknownLanguage

Family = Literal["libretranslate", "deepl", "native"]

_OWN = ("/health", "/ready", "/metrics", "/version", "/openapi.json")
NO_KEY = "Please contact the server operator to obtain an API key"  # clients compare these with ==
WRONG_KEY = "Invalid API key"

STATUSES = {  # the title, and the reason in /openapi.json
    400: ("Bad request", "A field, a language or a limit."),
    401: ("Key needed", "No key, or a wrong one."),
    403: ("Forbidden", "No key, a wrong one, or something that the operator did not allow."),
    404: ("Not found", "Not found."),
    405: ("Method not allowed", ""),
    408: ("The request did not arrive in time", ""),
    413: ("Request too large", "Too large."),
    415: ("Unsupported media type", "A media type that is not supported."),
    429: ("Too many requests", "Too much at one time: try again after Retry-After seconds."),
    456: ("Quota exceeded", "The quota of the key for a day or a month is used up."),
    499: ("The client disconnected", ""),
    500: ("Internal error", ""),
    501: ("Not possible here", "The server has no PyTorch."),
    503: ("Service unavailable", "The models are being loaded, or the server shuts down."),
    504: ("Deadline passed", "The deadline passed: try again after Retry-After seconds."),
}


class Refusal(Exception):
    """An answer that is an error. `field` is the name of the field that is wrong, if one is."""

    def __init__(
        self, status: int, text: str, *, field: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(text)
        self.status, self.text, self.field, self.retry_after = status, text, field, retry_after


def refusal_of(error: Exception, path: str) -> Refusal:
    """Translate an error of the service for a client of a path. Unexpected ones are logged, not explained."""
    family = family_of(path)
    match error:
        case Refusal():
            return error
        case UnknownLanguage() if family == "libretranslate":
            return Refusal(400, f"{_shown(error.language)} is not supported")
        case UnknownLanguage() if family == "deepl":
            return Refusal(400, f"Value for language not supported: {_shown(error.language)}")
        case Overloaded(retry_after=seconds):
            return Refusal(429, str(error), retry_after=seconds)
        case TooLong():
            return Refusal(413 if family == "deepl" else 400, _with_hint(error))
        case Late(retry_after=seconds):
            return Refusal(504, str(error), retry_after=seconds)
        case NoPyTorch():
            return Refusal(501, _with_hint(error))
        case NotReady():
            return Refusal(503, str(error), retry_after=1)
        case ConfigError() | DataError():
            return Refusal(400, _with_hint(error))
    log(logging.ERROR, "failure", route=path, error=place_of(error))
    return Refusal(500, "Cannot translate text: internal error")


def refused(refusal: Refusal, family: Family) -> Response:
    """The answer for a client of a family of routes."""
    status, text = refusal.status, refusal.text
    headers = {"Cache-Control": "no-store"}
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(refusal.retry_after)))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if family == "libretranslate":
        return JSONResponse({"error": text}, status, headers)
    if family == "deepl":
        return JSONResponse({"message": text}, status, headers)
    problem: dict[str, Any] = {
        "type": "about:blank",
        "title": STATUSES[status][0] if status in STATUSES else "Error",
    }
    problem |= {"status": status, "detail": text}
    if refusal.field is not None:
        problem["field"] = refusal.field
    return JSONResponse(problem, status, headers, media_type="application/problem+json")


def family_of(path: str) -> Family:
    """The family of routes that a path belongs to, whether it exists or not."""
    if path in _OWN:
        return "native"
    if path.startswith("/v2/"):
        return "deepl"
    return "native" if path.startswith("/v1/") else "libretranslate"


def _with_hint(error: DragomanError) -> str:
    return f"{error}: {error.hint}" if error.hint else str(error)


def _shown(language: str) -> str:
    """A language of a client in a message: short, on one line."""
    return "".join(char if char.isprintable() else "?" for char in language[:40])
