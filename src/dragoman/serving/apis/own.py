"""The routes of dragoman's own, under /v1: everything that a model shows of a translation."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, Literal, get_args, get_origin

from starlette.responses import Response, StreamingResponse

from dragoman.base.options import entries
from dragoman.serving.apis.endpoints import Call, Endpoint, Plain
from dragoman.serving.http.errors import Refusal, refusal_of
from dragoman.serving.http.fields import (
    COUNT,
    Bound,
    Field,
    Fields,
    array,
    choice,
    described,
    flag,
    number,
    section,
    several,
    text,
    texts,
    whole,
)
from dragoman.serving.service.ask import Answer, Ask, Markup, Want
from dragoman.serving.service.models import ServedModel
from dragoman.text.formality import Formality
from dragoman.text.segmenter import Splitting
from dragoman.translation.search.options import Decoding
from dragoman.translation.translation import Translation

_HEARTBEAT = 10.0  # seconds
_WORDS = ("name", "digest", "source", "engine")
_LISTS = ("targets", "adapters", "terms")
_RETURNS = ("scores", *get_args(Want))
_SAME = "sentences beam length_penalty n_best formality prefix adapter terms memory".split()  # as in `Ask`


async def translate(call: Call) -> Plain | Response:
    texts, ask, scores = call["texts"], _ask(call), "scores" in call["options"]["return"]
    if ask.prefix and len(texts) != 1:
        raise Refusal(400, "options.prefix is for one text", field="options.prefix")
    if call["stream"]:
        call.service.check(texts, ask)  # this and the quota while there is a status
        call.use(sum(map(len, texts)))
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(
            _events(call, texts, ask, scores=scores), headers=headers, media_type="text/event-stream"
        )
    began = time.monotonic()
    answers = await call.translate(texts, ask)
    return {"results": [_result(one, ask, scores=scores) for one in answers], **_footer(answers, began)}


async def models(call: Call) -> Plain:
    return {"models": [model_table(one) for one in call.service.models]}


def model_table(model: ServedModel) -> dict[str, Any]:
    """A model that is served, as plain values."""
    words = {name: getattr(model, name) for name in _WORDS}
    pairs = [{"sources": list(leg.sources), "targets": list(leg.targets)} for leg in model.legs]
    return words | {name: list(getattr(model, name)) for name in _LISTS} | {"pairs": pairs}


def _ask(call: Call) -> Ask:
    options = call["options"]
    return Ask(
        source=call["source"],
        target=call["target"],
        model=call["model"],
        markup=call["markup"],
        quality=None if options["quality"] == "normal" else options["quality"],
        contexts=(" ".join(options["context"].split()),) if options["context"] else (),
        wants=frozenset(options["return"]) - {"scores"},
        **{name: options[name] for name in _SAME},
    )


async def _events(call: Call, texts: Sequence[str], ask: Ask, *, scores: bool) -> AsyncIterator[str]:
    """A segment for each text as soon as it is translated, in any order, then `done`; or `error`."""
    began, answers, ready = time.monotonic(), dict[int, Answer](), asyncio.Queue[int | None]()

    def each(index: int, answer: Answer) -> None:
        answers[index] = answer
        ready.put_nowait(index)

    async def translated() -> None:
        with call.state.holding(call.service):  # the call has been answered
            await call.service.translate(texts, ask, client=call.client, deadline=call.deadline, each=each)

    work = asyncio.ensure_future(translated())
    work.add_done_callback(lambda _: ready.put_nowait(None))
    try:
        while not (work.done() and ready.empty()):
            try:
                async with asyncio.timeout(_HEARTBEAT):
                    index = await ready.get()
            except TimeoutError:
                yield ": still here\n\n"
                continue
            if index is not None:
                yield _event("segment", {"index": index, **_result(answers[index], ask, scores=scores)})
        await work  # raises its error
        yield _event("done", _footer([*answers.values()], began))
    except Exception as error:
        refusal = refusal_of(error, "/v1/translate")
        yield _event("error", {"status": refusal.status, "detail": refusal.text})
    finally:
        work.cancel()
        left = sum(len(text) for index, text in enumerate(texts) if index not in answers)
        call.state.usage.add(call.client, -left)  # before any await: it ends here if the client has left
        await asyncio.gather(work, return_exceptions=True)


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def _footer(answers: Sequence[Answer], began: float) -> dict[str, Any]:
    used = dict.fromkeys(" ".join(answer.route.models) for answer in answers)
    return {"model": ", ".join(used), "timing": {"seconds": round(time.monotonic() - began, 4)}}


def _result(answer: Answer, ask: Ask, *, scores: bool) -> dict[str, Any]:
    """An answer as plain values. Values that were not requested, or are not known, are left out."""
    result: dict[str, Any] = {"text": answer.text, "source": answer.source, "cached": answer.cached}
    if answer.confidence is not None:
        result["confidence"] = round(answer.confidence, 3)
    found = answer.translation
    if ask.n_best > 1:
        result["n_best"] = [{"text": text} for text in (answer.text, *answer.alternatives)]
    if answer.match is not None:
        result["match"] = answer.match.to_table()
    if found is None:
        return result
    if scores:
        texts = zip((result, *result.get("n_best", ())), (found, found, *found.alternatives), strict=False)
        for shown, one in texts:
            shown |= {"score": one.score} if one.is_scored else {}
    if "tokens" in ask.wants and found.token_logp:
        result["tokens"] = _tokens(found)
    if "alignment" in ask.wants and found.alignment is not None:
        result["alignment"] = [list(link) for link in found.alignment.words()]
    if "risk" in ask.wants and found.risk is not None:
        result["risk"], result["flags"] = found.risk.probability, found.risk.to_table()["flags"]
    return result


def _tokens(found: Translation) -> list[dict[str, Any]]:
    """The pieces of the text with their log-probabilities; the last is for the end, without text."""
    pieces = [*found.tokens, ""][: len(found.token_logp)]
    return [{"text": text, "logp": logp} for text, logp in zip(pieces, found.token_logp, strict=True)]


def _searching(name: str, most: Bound) -> Field:
    """An option of a search: its type, default and text come from `Decoding`."""
    entry = entries(Decoding)[name]
    if get_origin(entry.plain) is Literal:
        field = choice(get_args(entry.plain), entry.default)
    elif entry.plain is int:
        field = whole(entry.default, least=int(entry.option.at_least or 0), most=most)
    else:
        field = number(least=0, most=most)
    return replace(field, about=entry.option.description)


_OPTIONS: Fields = {
    "beam": _searching("beam", lambda limits: limits.beam),
    "length_penalty": _searching("length_penalty", 10),
    "n_best": _searching("n_best", lambda limits: limits.alternatives + 1),
    "quality": _searching("quality", 0),
    "context": text("What stands before the texts. For models that were trained to read it.", default=""),
    "formality": choice(get_args(Formality)),
    "prefix": text("For one text: its translation begins so.", default=""),
    "terms": text(),
    "adapter": text(),
    "memory": flag(default=True),
    "sentences": choice(get_args(Splitting), "split"),
    "return": several(_RETURNS),
}
WORD_PAIRS = array(array(COUNT, minItems=2, maxItems=2))
MATCH = {"score": float, "source": str, "target": str}
_RESULT = {
    "text": str,
    "source": str,
    "cached": bool,
    "confidence?": float,
    "score?": float,
    "n_best?": [{"text": str, "score?": float}],
    "tokens?": [{"text": str, "logp": float}],
    "alignment?": described(WORD_PAIRS, "Words that translate each other: source, target, from 0."),
    "risk?": (float, None),
    "flags?": [dict],
    "match?": MATCH,
}
_MODEL = dict.fromkeys(_WORDS, str) | {name: [str] for name in _LISTS}
_PAIRS = {"pairs": [{"sources": [str], "targets": [str]}]}  # each source to each other of the targets

ENDPOINTS = (
    Endpoint(
        "POST /v1/translate",
        translate,
        "Translate texts. With stream, the answers are server-sent events: segment, done, error.",
        fields={
            "texts": texts(),
            "source": text("Left out, empty or auto: it is detected."),
            "target": text(required=True),
            "markup": choice(get_args(Markup), "text"),
            "model": text(),
            "options": section(_OPTIONS),
            "stream": flag(default=False),
        },
        bodies=("json",),
        returns={"results": [_RESULT], "model": str, "timing": {"seconds": float}},
        works=True,
    ),
    Endpoint(
        "GET /v1/models",
        models,
        "List the models, with their adapters and lists of terms.",
        returns={"models": [_MODEL | _PAIRS]},
    ),
)
