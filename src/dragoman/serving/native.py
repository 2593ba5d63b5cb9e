"""The routes of dragoman's own, under /v1: everything that a model can say of a translation."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, Literal, cast, get_args, get_origin

from starlette.responses import JSONResponse, Response, StreamingResponse

from dragoman.base.options import Entry, entries
from dragoman.decoding.options import Decoding
from dragoman.serving.ask import Answer, Ask, Markup, Splitting, Want
from dragoman.serving.endpoints import Endpoint, Incoming
from dragoman.serving.fields import Fields
from dragoman.serving.refusals import Refusal, refusal_of
from dragoman.serving.schemas import (
    COUNT,
    FLAG,
    KEYS,
    NUMBER,
    TEXT,
    Schema,
    array,
    described,
    either,
    enum,
    optional,
    structure,
)
from dragoman.translator import Translation

_HEARTBEAT = 10.0  # seconds
_RETURNS = ("scores", *get_args(Want))
# The options of a search that a request may set. Types, bounds and texts are those of `Decoding`.
_SEARCH = {name: entries(Decoding)[name] for name in ("beam", "length_penalty", "n_best", "quality")}
_SEARCH["length_penalty"] = replace(
    _SEARCH["length_penalty"], option=replace(_SEARCH["length_penalty"].option, at_least=0, at_most=10)
)
_OPTIONS = (*_SEARCH, "prefix", "terms", "adapter", "memory", "sentences", "return")
_FIELDS = ("texts", "source", "target", "markup", "model", "options", "stream", *KEYS)


async def translate(call: Incoming) -> Response:
    call.fields.only(_FIELDS)
    texts, _ = call.fields.texts("texts")
    ask, scores = _ask(call)
    if call.fields.flag("stream", default=False):
        call.service.check(texts, ask)  # while there is a status
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(
            _events(call, texts, ask, scores=scores), headers=headers, media_type="text/event-stream"
        )
    began = time.monotonic()
    answers = await call.service.translate(texts, ask, client=call.client, deadline=call.deadline)
    call.desk.use(call.client, sum(map(len, texts)))
    return JSONResponse(
        {"results": [_result(one, ask, scores=scores) for one in answers], **_footer(answers, began)}
    )


async def models(call: Incoming) -> Response:
    return JSONResponse(
        {
            "models": [
                {
                    "name": one.name,
                    "digest": one.digest,
                    "source": one.source,
                    "targets": list(one.targets),
                    "adapters": list(one.adapters),
                    "terms": list(one.terms),
                    "engine": one.engine,
                }
                for one in call.service.models
            ]
        }
    )


def _ask(call: Incoming) -> tuple[Ask, bool]:
    """What is asked, and whether for scores."""
    fields, options, limits = call.fields, call.fields.section("options"), call.service.limits
    options.only(_OPTIONS)
    source = fields.text("source")
    wanted, _ = options.texts("return") if options.values.get("return") is not None else ([], True)
    for name in wanted:
        if name not in _RETURNS:
            raise Refusal(
                400, f"options.return: {name[:40]!r} is none of {', '.join(_RETURNS)}", field="options.return"
            )
    most = {"n_best": limits.alternatives + 1, "beam": limits.beam}
    search = {name: _value(options, entry, most.get(name)) for name, entry in _SEARCH.items()}
    search["quality"] = None if search["quality"] == "normal" else search["quality"]
    markup = fields.choice("markup", get_args(Markup), "text")
    sentences = options.choice("sentences", get_args(Splitting), "split")
    return Ask(
        source=None if source in (None, "", "auto") else source,
        target=fields.needed("target"),
        model=fields.text("model"),
        markup=cast("Markup", markup),
        sentences=cast("Splitting", sentences),
        **search,
        prefix=_prefix(options, fields),
        adapter=options.text("adapter"),
        terms=options.text("terms"),
        memory=options.flag("memory", default=True),
        wants=frozenset(cast("Want", name) for name in wanted if name != "scores"),
    ), "scores" in wanted


def _value(fields: Fields, entry: Entry, most: int | None) -> Any:
    """The option of a search in a request, or its default. `most` is the limit of the server."""
    if fields.values.get(entry.name) is None:
        return entry.default
    if get_origin(entry.plain) is Literal:
        return fields.choice(entry.name, get_args(entry.plain), entry.default)
    least, highest = entry.option.at_least or 0, most or entry.option.at_most or 0
    if entry.plain is int:
        return fields.whole(entry.name, 0, least=int(least), most=int(highest))
    return fields.number(entry.name, least=least, most=highest)


def _schema(entry: Entry) -> Schema:
    """The schema of an option of a search."""
    if get_origin(entry.plain) is Literal:
        schema: Schema = enum(*get_args(entry.plain))
    else:
        bounds = {"minimum": entry.option.at_least, "maximum": entry.option.at_most}
        schema = {"type": "integer" if entry.plain is int else "number", **bounds}
    return described(optional(schema), entry.option.description)


def _prefix(options: Fields, fields: Fields) -> str:
    prefix = options.text("prefix") or ""
    if prefix and len(fields.texts("texts")[0]) != 1:
        raise Refusal(400, "options.prefix is for one text", field="options.prefix")
    return prefix


async def _events(call: Incoming, texts: Sequence[str], ask: Ask, *, scores: bool) -> AsyncIterator[str]:
    """A segment for each text as soon as it is translated, in any order, then `done`; or `error`."""
    began = time.monotonic()

    async def translated(index: int) -> tuple[int, Answer]:
        (answer,) = await call.service.translate(
            texts[index : index + 1], ask, client=call.client, deadline=call.deadline
        )
        return index, answer

    tasks = [asyncio.ensure_future(translated(index)) for index in range(len(texts))]
    waiting, answers = set(tasks), list[Answer]()
    try:
        while waiting:
            done, waiting = await asyncio.wait(
                waiting, timeout=_HEARTBEAT, return_when=asyncio.FIRST_COMPLETED
            )
            if not done:
                yield ": still here\n\n"
            for index, answer in sorted(task.result() for task in done):
                answers.append(answer)
                yield _event("segment", {"index": index, **_result(answer, ask, scores=scores)})
        call.desk.use(call.client, sum(map(len, texts)))
        yield _event("done", _footer(answers, began))
    except Exception as error:
        refusal = refusal_of(error, "native")
        yield _event("error", {"status": refusal.status, "detail": refusal.text})
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)  # of several that failed, one was looked at


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def _footer(answers: Sequence[Answer], began: float) -> dict[str, Any]:
    used = dict.fromkeys(" ".join(answer.route.models) for answer in answers)
    return {"model": ", ".join(used), "timing": {"seconds": round(time.monotonic() - began, 4)}}


def _result(answer: Answer, ask: Ask, *, scores: bool) -> dict[str, Any]:
    """An answer as plain values. What was not asked for, or is not known, is left out."""
    result: dict[str, Any] = {"text": answer.text, "source": answer.source, "cached": answer.cached}
    if answer.confidence is not None:
        result["confidence"] = round(answer.confidence, 3)
    found = answer.translation
    if ask.n_best > 1:
        result["n_best"] = [{"text": text} for text in (answer.text, *answer.alternatives)]
    if answer.match is not None:
        match = answer.match
        result["match"] = {
            "score": round(match.score, 1),
            "source": match.source,
            "target": match.target,
        }
    if found is None:
        return result
    if scores:
        result["score"] = found.score
        for shown, one in zip(result.get("n_best", ()), (found, *found.alternatives), strict=False):
            shown["score"] = one.score
    if "tokens" in ask.wants:
        result["tokens"] = _tokens(found)
    if "alignment" in ask.wants and found.alignment is not None:
        result["alignment"] = [list(link) for link in found.alignment.words()]
    if "risk" in ask.wants and found.risk is not None:
        result["risk"], result["flags"] = found.risk.probability, found.risk.to_table()["flags"]
    return result


def _tokens(found: Translation) -> list[dict[str, Any]]:
    """The pieces of the text with their log-probabilities; the last is that of the end, without text."""
    pieces = [*found.tokens, ""][: len(found.token_logp)]
    return [{"text": text, "logp": logp} for text, logp in zip(pieces, found.token_logp, strict=True)]


_WORD_PAIRS = array(array(COUNT, minItems=2, maxItems=2))
_RESULT = structure(
    {
        "text": TEXT,
        "source": TEXT,
        "cached": FLAG,
        "confidence": NUMBER,
        "score": NUMBER,
        "n_best": array(structure({"text": TEXT, "score": NUMBER}, required=("text",))),
        "tokens": array(structure({"text": TEXT, "logp": NUMBER})),
        "alignment": described(_WORD_PAIRS, "Words that translate each other: source, target, from 0."),
        "risk": optional(NUMBER),
        "flags": array({"type": "object"}),
        "match": structure({"score": NUMBER, "source": TEXT, "target": TEXT}),
    },
    required=("text", "source", "cached"),
)
_WORDS = ("name", "digest", "source", "engine")
_LISTS = ("targets", "adapters", "terms")

ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/v1/translate",
        answer=translate,
        family="native",
        summary="Translate texts. With stream, the answers are server-sent events: segment, done, error.",
        fields={
            "texts": either(TEXT, array(TEXT)),
            "source": described(optional(TEXT), "Left out, empty or auto: it is detected."),
            "target": {"type": "string", "minLength": 1},
            "markup": optional(enum(*get_args(Markup))),
            "model": optional(TEXT),
            "options": optional(
                structure(
                    {
                        **{name: _schema(entry) for name, entry in _SEARCH.items()},
                        "prefix": described(optional(TEXT), "For one text: its translation begins so."),
                        "terms": optional(TEXT),
                        "adapter": optional(TEXT),
                        "memory": optional(FLAG),
                        "sentences": optional(enum(*get_args(Splitting))),
                        "return": optional(either(enum(*_RETURNS), array(enum(*_RETURNS)))),
                    },
                    required=(),
                    closed=True,
                )
            ),
            "stream": optional(FLAG),
            **KEYS,
        },
        required=("texts", "target"),
        bodies=("json",),
        returns=structure(
            {"results": array(_RESULT), "model": TEXT, "timing": structure({"seconds": NUMBER})}
        ),
        refuses=(400, 401, 413, 415, 429, 503, 504),
        works=True,
    ),
    Endpoint(
        method="GET",
        path="/v1/models",
        answer=models,
        family="native",
        summary="List the models, with their adapters and lists of terms.",
        returns=structure(
            {"models": array(structure(dict.fromkeys(_WORDS, TEXT) | {name: array(TEXT) for name in _LISTS}))}
        ),
        refuses=(401,),
    ),
)
