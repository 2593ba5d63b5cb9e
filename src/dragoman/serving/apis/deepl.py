"""The routes that clients of DeepL call, under /v2: texts and documents."""

from __future__ import annotations

from dataclasses import replace

from starlette.responses import Response

from dragoman.base.languages import base, language_name
from dragoman.serving.apis.documents import document_of, file_answer, suffix_of, upload_format
from dragoman.serving.apis.endpoints import Call, Endpoint, Plain
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.fields import Fields, Upload, choice, enum, file, flag, text, texts, words
from dragoman.serving.http.jobs import FileJob
from dragoman.serving.http.usage import SPANS
from dragoman.serving.service.ask import Ask
from dragoman.text.formality import Formality
from dragoman.text.segmenter import Splitting
from dragoman.translation.search.options import Quality

_TEXTS = 50
_UNLIMITED = 10**12  # characters: without a quota, clients still need a number
_SPLITTING: dict[str, Splitting] = {
    "0": "one",
    "1": "split",
    "nonewlines": "split",
    "false": "one",
    "true": "split",  # of clients that send a truth value
}
_FORMALITY: dict[str, Formality] = {"more": "formal", "less": "informal"}
_FORMALITIES = ("default", "more", "less", "prefer_more", "prefer_less")
_MODEL_TYPES: dict[str, Quality | None] = {
    "quality_optimized": None,
    "prefer_quality_optimized": None,
    "latency_optimized": "fast",
}
# Targets that clients no longer accept without a region.
_REGIONS = {
    "EN": {"EN-GB": "English (British)", "EN-US": "English (American)"},
    "PT": {"PT-BR": "Portuguese (Brazilian)", "PT-PT": "Portuguese (European)"},
}


async def translate(call: Call) -> Plain:
    texts, model_type = call["text"], call["model_type"]
    if len(texts) > _TEXTS:
        raise Refusal(400, f"Too many texts: at most {_TEXTS} are allowed", field="text")
    ask = replace(
        _ask(call),
        markup=call["tag_handling"] or "text",
        ignored_tags=frozenset(call["ignore_tags"]),
        sentences="split" if call["tag_handling"] else _SPLITTING[call["split_sentences"]],
        quality=_MODEL_TYPES.get(model_type),
        contexts=(" ".join(call["context"].split()),) if call["context"] else (),
    )
    if call["split_sentences"] == "nonewlines" and ask.markup == "text":
        texts = [" ".join(text.splitlines()) for text in texts]
    answers = await call.translate(texts, ask)
    used = {} if model_type is None else {"model_type_used": model_type.removeprefix("prefer_")}
    shown = [{"detected_source_language": _code(one.source), "text": one.text} for one in answers]
    sizes = [{"billed_characters": len(text), **used} for text in texts]
    return {"translations": [one | size for one, size in zip(shown, sizes, strict=True)]}


async def languages(call: Call) -> Plain:
    pairs = call.service.pairs
    if call["type"] == "source":
        found = {_code(one): language_name(base(one)) for one in pairs.sources}
        return [{"language": code, "name": name} for code, name in found.items()]
    targets = dict[str, str]()
    for one in pairs.targets:
        code = one.replace("_", "-").upper()
        targets |= _REGIONS.get(code, {code: language_name(one)})
    formal = {code: _addresses(call, code) for code in targets}
    return [
        {"language": code, "name": name, "supports_formality": formal[code]} for code, name in targets.items()
    ]


async def usage(call: Call) -> Plain:
    """Of the longest span that has a quota; without one, since the start of the server."""
    used = call.state.usage.of(call.client)
    span = next((one for one in reversed(SPANS) if one in call.quota), "all")
    return {"character_count": used[span], "character_limit": call.quota.get(span, _UNLIMITED)}


async def glossary_pairs(call: Call) -> Plain:
    return {"supported_languages": []}


async def glossaries(call: Call) -> Plain:
    return {"glossaries": []}


# Documents: upload, ask, download


async def upload(call: Call) -> Plain:
    sent = call["file"]
    file = Upload(call["filename"] or sent.name, sent.data)
    ask = _ask(call)
    call.service.check([], ask)  # raise errors now, if any
    suffix = suffix_of(file, upload_format(call, file))
    wanted = call["output_format"]
    if wanted and f".{wanted.lower()}" != suffix:
        raise Refusal(400, "Value for 'output_format' not supported: it must be the format of the file")
    job = call.state.jobs.add(document_of(call, file, ask))
    return {"document_id": job.number, "document_key": job.key}


async def status(call: Call) -> Plain:
    job = _job(call)
    answer: dict[str, str | int] = {"document_id": job.number, "status": job.state}
    if job.state == "done":
        answer |= {"seconds_remaining": 0, "billed_characters": job.characters}
    if job.state == "error":
        answer["error_message"] = job.error
    return answer


async def result(call: Call) -> Response:
    return file_answer(*call.state.jobs.fetch(_job(call)))


def _job(call: Call) -> FileJob:
    return call.state.jobs.find(call.request.path_params["number"], call["document_key"])


# The request


def _ask(call: Call) -> Ask:
    target, wanted = call["target_lang"], call["formality"]
    ask = Ask(
        source=call["source_lang"],
        target=target,
        terms=call["glossary_id"] or None,
        formality=_FORMALITY.get(wanted.removeprefix("prefer_")),
    )
    # Without formality, "more" and "less" are refused. "prefer_more" and "prefer_less" are ignored.
    if wanted in ("more", "less") and not _addresses(call, target, None if ask.detects else ask.source):
        raise Refusal(400, "'formality' is not supported for given 'target_lang'.", field="formality")
    return ask


def _addresses(call: Call, target: str, source: str | None = None) -> bool:
    """Whether all models that may write the translation have learnt to address its reader."""
    pairs, able = call.service.pairs, {one.name for one in call.service.models if one.addresses(target)}
    sources = pairs.sources_of(target) if source is None else (source,)
    return bool(able) and all({*pairs.find(one, target).models[-1:]} <= able for one in sources)


def _code(language: str) -> str:
    """A source language as DeepL writes it: without a region."""
    return language.replace("_", "-").partition("-")[0].upper()


_UNSUPPORTED = "Value for '{name}' not supported: {choices}"
_ASKED: Fields = {
    "source_lang": text(),
    "target_lang": text(required=True),
    "formality": choice(_FORMALITIES, "default"),
    "glossary_id": text(),
}
_TYPE = {"type": choice(("source", "target"), "source")}
_LANGUAGES = [{"language": str, "name": str, "supports_formality?": bool}]
_TRANSLATION = {
    "detected_source_language": str,
    "text": str,
    "billed_characters": int,
    "model_type_used?": str,
}
_STATUS = {
    "document_id": str,
    "status": enum("translating", "done", "error"),
    "seconds_remaining?": int,
    "billed_characters?": int,
    "error_message?": str,
}
_KEY = {"document_key": text(required=True)}
_LISTS = "List the source or the target languages."

ENDPOINTS = (
    Endpoint(
        "POST /v2/translate",
        translate,
        "Translate up to 50 texts.",
        fields={
            "text": texts(maxItems=_TEXTS),
            **_ASKED,
            "split_sentences": choice(_SPLITTING, "1", loose=True, message=_UNSUPPORTED),
            "tag_handling": choice(("xml", "html", ""), message=_UNSUPPORTED),
            "ignore_tags": words(),
            "model_type": choice(_MODEL_TYPES, message=_UNSUPPORTED),
            "context": text("What stands before the texts. For models that were trained to read it."),
            # Without an effect, but checked.
            "preserve_formatting": flag(default=False, loose=True),
            "outline_detection": flag(default=False, loose=True),
            "show_billed_characters": flag(default=False, loose=True),
            "splitting_tags": words(),
            "non_splitting_tags": words(),
        },
        bodies=("json", "form"),
        returns={"translations": [_TRANSLATION]},
        works=True,
    ),
    Endpoint("GET /v2/languages", languages, _LISTS, fields=_TYPE, returns=_LANGUAGES),
    Endpoint(
        "POST /v2/languages", languages, _LISTS, fields=_TYPE, bodies=("form", "json"), returns=_LANGUAGES
    ),
    Endpoint(
        "GET /v2/usage",
        usage,
        "The characters that this client has sent, and its quota: of the month, else day or minute.",
        returns={"character_count": int, "character_limit": int},
    ),
    Endpoint(
        "GET /v2/glossary-language-pairs",
        glossary_pairs,
        "An empty list: glossaries are lists of terms, which the server has from its start.",
        returns={"supported_languages": [dict]},
    ),
    Endpoint(
        "GET /v2/glossaries",
        glossaries,
        "An empty list. The name of a list of terms is a valid glossary_id.",
        returns={"glossaries": [dict]},
    ),
    Endpoint(
        "POST /v2/document",
        upload,
        "Upload a document to translate.",
        fields={"file": file(), **_ASKED, "filename": text(), "output_format": text()},
        bodies=("multipart",),
        returns={"document_id": str, "document_key": str},
        works=True,
    ),
    Endpoint(
        "POST /v2/document/{number}",
        status,
        "How the translation of a document is getting on.",
        fields=_KEY,
        bodies=("json", "form"),
        returns=_STATUS,
    ),
    Endpoint(
        "POST /v2/document/{number}/result",
        result,
        "Fetch a translated document, once.",
        fields=_KEY,
        bodies=("json", "form"),
        content="application/octet-stream",
        refuses=(503,),  # it is not ready
    ),
)
