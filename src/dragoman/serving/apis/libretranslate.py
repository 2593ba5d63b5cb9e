"""The routes that clients of LibreTranslate call, at the root."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from starlette.responses import Response

from dragoman.base.languages import language_name
from dragoman.documents.formats import FORMATS
from dragoman.serving.apis.documents import document_of, file_answer
from dragoman.serving.apis.endpoints import Call, Endpoint, Plain
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.fields import Several, choice, file, text, texts, whole
from dragoman.serving.http.guard import base_url
from dragoman.serving.service.ask import Ask
from dragoman.serving.service.languages import Pairs

_FRONTEND_SECONDS = 1  # that its page waits after a key before it sends a request


async def translate(call: Call) -> Plain:
    texts, wanted = call["q"], call["alternatives"]
    _check_size(call, texts)
    context = " ".join(call["context"].split())
    contexts = (context,) if context else ()
    ask = replace(_ask(call), markup=call["format"], n_best=wanted + 1, contexts=contexts)
    answers = await call.translate(texts, ask)
    columns: dict[str, list[Any]] = {"translatedText": [one.text for one in answers]}
    if wanted:
        columns["alternatives"] = [list(one.alternatives) for one in answers]
    if ask.detects:
        columns["detectedLanguage"] = [_guess(one.source, one.confidence or 0.0) for one in answers]
    several = isinstance(texts, Several)
    return {name: column if several else column[0] for name, column in columns.items()}


async def detect(call: Call) -> Plain:
    texts = call["q"]
    _check_size(call, texts)
    guesses = await call.service.detect(texts[0] if texts else "")
    return [_guess(one.language, one.confidence) for one in guesses]


async def languages(call: Call) -> Plain:
    return language_tables(call.service.pairs)


async def translate_file(call: Call) -> Plain:
    with call.state.jobs.awaited():
        ask = replace(_ask(call), **{name: call[name] for name in _CHOICES})
        document, suffix = await document_of(call, call["file"], ask)
    name = call.state.files.put(document.data, suffix)
    url = f"{base_url(call.request, call.state.settings)}/download_file/{name}"
    return {"translatedFileUrl": url}


async def download_file(call: Call) -> Response:
    return file_answer(*call.state.files.read(call.request.path_params["name"]))


async def suggest(call: Call) -> Plain:
    if not call.state.settings.suggestions:
        raise Refusal(403, "Suggestions are disabled on this server")
    text, better = call["q"], call["s"]
    _check_size(call, [text, better])
    await call.service.correct(text, "", better, (call["source"], call["target"]))
    return {"success": True}


async def frontend_settings(call: Call) -> Plain:
    settings, pairs = call.state.settings, call.service.pairs
    used = call.state.usage.of(call.client)
    left = [max(0, most - used[span]) for span, most in call.quota.items()]
    first = {"source": pairs.sources[0], "target": [*pairs.targets_of(pairs.sources[0]), pairs.sources[0]][0]}
    return {
        "charLimit": min([call.service.limits.characters, *left]),
        "frontendTimeout": _FRONTEND_SECONDS * 1000,
        "apiKeys": settings.keys is not None,
        "keyRequired": settings.keys is not None,
        "suggestions": settings.suggestions,
        "filesTranslation": True,
        "supportedFilesFormat": [suffix for one in FORMATS.values() for suffix in one.suffixes],
        "language": {side: {"code": one, "name": language_name(one)} for side, one in first.items()},
    }


def language_tables(pairs: Pairs) -> list[dict[str, Any]]:
    """The languages, each with those that it is translated into."""
    return [
        {
            "code": code,
            "name": language_name(code),
            "targets": list(pairs.targets_of(code)) if code in pairs.sources else [],
        }
        for code in dict.fromkeys([*pairs.sources, *pairs.targets])
    ]


def _ask(call: Call) -> Ask:
    return Ask(source=call["source"], target=call["target"])


def _check_size(call: Call, texts: Sequence[str]) -> None:
    limits = call.service.limits
    for size, most in ((len(texts), limits.texts), (sum(map(len, texts)), limits.characters)):
        if size > most:
            raise Refusal(400, f"Invalid request: request ({size}) exceeds text limit ({most})", field="q")


def _guess(language: str, confidence: float) -> dict[str, Any]:
    return {"confidence": round(100 * confidence, 1), "language": language}


_GUESS = {"confidence": {"type": "number", "minimum": 0, "maximum": 100}, "language": str}
_PAIR = {
    "source": text('A code of /languages, or "auto".', required=True),
    "target": text("A code of /languages.", required=True),
}
_CHOICES = dict.fromkeys(("model", "adapter", "terms"), text("LibreTranslate has no such field."))
_LANGUAGE = {"code": str, "name": str}

ENDPOINTS = (
    Endpoint(
        "POST /translate",
        translate,
        "Translate a text or a list of texts.",
        fields={
            "q": texts(),
            **_PAIR,
            "alternatives": whole(0, least=0, most=lambda limits: limits.alternatives),
            "format": choice(("text", "html"), "text", message="{value} format is not supported"),
            "context": text("What stands before the texts. LibreTranslate has no such field.", default=""),
        },
        bodies=("json", "form"),
        returns={
            "translatedText": (str, [str]),
            "alternatives?": [(str, [str])],
            "detectedLanguage?": (_GUESS, [_GUESS]),
        },
        works=True,
    ),
    Endpoint(
        "POST /detect",
        detect,
        "Find the language of a text, the likeliest first.",
        fields={"q": texts()},
        bodies=("json", "form"),
        returns=[_GUESS],
        works=True,
    ),
    Endpoint(
        "GET /languages",
        languages,
        "List the languages, each with its target languages.",
        returns=[{**_LANGUAGE, "targets": [str]}],
        locked=False,
    ),
    Endpoint(
        "POST /translate_file",
        translate_file,
        "Translate a document; the answer says where to fetch it.",
        fields={**_PAIR, **_CHOICES, "file": file()},
        bodies=("multipart",),
        returns={"translatedFileUrl": {"type": "string", "format": "uri"}},
        works=True,
    ),
    Endpoint(
        "GET /download_file/{name}",
        download_file,
        "Fetch a translated document.",
        content="application/octet-stream",
        locked=False,
    ),
    Endpoint(
        "POST /suggest",
        suggest,
        "Store a better translation in the memory, if the server takes suggestions.",
        fields={
            **_PAIR,
            "q": text("The text.", required=True),
            "s": text("Its better translation.", required=True),
        },
        bodies=("json", "form"),
        returns={"success": bool},
        works=True,
    ),
    Endpoint(
        "GET /frontend/settings",
        frontend_settings,
        "The settings of this server for a page.",
        returns={
            "charLimit": int,
            "frontendTimeout": int,
            "apiKeys": bool,
            "keyRequired": bool,
            "suggestions": bool,
            "filesTranslation": bool,
            "supportedFilesFormat": [str],
            "language": {"source": _LANGUAGE, "target": _LANGUAGE},
        },
        locked=False,
    ),
)
