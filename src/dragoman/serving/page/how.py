"""How a translation came about: the routes of the page at `/how`."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response

from dragoman.serving.apis.endpoints import Call, Endpoint
from dragoman.serving.http.fields import Schema, array, number, section, structure, table, text, whole
from dragoman.serving.service.inspection import BEAM, Question

_OBJECT: Schema = {"type": "object"}


async def _offer(call: Call) -> Response:
    """The models, the parts that can be changed, and the limits. Loads nothing."""
    return JSONResponse(call.state.how.about(), headers={"Cache-Control": "no-store"})


async def _answer(call: Call) -> Response:
    """The data of the report, for the untouched run and for the changed one."""
    question = Question(
        text=call["text"],
        source=call["source"],
        target=call["target"],
        interventions=call["interventions"],
        options=call["options"],
    )
    return JSONResponse(await call.state.how.answer(question), headers={"Cache-Control": "no-store"})


ENDPOINTS = (
    Endpoint(
        route="GET /v1/how",
        answer=_offer,
        summary="The models that can be inspected, their heads, and the limits.",
        returns=structure({"models": array(_OBJECT), "limits": _OBJECT}),
        refuses=(501,),
        works=True,
    ),
    Endpoint(
        route="POST /v1/how",
        answer=_answer,
        summary="Inspect the translation of a sentence, as it is and with interventions.",
        fields={
            "text": text(required=True, empty=True),
            "source": text(required=True),
            "target": text(required=True),
            "interventions": table("The changes; see the guide on inspection."),
            "options": section(
                {
                    "beam": whole(None, least=1, most=BEAM),
                    "length_penalty": number(least=0, most=10),
                }
            ),
        },
        bodies=("json",),
        returns=structure({"traces": array(_OBJECT)}, required=("traces",)),
        refuses=(501,),
        works=True,
    ),
)
