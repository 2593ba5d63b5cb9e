"""How a translation came about: what the page at `/how` asks."""

from __future__ import annotations

from dragoman.serving.apis.endpoints import Call, Endpoint, Plain
from dragoman.serving.http.fields import number, section, table, text, whole
from dragoman.serving.service.inspection import BEAM, Question


async def _offer(call: Call) -> Plain:
    """The models, what of them can be changed, and the limits. Loads nothing."""
    return call.state.how.about()


async def _answer(call: Call) -> Plain:
    """The data of the report, for the untouched run and for the changed one."""
    asked = (call[name] for name in ("text", "source", "target", "interventions", "options"))
    return await call.state.how.answer(Question(*asked))


ENDPOINTS = (
    Endpoint(
        "GET /v1/how",
        _offer,
        "The models that can be inspected, their heads, and the limits.",
        returns={"models": [dict], "limits": dict},
        refuses=(501,),
        works=True,
    ),
    Endpoint(
        "POST /v1/how",
        _answer,
        "Inspect the translation of a sentence, as it is and with interventions.",
        fields={
            "text": text(required=True, empty=True),
            "source": text(required=True),
            "target": text(required=True),
            "interventions": table("What is changed; see the guide on inspection."),
            "options": section(
                {"beam": whole(None, least=1, most=BEAM), "length_penalty": number(least=0, most=10)}
            ),
        },
        bodies=("json",),
        returns={"traces": [dict]},
        refuses=(501,),
        works=True,
    ),
)
