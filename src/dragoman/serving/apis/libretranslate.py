"""The routes that clients of LibreTranslate call, at the root."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.responses import JSONResponse, Response

from dragoman.documents.formats import FORMATS
from dragoman.serving.apis.documents import document_of, file_answer
from dragoman.serving.apis.endpoints import Endpoint, Incoming
from dragoman.serving.http.caller import base_url
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.schemas import (
    COUNT,
    FLAG,
    KEYS,
    TEXT,
    array,
    described,
    either,
    enum,
    optional,
    structure,
)
from dragoman.serving.service.ask import Answer, Ask
from dragoman.serving.service.languages import Pairs

_FRONTEND_SECONDS = 1  # that its page waits after a key before it asks


async def translate(call: Incoming) -> Response:
    texts, several = call.fields.texts("q")
    source, target = call.fields.needed("source"), call.fields.needed("target")
    wanted = call.fields.whole("alternatives", 0, least=0, most=call.service.limits.alternatives)
    _check_size(call, texts)
    ask = Ask(
        source=None if source == "auto" else source,
        target=target,
        markup="html" if _format(call) == "html" else "text",
        n_best=wanted + 1,
    )
    answers = await call.service.translate(texts, ask, client=call.client, deadline=call.deadline)
    call.desk.use(call.client, sum(map(len, texts)))
    answer: dict[str, Any] = {"translatedText": _each([one.text for one in answers], several)}
    if wanted:
        answer["alternatives"] = _each([list(one.alternatives) for one in answers], several)
    if source == "auto":
        answer["detectedLanguage"] = _each([_detected(one) for one in answers], several)
    return JSONResponse(answer)


async def detect(call: Incoming) -> Response:
    texts, _ = call.fields.texts("q")
    _check_size(call, texts)
    guesses = await call.service.detect(texts[0] if texts else "")
    return JSONResponse([_guess(one.language, one.confidence) for one in guesses])


async def languages(call: Incoming) -> Response:
    pairs = call.service.pairs
    return JSONResponse(
        [
            {
                "code": code,
                "name": pairs.name_of(code),
                "targets": list(pairs.targets_of(code)) if code in pairs.sources else [],
            }
            for code in dict.fromkeys([*pairs.sources, *targets_of_all(pairs)])
        ]
    )


async def translate_file(call: Incoming) -> Response:
    source, target = call.fields.needed("source"), call.fields.needed("target")
    ask = Ask(source=None if source == "auto" else source, target=target)
    file = call.fields.file("file")
    with call.desk.jobs.awaited():
        document, suffix = await document_of(call, file, ask)
    name = call.desk.shelf.put(document.data, suffix)
    url = f"{base_url(call.request, call.desk.settings)}/download_file/{name}"
    return JSONResponse({"translatedFileUrl": url})


async def download_file(call: Incoming) -> Response:
    return file_answer(*call.desk.shelf.read(call.request.path_params["name"]))


async def suggest(call: Incoming) -> Response:
    if not call.desk.settings.suggestions:
        raise Refusal(403, "Suggestions are disabled on this server")
    source, target = call.fields.needed("source"), call.fields.needed("target")
    text, better = call.fields.needed("q"), call.fields.needed("s")
    _check_size(call, [text, better])
    pair = call.service.pairs.find(source, target)
    await call.service.correct(text, "", better, (pair.source, pair.target))
    return JSONResponse({"success": True})


async def frontend_settings(call: Incoming) -> Response:
    settings, pairs = call.desk.settings, call.service.pairs
    source = pairs.sources[0]
    target = pairs.targets_of(source)[0]
    return JSONResponse(
        {
            "charLimit": call.service.limits.characters,
            "frontendTimeout": _FRONTEND_SECONDS * 1000,
            "apiKeys": settings.keys is not None,
            "keyRequired": settings.keys is not None,
            "suggestions": settings.suggestions,
            "filesTranslation": True,
            "supportedFilesFormat": [suffix for one in FORMATS.values() for suffix in one.suffixes],
            "language": {
                "source": {"code": source, "name": pairs.name_of(source)},
                "target": {"code": target, "name": pairs.name_of(target)},
            },
        }
    )


def targets_of_all(pairs: Pairs) -> list[str]:
    """The languages that are translated to."""
    return list(dict.fromkeys(target for source in pairs.sources for target in pairs.targets_of(source)))


def _format(call: Incoming) -> str:
    value = call.fields.text("format", "text")
    if value not in ("text", "html"):
        raise Refusal(400, f"{(value or '')[:40]!r} format is not supported", field="format")
    return value


def _check_size(call: Incoming, texts: Sequence[str]) -> None:
    limits = call.service.limits
    for size, most in ((len(texts), limits.texts), (sum(map(len, texts)), limits.characters)):
        if size > most:
            raise Refusal(400, f"Invalid request: request ({size}) exceeds text limit ({most})", field="q")


def _each(items: list[Any], several: bool) -> Any:
    return items if several else items[0]


def _detected(answer: Answer) -> dict[str, Any]:
    return _guess(answer.source, answer.confidence or 0.0)


def _guess(language: str, confidence: float) -> dict[str, Any]:
    return {"confidence": round(100 * confidence, 1), "language": language}


_GUESS = structure({"confidence": {"type": "number", "minimum": 0, "maximum": 100}, "language": TEXT})
_PAIR = {
    "source": described({"type": "string", "minLength": 1}, 'A code of /languages, or "auto".'),
    "target": described({"type": "string", "minLength": 1}, "A code of /languages."),
}
_LANGUAGE = structure({"code": TEXT, "name": TEXT})

ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/translate",
        answer=translate,
        family="libretranslate",
        summary="Translate a text or a list of texts.",
        fields={
            "q": either(TEXT, array(TEXT)),
            **_PAIR,
            "format": optional(enum("text", "html")),
            "alternatives": optional(COUNT),
            **KEYS,
        },
        required=("q", "source", "target"),
        bodies=("json", "form"),
        returns=structure(
            {
                "translatedText": either(TEXT, array(TEXT)),
                "alternatives": array(either(TEXT, array(TEXT))),
                "detectedLanguage": either(_GUESS, array(_GUESS)),
            },
            required=("translatedText",),
        ),
        refuses=(400, 403, 413, 415, 429, 503, 504),
        works=True,
    ),
    Endpoint(
        method="POST",
        path="/detect",
        answer=detect,
        family="libretranslate",
        summary="Find the language of a text, the likeliest first.",
        fields={"q": either(TEXT, array(TEXT)), **KEYS},
        required=("q",),
        bodies=("json", "form"),
        returns=array(_GUESS),
        refuses=(400, 403, 413, 415, 429, 503, 504),
        works=True,
    ),
    Endpoint(
        method="GET",
        path="/languages",
        answer=languages,
        family="libretranslate",
        summary="List the languages, each with those that it is translated into.",
        returns=array(structure({"code": TEXT, "name": TEXT, "targets": array(TEXT)})),
        locked=False,
    ),
    Endpoint(
        method="POST",
        path="/translate_file",
        answer=translate_file,
        family="libretranslate",
        summary="Translate a document; the answer says where to fetch it.",
        fields={"file": {"type": "string", "format": "binary"}, **_PAIR, **KEYS},
        required=("file", "source", "target"),
        bodies=("multipart",),
        returns=structure({"translatedFileUrl": {"type": "string", "format": "uri"}}),
        refuses=(400, 403, 413, 415, 429, 503, 504),
        works=True,
        uploads=True,
    ),
    Endpoint(
        method="GET",
        path="/download_file/{name}",
        answer=download_file,
        family="libretranslate",
        summary="Fetch a translated document.",
        content="application/octet-stream",
        refuses=(404,),
        locked=False,
    ),
    Endpoint(
        method="POST",
        path="/suggest",
        answer=suggest,
        family="libretranslate",
        summary="Store a better translation in the memory, if the server takes suggestions.",
        fields={
            "q": described({"type": "string", "minLength": 1}, "The text."),
            "s": described({"type": "string", "minLength": 1}, "Its better translation."),
            **_PAIR,
            **KEYS,
        },
        required=("q", "s", "source", "target"),
        bodies=("json", "form"),
        returns=structure({"success": FLAG}),
        refuses=(400, 403, 413, 415, 429, 503),
        works=True,
    ),
    Endpoint(
        method="GET",
        path="/frontend/settings",
        answer=frontend_settings,
        family="libretranslate",
        summary="What a page needs to know of this server.",
        returns=structure(
            {
                "charLimit": COUNT,
                "frontendTimeout": COUNT,
                "apiKeys": FLAG,
                "keyRequired": FLAG,
                "suggestions": FLAG,
                "filesTranslation": FLAG,
                "supportedFilesFormat": array(TEXT),
                "language": structure({"source": _LANGUAGE, "target": _LANGUAGE}),
            }
        ),
        locked=False,
    ),
)
