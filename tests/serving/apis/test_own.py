"""The routes of our own, and those that say how the server is."""

from __future__ import annotations

import asyncio
import gc
import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from tests.serving.standin import Running, StandIn, running, wait_for
from tests.translation.bundles import several_bundle

from dragoman import Translator
from dragoman.serving.apis.endpoints import ServerState
from dragoman.serving.apis.own import _events, _result
from dragoman.serving.http.settings import Settings
from dragoman.serving.service.ask import Answer, Ask, Route
from dragoman.serving.service.limits import Overloaded
from dragoman.serving.service.models import ServedModel
from dragoman.serving.service.service import Service
from dragoman.translation.translation import Translation

ONE = {"source": "en", "target": "de"}


def test_texts(client: httpx.Client) -> None:
    answer = client.post("/v1/translate", json={"texts": ["a", ""], **ONE}).json()

    assert answer["results"] == [
        {"text": "A", "source": "en", "cached": False},
        {"text": "", "source": "en", "cached": False},
    ]
    assert answer["model"] == "en-de"
    assert answer["timing"]["seconds"] >= 0


def test_the_source_is_found(client: httpx.Client) -> None:
    for source in ({}, {"source": None}, {"source": "auto"}, {"source": ""}):
        answer = client.post("/v1/translate", json={"texts": "a", "target": "de", **source}).json()
        assert answer["results"][0]["confidence"] == 0.75


def test_options_are_passed_on(server: Running, client: httpx.Client) -> None:
    options = {
        "beam": 3,
        "length_penalty": 0.5,
        "n_best": 2,
        "quality": "best",
        "prefix": "Ein",
        "terms": "product",
        "adapter": "legal",
        "memory": False,
        "sentences": "one",
        "return": ["tokens", "alignment", "risk", "scores"],
    }
    body = {"texts": ["a"], **ONE, "markup": "xml", "model": "en-de", "options": options}
    answer = client.post("/v1/translate", json=body).json()
    ask = server.standin.asked[0][1]

    assert answer["results"][0]["n_best"] == [{"text": "A"}, {"text": "A 1"}]
    assert (ask.beam, ask.length_penalty, ask.n_best, ask.quality, ask.prefix) == (3, 0.5, 2, "best", "Ein")
    assert (ask.terms, ask.adapter, ask.memory, ask.sentences) == ("product", "legal", False, "one")
    assert (ask.markup, ask.model, ask.wants) == ("xml", "en-de", {"tokens", "alignment", "risk"})


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"texts": ["a"], **ONE, "optoins": {}}, "optoins"),
        ({"texts": ["a"], **ONE, "options": {"baem": 3}}, "baem"),
        ({"texts": ["a"], **ONE, "options": {"beam": 0}}, "options.beam"),
        ({"texts": ["a"], **ONE, "options": {"beam": 17}}, "options.beam"),
        ({"texts": ["a"], **ONE, "options": {"n_best": 12}}, "options.n_best"),
        ({"texts": ["a"], **ONE, "options": {"length_penalty": -1}}, "options.length_penalty"),
        ({"texts": ["a"], **ONE, "options": {"quality": "good"}}, "options.quality"),
        ({"texts": ["a"], **ONE, "options": {"return": ["everything"]}}, "options.return"),
        ({"texts": ["a", "b"], **ONE, "options": {"prefix": "x"}}, "options.prefix"),
        ({"texts": ["a"], **ONE, "options": []}, "options"),
        ({"texts": ["a"], **ONE, "stream": "yes"}, "stream"),
        ({"texts": ["a"], **ONE, "markup": "pdf"}, "markup"),
        ({"texts": {"a": "b"}, **ONE}, "texts"),
        ({"texts": ["a"], "source": "en"}, "target"),
    ],
)
def test_problems_name_the_field(client: httpx.Client, body: dict[str, Any], field: str) -> None:
    answer = client.post("/v1/translate", json=body)
    problem = answer.json()

    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.status_code, problem["status"], problem["field"]) == (400, 400, field)
    assert set(problem) == {"type", "title", "status", "detail", "field"}


def events(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_a_stream_is_one_request_of_the_service(server: Running, client: httpx.Client) -> None:
    """With one place in the queue: with one for each text, the queue grew a hundredfold."""
    client.post("/v1/translate", json={"texts": ["a", "b", "c"], **ONE, "stream": True})
    assert [texts for texts, _, _ in server.standin.asked] == [["a", "b", "c"]]


def test_a_stream(client: httpx.Client) -> None:
    answer = client.post("/v1/translate", json={"texts": ["a", "b", "c"], **ONE, "stream": True})
    *segments, (last, footer) = events(answer.text)

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert {name for name, _ in segments} == {"segment"}
    assert sorted((one["index"], one["text"]) for _, one in segments) == [(0, "A"), (1, "B"), (2, "C")]
    assert (last, footer["model"]) == ("done", "en-de")


def test_a_stream_that_fails_says_so(server: Running, client: httpx.Client) -> None:
    server.standin.failing = Overloaded("full", retry_after=1)
    answer = client.post("/v1/translate", json={"texts": ["a"], **ONE, "stream": True})

    assert events(answer.text) == [("error", {"status": 429, "detail": "full"})]


def test_a_stream_in_an_unknown_language_is_refused_before_it_begins(client: httpx.Client) -> None:
    for pair in ({"source": "xx", "target": "de"}, {"target": "xx"}):
        answer = client.post("/v1/translate", json={"texts": ["a"], **pair, "stream": True})
        assert answer.status_code == 400


def test_a_stream_has_the_limits_of_a_request(server: Running, client: httpx.Client) -> None:
    limits, before = server.standin.limits, len(server.standin.asked)
    for texts in (["a"] * (limits.texts + 1), ["a" * limits.characters, "b"]):
        answer = client.post("/v1/translate", json={"texts": texts, **ONE, "stream": True})
        assert answer.status_code == 400
    assert len(server.standin.asked) == before


def test_all_texts_of_a_stream_that_fail_are_looked_at() -> None:
    """asyncio reports an error that nobody looked at when its task is deleted."""
    standin, reports = StandIn(), list[str]()
    standin.failing = Overloaded("full", retry_after=1)
    state = ServerState(cast(Service, standin), Settings())
    call: Any = SimpleNamespace(state=state, service=standin, client="", deadline=math.inf)

    async def streamed() -> list[str]:
        asyncio.get_running_loop().set_exception_handler(lambda _, about: reports.append(about["message"]))
        ask = Ask(source="en", target="de")
        found = [one async for one in _events(call, ["a"] * 20, ask, scores=False)]
        standin.failing = None  # its traceback holds the tasks
        gc.collect()
        return found

    (answer,) = asyncio.run(streamed())
    assert answer.startswith("event: error")
    assert "full" in answer
    assert reports == []


def test_a_stream_has_a_heartbeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.apis.own._HEARTBEAT", 0.02)
    with running() as server, server.client() as client:
        server.standin.gate.clear()
        body = {"texts": ["a"], **ONE, "stream": True}
        with client.stream("POST", "/v1/translate", json=body) as answer:
            lines = answer.iter_lines()
            assert next(lines) == ": still here"
            server.standin.gate.set()
            assert "event: done" in list(lines)


def test_who_leaves_a_stream_frees_its_place() -> None:
    with running() as server, server.client() as client:
        server.standin.gate.clear()
        body = {"texts": ["a", "b"], **ONE, "stream": True}
        with client.stream("POST", "/v1/translate", json=body):
            wait_for(lambda: server.standin.asked)
        client.close()
        wait_for(lambda: server.standin.cancelled == 1)
        wait_for(lambda: server.state.in_flight == 0)


def test_a_score_that_is_not_known_is_left_out() -> None:
    scored = Translation("a b", "A B", -0.5, ("A", "B"), (-0.1, -0.2, -0.3), False)
    parts = replace(scored, score=0.0, tokens=(), token_logp=())
    ask = Ask(source="en", target="de", n_best=2, wants=frozenset(("tokens",)))
    for found, known in ((scored, True), (parts, False)):
        found = replace(found, alternatives=(found,))
        route = Route(("en", "de"), ("m",))
        answer = Answer(
            text="A B", source="en", confidence=None, route=route, alternatives=("A C",), translation=found
        )
        result = _result(answer, ask, scores=True)
        assert [name in result for name in ("score", "tokens")] == [known, known]
        assert [one.get("score") for one in result["n_best"]] == [-0.5 if known else None] * 2


def test_models(client: httpx.Client) -> None:
    (model,) = client.get("/v1/models").json()["models"]

    assert (model["name"], model["targets"], model["adapters"]) == ("en-de", ["de", "fr"], ["legal"])


def test_one_model_of_several_languages() -> None:
    model = ServedModel(
        "m", Translator.of(several_bundle(languages=("deu_Latn", "eng_Latn", "zho_Hans", "zho_Hant")))
    )
    chinese = ["zh-Hans", "zh-Hant"]
    with running(Service([model])) as server, server.client() as client:
        (table,) = client.get("/v1/models").json()["models"]
        pairs = [{"sources": ["de", "en", *chinese], "targets": ["de", "en", *chinese]}]
        assert (table["source"], table["targets"], table["pairs"]) == ("mul", pairs[0]["targets"], pairs)
        languages = {one["code"]: one for one in client.get("/languages").json()}
        assert languages["de"] == {"code": "de", "name": "German", "targets": ["en", *chinese]}
        sources = client.get("/v2/languages", params={"type": "source"}).json()
        assert [one["language"] for one in sources] == ["DE", "EN", "ZH"]
        assert sources[2]["name"] == "Chinese"
        targets = client.get("/v2/languages", params={"type": "target"}).json()
        assert [one["language"] for one in targets] == ["EN-GB", "EN-US", "ZH-HANS", "ZH-HANT", "DE"]
        sent = {"texts": ["bread"], "source": "zh_TW", "target": "de"}
        (answer,) = client.post("/v1/translate", json=sent).json()["results"]
        assert answer["source"] == "zh-Hant"
        assert client.get("/v1/page").json()["models"] == [table]
        asked = {"text": "bread", "source": "de", "target": "zh-Hant", "options": {"beam": 1}}
        (trace,) = client.post("/v1/how", json=asked).json()["traces"]
        assert trace["source"]["text"] == ">>deu_Latn<< >>zho_Hant<< bread"


# How the server is


def test_alive_but_not_ready_while_it_loads() -> None:
    from tests.serving.standin import StandIn

    service = StandIn()
    service.warm = False
    with running(service) as server, server.client() as client:
        assert client.get("/health").json() == {"status": "ok"}
        loading = client.get("/ready")
        assert (loading.status_code, loading.json()) == (503, {"status": "loading"})
        assert loading.headers["retry-after"] == "2"
        refused = [
            client.post("/translate", json={"q": "a", **ONE}),
            client.post("/v2/translate", json={"text": ["a"], "target_lang": "DE"}),
            client.post("/v1/translate", json={"texts": ["a"], **ONE}),
        ]
        assert [one.status_code for one in refused] == [503] * 3
        assert all(one.headers["retry-after"] == "2" for one in refused)
        assert "dragoman_ready 0.0" in client.get("/metrics").text
        service.warm = True
        wait_for(lambda: client.get("/ready").status_code == 200)
        assert client.post("/translate", json={"q": "a", **ONE}).status_code == 200
        assert "dragoman_ready 1.0" in client.get("/metrics").text


def test_the_version(client: httpx.Client) -> None:
    from dragoman import __version__

    assert client.get("/version").json() == {"name": "dragoman", "version": __version__}
