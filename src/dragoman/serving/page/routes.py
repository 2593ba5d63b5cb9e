"""What the page at `/` asks beyond the other native routes, under /v1.

A text is cut into sentences here, so that each has its words, its links, and the beginning that a person
chose for it. Sentences that stay the same come from the cache of the service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from starlette.responses import JSONResponse, Response

from dragoman.base.errors import DataError
from dragoman.base.pytorch import has_pytorch
from dragoman.serving.apis.endpoints import Endpoint, Incoming
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.fields import Fields
from dragoman.serving.http.schemas import (
    COUNT,
    FLAG,
    NUMBER,
    TEXT,
    Schema,
    array,
    described,
    optional,
    structure,
)
from dragoman.serving.page.words import sentence_table, text_table
from dragoman.serving.service.ask import Answer, Ask
from dragoman.text.sentences import spacing, split_sentences

_ALTERNATIVES = 6  # whole translations of a sentence
_WIDTH = 8  # of the beam that finds them
_NEXT_WORDS = 8
_MATCHES = 5


# What the page shows


async def _page(call: Incoming) -> Response:
    """What the page offers: languages, models with their adapters and lists of terms, memories, limits."""
    service = call.service
    pairs, limits = service.pairs, service.limits
    targets = {source: list(pairs.targets_of(source)) for source in pairs.sources}
    codes = dict.fromkeys([*pairs.sources, *(code for each in targets.values() for code in each)])
    return JSONResponse(
        {
            "languages": [
                {"code": code, "name": pairs.name_of(code), "targets": targets.get(code, [])}
                for code in codes
            ],
            "models": [
                {
                    "name": model.name,
                    "source": model.source,
                    "targets": list(model.targets),
                    "adapters": list(model.adapters),
                    "terms": list(model.terms),
                }
                for model in service.models
            ],
            "memories": [list(pair) for pair in service.memories],
            "how": has_pytorch(),
            "limits": {"characters": limits.characters, "file_bytes": limits.file_bytes},
        }
    )


async def _words(call: Incoming) -> Response:
    """A text as sentences with words. `choices` say how the translations of some sentences begin."""
    call.fields.only((*_WHOLE, *_OPTIONS, "api_key"))
    text, ask = call.fields.text("text", "") or "", _ask(call)
    _check_size(call, [text])
    if ask.source is None:
        ask = replace(ask, source=await _language(call, text, ask.target))
    pair = call.service.pairs.find(ask.source or "", ask.target, model=ask.model)
    ask = replace(ask, source=pair.source, wants=frozenset(("tokens", "alignment")))
    pieces = await asyncio.to_thread(split_sentences, text, pair.source)
    sentences = [spacing(piece)[1] for piece in pieces]
    tables = await _tables(call, sentences, ask, _prefixes(call))
    call.desk.use(call.client, len(text))
    new, shown = text_table(pieces, tables, pair.source, pair.target)
    return JSONResponse({"source": pair.source, "target": pair.target, "text": new, "sentences": shown})


async def _language(call: Incoming, text: str, target: str) -> str:
    """The likeliest language of a text that is translated to the target."""
    sources = call.service.pairs.sources_of(target)
    guesses = await call.service.detect(text)
    return next((one.language for one in guesses if one.language in sources), sources[0])


async def _tables(
    call: Incoming, sentences: Sequence[str], ask: Ask, prefixes: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The table of each sentence. Those without a prefix are asked together."""
    chosen = {sentence: prefixes[sentence] for sentence in sentences if prefixes.get(sentence)}
    free = [one for one in dict.fromkeys(sentences) if one and one not in chosen]
    most = call.service.limits.texts
    together = [_translate(call, free[at : at + most], ask) for at in range(0, len(free), most)]
    begun = [_begun(call, one, replace(ask, prefix=prefix)) for one, prefix in chosen.items()]
    answers = chain.from_iterable(await asyncio.gather(*together, *begun))
    found: dict[str, dict[str, Any]] = {"": {"text": ""}}
    for one, answer in zip([*free, *chosen], answers, strict=True):
        found[one] = sentence_table(one, answer.text, answer.translation, answer.match)
    return [found[one] for one in sentences]


async def _begun(call: Incoming, sentence: str, ask: Ask) -> list[Answer]:
    """The translation that begins with the prefix of `ask`, without it if the model cannot spell it.

    The search may let the last word of a prefix go on. If the prefix ends with a space, it must not: then
    the likeliest next word is chosen first.
    """
    try:
        answers = await _translate(call, [sentence], ask)
    except DataError:
        return await _translate(call, [sentence], replace(ask, prefix=""))
    if answers[0].text.startswith(ask.prefix) or not ask.prefix[-1:].isspace():
        return answers
    new = await call.service.next_words(sentence, ask, most=1, client=call.client, deadline=call.deadline)
    return await _translate(call, [sentence], replace(ask, prefix=new[0].prefix)) if new else answers


async def _translate(call: Incoming, texts: Sequence[str], ask: Ask) -> list[Answer]:
    ask = replace(ask, sentences="one")
    return await call.service.translate(texts, ask, client=call.client, deadline=call.deadline)


async def _next_words(call: Incoming) -> Response:
    """The likely next words after `prefix`, with which the translation of one sentence begins."""
    text, ask = _one_sentence(call, "most")
    most = call.fields.whole("most", _NEXT_WORDS, least=1, most=16)
    found = await call.service.next_words(text, ask, most=most, client=call.client, deadline=call.deadline)
    return JSONResponse(
        {
            "words": [
                {"text": one.text, "prefix": one.prefix, "probability": round(one.probability, 6)}
                for one in found
            ]
        }
    )


async def _alternatives(call: Incoming) -> Response:
    """Other translations of one sentence, the best first."""
    text, ask = _one_sentence(call)
    beam = min(_WIDTH, call.service.limits.beam)
    most = min(_ALTERNATIVES, beam, call.service.limits.alternatives + 1)
    # Without the memory, which knows one translation only.
    ask = replace(ask, beam=beam, n_best=most, memory=False)
    (answer,) = await _translate(call, [text], ask)
    others = [one for one in dict.fromkeys(answer.alternatives) if one != answer.text]
    return JSONResponse({"text": answer.text, "alternatives": [{"text": one} for one in others]})


# The memory


async def _matches(call: Incoming) -> Response:
    """What the memory has that is like a sentence."""
    text, ask = _one_sentence(call)
    found = await call.service.matches(text, _pair(call, ask), _MATCHES)
    return JSONResponse(
        {
            "matches": [
                {"source": one.pair.source, "target": one.pair.target, "score": round(one.score, 1)}
                for one in found
            ]
        }
    )


async def _corrections(call: Incoming) -> Response:
    """Store a translation that a person confirms."""
    text, ask = _one_sentence(call, "translation", "machine")
    translation, machine = call.fields.needed("translation"), call.fields.text("machine", "") or ""
    _check_size(call, [text, translation, machine])
    new = await call.service.correct(text, machine, translation, _pair(call, ask))
    return JSONResponse({"new": new}, 201 if new else 200)


# What the requests say


def _ask(call: Incoming) -> Ask:
    fields, source = call.fields, call.fields.text("source")
    return Ask(
        source=None if source in (None, "", "auto") else source,
        target=fields.needed("target"),
        model=fields.text("model"),
        adapter=fields.text("adapter"),
        terms=fields.text("terms"),
        memory=fields.flag("memory", default=True),
    )


def _one_sentence(call: Incoming, *others: str) -> tuple[str, Ask]:
    call.fields.only((*_SENTENCE, *others, "api_key"))
    text, prefix = call.fields.needed("text"), call.fields.text("prefix", "") or ""
    _check_size(call, [text, prefix])
    if {"\r", "\n"} & {*text, *prefix}:
        raise Refusal(400, "Invalid request: give one sentence without line breaks", field="text")
    ask = _ask(call)
    if ask.source is None:
        raise Refusal(400, "Invalid request: missing source parameter", field="source")
    return text, replace(ask, prefix=prefix)


def _pair(call: Incoming, ask: Ask) -> tuple[str, str]:
    route = call.service.pairs.find(ask.source or "", ask.target)
    return route.source, route.target


def _prefixes(call: Incoming) -> dict[str, str]:
    """What the translations of sentences begin with, by sentence."""
    given, most = call.fields.values.get("choices") or [], call.service.limits.texts
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise Refusal(400, "Invalid request: choices must be a list of objects", field="choices")
    if len(given) > most:
        raise Refusal(400, f"Invalid request: at most {most} choices", field="choices")
    choices = [Fields(one, within="choices.") for one in given]
    return {one.needed("source"): one.needed("prefix") for one in choices}


def _check_size(call: Incoming, texts: Sequence[str]) -> None:
    size, most = sum(map(len, texts)), call.service.limits.characters
    if size > most:
        raise Refusal(413, f"{size:,} characters; at most {most:,} are allowed", field="text")


# The table of routes

_LANGUAGES: dict[str, Schema] = {
    "source": {"type": "string", "minLength": 1},
    "target": {"type": "string", "minLength": 1},
}
_OPTIONS: dict[str, Schema] = {
    "model": optional(TEXT),
    "adapter": optional(TEXT),
    "terms": optional(TEXT),
    "memory": optional(FLAG),
}
_SENTENCE: dict[str, Schema] = {
    "text": described({"type": "string", "minLength": 1}, "One sentence."),
    **_LANGUAGES,
    **_OPTIONS,
    "prefix": optional(TEXT),
}
_WHOLE: dict[str, Schema] = {
    "text": TEXT,
    "source": described(optional(TEXT), "Left out, empty or auto: it is detected."),
    "target": _LANGUAGES["target"],
    "choices": described(
        optional(array(structure({"source": TEXT, "prefix": TEXT}))),
        "How the translations of some sentences begin.",
    ),
}
_SPAN: Schema = array(COUNT, minItems=2, maxItems=2)
_WORD = structure({"start": COUNT, "end": COUNT, "confidence": optional(NUMBER)})
_SHOWN = structure(
    {
        "source": TEXT,
        "text": TEXT,
        "source_at": COUNT,
        "target_at": COUNT,
        "words": array(_WORD),
        "source_words": array(_SPAN),
        "links": described(array(_SPAN), "Numbers of words: source, target."),
        "remembered": FLAG,
        "truncated": FLAG,
    }
)
_REFUSES = (400, 401, 413, 429, 503, 504)

ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/page",
        answer=_page,
        family="native",
        summary="What the page offers.",
        returns={"type": "object"},
        refuses=(401, 503),
        works=True,
    ),
    Endpoint(
        method="POST",
        path="/v1/words",
        answer=_words,
        family="native",
        summary="Translate a text into sentences with words, their confidence and their alignment.",
        fields={**_WHOLE, **_OPTIONS},
        required=("text", "target"),
        bodies=("json",),
        returns=structure({"source": TEXT, "target": TEXT, "text": TEXT, "sentences": array(_SHOWN)}),
        refuses=_REFUSES,
        works=True,
    ),
    Endpoint(
        method="POST",
        path="/v1/next_words",
        answer=_next_words,
        family="native",
        summary="The likely next words of a translation that has begun.",
        fields={**_SENTENCE, "most": optional({"type": "integer", "minimum": 1, "maximum": 16})},
        required=("text", "source", "target"),
        bodies=("json",),
        returns=structure({"words": array(structure({"text": TEXT, "prefix": TEXT, "probability": NUMBER}))}),
        refuses=_REFUSES,
        works=True,
    ),
    Endpoint(
        method="POST",
        path="/v1/alternatives",
        answer=_alternatives,
        family="native",
        summary="Other translations of a sentence.",
        fields=_SENTENCE,
        required=("text", "source", "target"),
        bodies=("json",),
        returns=structure({"text": TEXT, "alternatives": array(structure({"text": TEXT}))}),
        refuses=_REFUSES,
        works=True,
    ),
    Endpoint(
        method="POST",
        path="/v1/matches",
        answer=_matches,
        family="native",
        summary="What the memory has that is like a sentence.",
        fields=_SENTENCE,
        required=("text", "source", "target"),
        bodies=("json",),
        returns=structure({"matches": array(structure({"source": TEXT, "target": TEXT, "score": NUMBER}))}),
        refuses=_REFUSES,
        works=True,
    ),
    Endpoint(
        method="POST",
        path="/v1/corrections",
        answer=_corrections,
        family="native",
        summary="Store a translation that a person confirms.",
        fields={**_SENTENCE, "translation": {"type": "string", "minLength": 1}, "machine": optional(TEXT)},
        required=("text", "source", "target", "translation"),
        bodies=("json",),
        returns=structure({"new": FLAG}),
        refuses=_REFUSES,
        works=True,
    ),
)
