"""What the pages at `/` and `/how` ask beyond the other native routes, under /v1.

A text is cut into sentences here, so that each has its words, its links, and the beginning that a person
chose for it. Sentences that stay the same come from the cache of the service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from typing import Any

from starlette.responses import JSONResponse, Response

from dragoman.base.errors import DataError
from dragoman.base.machine import has_pytorch
from dragoman.serving.apis.endpoints import Call, Endpoint, Plain
from dragoman.serving.apis.libretranslate import language_tables
from dragoman.serving.apis.own import MATCH, WORD_PAIRS, model_table
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.fields import Fields, flag, number, section, sections, table, text, whole
from dragoman.serving.page.words import sentence_table
from dragoman.serving.service.ask import Answer, Ask
from dragoman.serving.service.inspection import BEAM, Question
from dragoman.serving.service.routing import together
from dragoman.text.checks.placeholders import find_placeholders
from dragoman.text.corpora.context import SENTENCES
from dragoman.text.guidance import Match
from dragoman.text.segmenter import segment_text

_ALTERNATIVES = 6  # whole translations of a sentence
_WIDTH = 8  # of the beam that finds them
_NEXT_WORDS = 8
_MATCHES = 5


# The answers


async def _page(call: Call) -> Plain:
    """The choices on the page: languages, models with their adapters and lists of terms, memories, limits."""
    service = call.service
    return {
        "languages": language_tables(service.pairs),
        "models": [model_table(one) for one in service.models],
        "memories": [list(pair) for pair in service.memories],
        "how": has_pytorch(),
        "limits": {name: getattr(service.limits, name) for name in ("characters", "file_bytes")},
    }


async def _words(call: Call) -> Plain:
    """A text as sentences with words. `choices` say how the translations of some sentences begin."""
    text, ask = call["text"], _ask(call)
    _check_size(call, [text])
    found: dict[str, Any] = {}
    if ask.detects:
        (guess,) = await call.service.detect(text, ask)
        ask, found = replace(ask, source=guess.language), {"confidence": round(guess.confidence, 3)}
    pair = call.service.pairs.find(ask.source or "", ask.target, model=ask.model)
    last = [one.translator for one in call.service.models if one.name in pair.models[-1:]]
    ask = replace(ask, source=pair.source, wants=frozenset(("tokens", "alignment")))
    if not all(one.aligning for one in last):
        ask = replace(ask, wants=frozenset(("tokens",)))
    kept = [(one.start, one.end) for one in find_placeholders(text)]
    parts = await asyncio.to_thread(segment_text, text, pair.source, pair.target, kept=kept)
    prefixes = {one["source"]: one["prefix"] for one in call["choices"]}
    sentences = parts.sentences
    reads = any("context" in one.translator.reads for one in call.service.models)
    before = [" ".join(sentences[max(0, n - SENTENCES) : n]) if reads else "" for n in range(len(sentences))]
    tables = await _tables(call, [*zip(sentences, before, strict=True)], ask, prefixes)
    new, spans = parts.joined(table["text"] for table in tables)
    shown = [
        {**table, "source_at": piece.start, "target_at": start}
        for table, piece, (start, _) in zip(tables, parts.pieces, spans, strict=True)
    ]
    return {"source": pair.source, "target": pair.target, **found, "text": new, "sentences": shown}


async def _tables(
    call: Call, sentences: Sequence[tuple[str, str]], ask: Ask, prefixes: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The table of each sentence with its context. Sentences without a prefix are translated together."""
    chosen = {one: prefixes[one[0]] for one in sentences if prefixes.get(one[0])}
    free = [one for one in dict.fromkeys(sentences) if one not in chosen]
    most = call.service.limits.texts
    with call.using(sum(len(text) for text, _ in {*free, *chosen})):  # all or nothing
        portions = [free[at : at + most] for at in range(0, len(free), most)]
        works = [
            _translate(call, [*texts], replace(ask, contexts=contexts))
            for texts, contexts in (zip(*portion, strict=True) for portion in portions)
        ]
        for (text, context), prefix in chosen.items():
            works.append(_begun(call, text, replace(ask, prefix=prefix, contexts=(context,))))
        answers = chain.from_iterable(await together(works))
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one, answer in zip([*free, *chosen], answers, strict=True):
        table = sentence_table(one[0], answer.text, answer.translation, answer.match)
        found[one] = table | {"context": one[1]}
    return [found[one] for one in sentences]


async def _begun(call: Call, sentence: str, ask: Ask) -> list[Answer]:
    """The translation that begins with the prefix of `ask`, without it if the model cannot spell it.

    The search may continue the last word of a prefix. If the prefix ends with a space, it must not: then
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


async def _translate(call: Call, texts: Sequence[str], ask: Ask) -> list[Answer]:
    ask = replace(ask, sentences="one")
    return await call.service.translate(texts, ask, client=call.client, deadline=call.deadline)


async def _next_words(call: Call) -> Plain:
    """The likely next words after `prefix`, with which the translation of one sentence begins."""
    text, ask = _one_sentence(call)
    most = call["most"]
    with call.using(len(text)):
        found = await call.service.next_words(
            text, ask, most=most, client=call.client, deadline=call.deadline
        )
    return {"words": [{**asdict(one), "probability": round(one.probability, 6)} for one in found]}


async def _alternatives(call: Call) -> Plain:
    """Other translations of one sentence, the best first."""
    text, ask = _one_sentence(call)
    beam = min(_WIDTH, call.service.limits.beam)
    most = min(_ALTERNATIVES, beam, call.service.limits.alternatives + 1)
    # Without the memory, which knows one translation only.
    ask = replace(ask, beam=beam, n_best=most, memory=False)
    with call.using(len(text)):
        (answer,) = await _translate(call, [text], ask)
    return {"text": answer.text, "alternatives": [{"text": one} for one in answer.alternatives]}


# The memory


async def _matches(call: Call) -> Plain:
    """The similar pairs of the memory for a sentence."""
    text, ask = _one_sentence(call)
    found = await call.service.matches(text, (ask.source or "", ask.target), _MATCHES)
    return {"matches": [Match(one.pair.source, one.pair.target, one.score).to_table() for one in found]}


async def _corrections(call: Call) -> Response:
    """Store a translation that a person confirms."""
    text, ask = _one_sentence(call)
    translation, machine = call["translation"], call["machine"]
    _check_size(call, [text, translation, machine])
    new = await call.service.correct(text, machine, translation, (ask.source or "", ask.target))
    return JSONResponse({"new": new}, 201 if new else 200)


# How a translation came about: the page at `/how`


async def _offer(call: Call) -> Plain:
    """The models, the parts that can be changed, and the limits. Loads nothing."""
    return call.state.how.about()


async def _how(call: Call) -> Plain:
    """The data of the report, for the untouched run and for the changed one."""
    asked = (call[name] for name in ("text", "source", "target", "interventions", "options", "model"))
    with call.using(len(call["text"])):
        return await call.state.how.answer(Question(*asked))


# The requests


def _ask(call: Call) -> Ask:
    return Ask(**{name: call[name] for name in ("source", "target", "model", "adapter", "terms", "memory")})


def _one_sentence(call: Call) -> tuple[str, Ask]:
    text, prefix, ask = call["text"], call["prefix"], _ask(call)
    _check_size(call, [text, prefix])
    if {"\r", "\n"} & {*text, *prefix}:
        raise Refusal(400, "Invalid request: give one sentence without line breaks", field="text")
    if ask.detects:
        raise Refusal(400, "Invalid request: missing source parameter", field="source")
    return text, replace(ask, prefix=prefix, contexts=(call["context"],) if call["context"] else ())


def _check_size(call: Call, texts: Sequence[str]) -> None:
    size, most = sum(map(len, texts)), call.service.limits.characters
    if size > most:
        raise Refusal(413, f"{size:,} characters; at most {most:,} are allowed", field="text")


# The table of routes

_OPTIONS: Fields = {
    "target": text(required=True),
    "model": text(),
    "adapter": text(),
    "terms": text(),
    "memory": flag(default=True),
}
_SENTENCE: Fields = {
    "text": text("One sentence.", required=True),
    "source": text(required=True),
    **_OPTIONS,
    "prefix": text(default=""),
    "context": text("The sentences before it.", default=""),
}
_BEGINNING: Fields = {"source": text(required=True), "prefix": text(required=True)}
_WHOLE: Fields = {
    "text": text(required=True, empty=True),
    "source": text("Left out, empty or auto: it is detected."),
    **_OPTIONS,
    "choices": sections(_BEGINNING, "How the translations of some sentences begin."),
}
_SHOWN = {
    "source": str,
    "context": str,
    "text": str,
    "source_at": int,
    "target_at": int,
    "words": [{"start": int, "end": int, "confidence": (float, None)}],
    "source_words": WORD_PAIRS,
    "links": {**WORD_PAIRS, "description": "Numbers of words: source, target."},
    "remembered": bool,
    "lacking": bool,
    "truncated": bool,
}


_post = partial(Endpoint, bodies=("json",), works=True)

ENDPOINTS = (
    Endpoint("GET /v1/page", _page, "What the page offers.", returns=dict, works=True),
    _post(
        "POST /v1/words",
        _words,
        "Translate a text into sentences with words, their confidence and their alignment.",
        fields=_WHOLE,
        returns={"source": str, "target": str, "confidence?": float, "text": str, "sentences": [_SHOWN]},
    ),
    _post(
        "POST /v1/next_words",
        _next_words,
        "The likely next words of a translation that has begun.",
        fields={**_SENTENCE, "most": whole(_NEXT_WORDS, least=1, most=16)},
        returns={"words": [{"text": str, "prefix": str, "probability": float}]},
    ),
    _post(
        "POST /v1/alternatives",
        _alternatives,
        "Other translations of a sentence.",
        fields=_SENTENCE,
        returns={"text": str, "alternatives": [{"text": str}]},
    ),
    _post(
        "POST /v1/matches",
        _matches,
        "What the memory has that is like a sentence.",
        fields=_SENTENCE,
        returns={"matches": [MATCH]},
    ),
    _post(
        "POST /v1/corrections",
        _corrections,
        "Store a translation that a person confirms.",
        fields={**_SENTENCE, "translation": text(required=True), "machine": text(default="")},
        returns={"new": bool},
    ),
    Endpoint(
        "GET /v1/how",
        _offer,
        "The models that can be inspected, their heads, and the limits.",
        returns={"models": [dict], "limits": dict},
        refuses=(501,),
        works=True,
    ),
    _post(
        "POST /v1/how",
        _how,
        "Inspect the translation of a sentence, as it is and with interventions.",
        fields={
            "text": text(required=True, empty=True),
            "source": text(required=True),
            "target": text(required=True),
            "model": text("Its name; by default the first model of the pair."),
            "interventions": table("The changes; see the guide on inspection."),
            "options": section(
                {"beam": whole(None, least=1, most=BEAM), "length_penalty": number(least=0, most=10)}
            ),
        },
        returns={"traces": [dict]},
        refuses=(501,),
    ),
)
