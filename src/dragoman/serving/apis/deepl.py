"""The routes that clients of DeepL call, under /v2."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse, Response

from dragoman.decoding.options import Quality
from dragoman.serving.apis.endpoints import Endpoint, Incoming
from dragoman.serving.apis.libretranslate import targets_of_all
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.fields import Fields
from dragoman.serving.http.schemas import COUNT, FLAG, KEYS, TEXT, array, either, enum, optional, structure
from dragoman.serving.service.ask import Answer, Ask, Markup, Splitting

_TEXTS = 50
_UNLIMITED = 10**12  # characters: there is no quota, and clients want a number
_SPLITTING: dict[str, Splitting] = {
    "0": "one",
    "1": "split",
    "nonewlines": "split",
    "false": "one",
    "true": "split",  # of clients that send a truth value
}
_FORMALITIES = ("default", "prefer_more", "prefer_less")
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


async def translate(call: Incoming) -> Response:
    fields = call.fields
    texts, _ = fields.texts("text")
    if len(texts) > _TEXTS:
        raise Refusal(400, f"Too many texts: at most {_TEXTS} are allowed", field="text")
    ask, model_type = _ask(fields)
    if _splitting(fields) == "nonewlines" and ask.markup == "text":
        texts = [" ".join(text.splitlines()) for text in texts]
    answers = await call.service.translate(texts, ask, client=call.client, deadline=call.deadline)
    call.desk.use(call.client, sum(map(len, texts)))
    used = {} if model_type is None else {"model_type_used": model_type.removeprefix("prefer_")}
    return JSONResponse(
        {
            "translations": [
                {**_translation(answer), "billed_characters": len(text), **used}
                for text, answer in zip(texts, answers, strict=True)
            ]
        }
    )


async def languages(call: Incoming) -> Response:
    pairs = call.service.pairs
    if call.fields.choice("type", ("source", "target"), "source") == "source":
        found = {_code(one): pairs.name_of(one) for one in pairs.sources}
        return JSONResponse([{"language": code, "name": name} for code, name in found.items()])
    targets = dict[str, str]()
    for one in targets_of_all(pairs):
        code = one.replace("_", "-").upper()
        targets |= _REGIONS.get(code, {code: pairs.name_of(one)})
    return JSONResponse(
        [{"language": code, "name": name, "supports_formality": False} for code, name in targets.items()]
    )


async def usage(call: Incoming) -> Response:
    used = call.desk.used.get(call.client, 0)
    return JSONResponse({"character_count": used, "character_limit": _UNLIMITED})


async def glossary_pairs(call: Incoming) -> Response:
    return JSONResponse({"supported_languages": []})


async def glossaries(call: Incoming) -> Response:
    return JSONResponse({"glossaries": []})


def ask_for_file(fields: Fields) -> Ask:
    """What is asked for a document."""
    source, target = fields.text("source_lang"), fields.needed("target_lang")
    fields.choice("formality", _FORMALITIES, "default")
    return Ask(source=source or None, target=target, terms=fields.text("glossary_id"))


def _ask(fields: Fields) -> tuple[Ask, str | None]:
    """What is asked, and the kind of model, if one is chosen. Options without an effect are checked, too."""
    file_ask = ask_for_file(fields)
    fields.text("context")
    for name in ("preserve_formatting", "outline_detection", "show_billed_characters"):
        fields.loose_flag(name, default=False)
    for name in ("splitting_tags", "non_splitting_tags"):
        fields.words(name)
    markup: Markup = "text"
    match fields.text("tag_handling"):
        case None | "":
            pass
        case "xml":
            markup = "xml"
        case "html":
            markup = "html"
        case _:
            raise Refusal(400, "Value for 'tag_handling' not supported: xml or html", field="tag_handling")
    model_type = fields.text("model_type")
    if model_type is not None and model_type not in _MODEL_TYPES:
        raise Refusal(
            400, f"Value for 'model_type' not supported: {', '.join(_MODEL_TYPES)}", field="model_type"
        )
    return (
        Ask(
            source=file_ask.source,
            target=file_ask.target,
            terms=file_ask.terms,
            markup=markup,
            ignored_tags=frozenset(fields.words("ignore_tags")),
            sentences=_SPLITTING[_splitting(fields)],
            quality=None if model_type is None else _MODEL_TYPES[model_type],
        ),
        model_type,
    )


def _splitting(fields: Fields) -> str:
    """How sentences are split, as a key of the table; some clients send a number or a truth value."""
    value = fields.values.get("split_sentences")
    if value is None:
        return "1"
    if isinstance(value, int):
        value = str(int(value))  # of a truth value, too
    if not isinstance(value, str) or value not in _SPLITTING:
        raise Refusal(
            400, "Value for 'split_sentences' not supported: 0, 1 or nonewlines", field="split_sentences"
        )
    return value


def _translation(answer: Answer) -> dict[str, Any]:
    return {"detected_source_language": _code(answer.source), "text": answer.text}


def _code(language: str) -> str:
    """A source language as DeepL writes it: without a region."""
    return language.replace("_", "-").partition("-")[0].upper()


_LANGUAGE = structure(
    {"language": TEXT, "name": TEXT, "supports_formality": FLAG}, required=("language", "name")
)
_SWITCH = optional(either(FLAG, enum("0", "1", "true", "false"), {"type": "integer", "enum": [0, 1]}))
_TAGS = optional(either(TEXT, array(TEXT)))
_REFUSES = (400, 403, 413, 415, 429, 503, 504)
_TYPE = {"type": optional(enum("source", "target")), **KEYS}

ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v2/translate",
        answer=translate,
        family="deepl",
        summary="Translate up to 50 texts.",
        fields={
            "text": either(TEXT, array(TEXT, maxItems=_TEXTS)),
            "target_lang": {"type": "string", "minLength": 1},
            "source_lang": optional(TEXT),
            "context": optional(TEXT),
            "split_sentences": optional(either(enum(*_SPLITTING), FLAG, {"type": "integer", "enum": [0, 1]})),
            "preserve_formatting": _SWITCH,
            "formality": optional(enum(*_FORMALITIES)),
            "tag_handling": optional(enum("xml", "html", "")),
            "ignore_tags": _TAGS,
            "non_splitting_tags": _TAGS,
            "splitting_tags": _TAGS,
            "outline_detection": _SWITCH,
            "show_billed_characters": _SWITCH,
            "model_type": optional(enum(*_MODEL_TYPES)),
            "glossary_id": optional(TEXT),
            **KEYS,
        },
        required=("text", "target_lang"),
        bodies=("json", "form"),
        returns=structure(
            {
                "translations": array(
                    structure(
                        {
                            "detected_source_language": TEXT,
                            "text": TEXT,
                            "billed_characters": COUNT,
                            "model_type_used": TEXT,
                        },
                        required=("detected_source_language", "text", "billed_characters"),
                    )
                )
            }
        ),
        refuses=_REFUSES,
        works=True,
    ),
    Endpoint(
        method="GET",
        path="/v2/languages",
        answer=languages,
        family="deepl",
        summary="List the source or the target languages.",
        fields=_TYPE,
        returns=array(_LANGUAGE),
        refuses=(400, 403),
    ),
    Endpoint(
        method="POST",
        path="/v2/languages",
        answer=languages,
        family="deepl",
        summary="List the source or the target languages.",
        fields=_TYPE,
        bodies=("form", "json"),
        returns=array(_LANGUAGE),
        refuses=(400, 403, 413, 415),
    ),
    Endpoint(
        method="GET",
        path="/v2/usage",
        answer=usage,
        family="deepl",
        summary="The characters that this client has sent since the server started. There is no quota.",
        returns=structure({"character_count": COUNT, "character_limit": COUNT}),
        refuses=(403,),
    ),
    Endpoint(
        method="GET",
        path="/v2/glossary-language-pairs",
        answer=glossary_pairs,
        family="deepl",
        summary="An empty list: glossaries are lists of terms, which the server has from its start.",
        returns=structure({"supported_languages": array({"type": "object"})}),
        refuses=(403,),
    ),
    Endpoint(
        method="GET",
        path="/v2/glossaries",
        answer=glossaries,
        family="deepl",
        summary="An empty list. The name of a list of terms is a valid glossary_id.",
        returns=structure({"glossaries": array({"type": "object"})}),
        refuses=(403,),
    ),
)
