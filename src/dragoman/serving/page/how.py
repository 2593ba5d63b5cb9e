"""How a translation came about: what the page at `/how` asks. `inspecting.py` does the work."""

from __future__ import annotations

import json

from starlette.responses import JSONResponse, Response

from dragoman.serving.apis.endpoints import Endpoint, Incoming
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.schemas import KEYS, TEXT, Schema, array, described, optional, structure
from dragoman.serving.service.inspection import FIELDS

_OBJECT: Schema = {"type": "object"}


async def _offer(call: Incoming) -> Response:
    """The models, what of them can be changed, and the limits. Loads nothing."""
    return JSONResponse(call.desk.how.about(), headers={"Cache-Control": "no-store"})


async def _answer(call: Incoming) -> Response:
    """The data of the report, for the untouched run and for the changed one."""
    call.fields.only((*FIELDS, *KEYS))
    asked = {name: value for name, value in call.fields.values.items() if name in FIELDS}
    try:
        json.dumps(asked, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Refusal(400, "Invalid request: half of a surrogate pair, which is no character") from None
    return JSONResponse(await call.desk.how.answer(asked), headers={"Cache-Control": "no-store"})


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/v1/how",
        answer=_offer,
        family="native",
        summary="The models that can be inspected, their heads, and the limits.",
        returns=structure({"models": array(_OBJECT), "limits": _OBJECT}),
        refuses=(401, 501, 503),
        works=True,
    ),
    Endpoint(
        method="POST",
        path="/v1/how",
        answer=_answer,
        family="native",
        summary="Inspect the translation of a sentence, as it is and with interventions.",
        fields={
            "text": {"type": "string", "minLength": 1},
            "source": TEXT,
            "target": TEXT,
            "interventions": described(optional(_OBJECT), "What is changed; see the guide on inspection."),
            "options": described(optional(_OBJECT), "beam, length_penalty"),
        },
        required=("text", "source", "target"),
        bodies=("json",),
        returns=structure({"traces": array(_OBJECT)}, required=("traces",)),
        refuses=(400, 401, 413, 429, 501, 503, 504),
        works=True,
    ),
)
