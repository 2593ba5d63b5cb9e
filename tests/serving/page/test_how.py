"""The server of the page: what it offers, answers and refuses."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import numpy as np
import pytest
from tests.inspection.models import KINDS, bundle, transformer
from tests.serving.standin import StandIn, keys_file, running

from dragoman import Translator
from dragoman.inspection import Intervention, arrays
from dragoman.serving.http.settings import Keys
from dragoman.serving.page import routes as page
from dragoman.serving.service import inspection as inspecting
from dragoman.serving.service.inspection import Inspector, Question
from dragoman.serving.service.models import ServedModel

SAVED = Path(__file__).parents[2] / "saved" / "0.1"
JSON = {"Content-Type": "application/json"}
ASKED = {"text": "Tom sleeps.", "source": "en", "target": "de"}
QUESTION = Question(**ASKED)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load(SAVED / "transformer")


@pytest.fixture(scope="module")
def client(translator: Translator) -> Iterator[httpx.Client]:
    with running(StandIn(models=[ServedModel("en-de", translator)])) as server, server.client() as client:
        yield client


def test_what_is_offered(client: httpx.Client, translator: Translator) -> None:
    config: Any = translator.bundle.model.config
    answer = client.get("/v1/how")
    layers = {
        "encoder": config.encoder_layers,
        "decoder": config.decoder_layers,
        "cross": config.decoder_layers,
    }

    assert answer.status_code == 200
    assert answer.json() == {
        "models": [
            {
                "model": "en-de",
                "sources": ["en"],
                "targets": ["de"],
                "architecture": "transformer",
                "heads": {kind: [count, config.heads] for kind, count in layers.items()},
                "shift": True,
                "no_positions": True,
            }
        ],
        "limits": {"characters": 500, "beam": 10},
    }


@pytest.mark.parametrize(
    ("kind", "heads", "shift", "none"),
    [
        ("ssru", {"encoder", "cross"}, True, True),
        ("ssru-t5", {"encoder", "cross"}, False, True),
        ("transformer-none-all", {"encoder", "decoder", "cross"}, False, False),
        ("lstm-dot", set(), False, False),
        ("convolutional", set(), True, True),
    ],
)
def test_what_is_offered_can_be_changed(kind: str, heads: set[str], shift: bool, none: bool) -> None:
    translator = Translator.of(bundle(KINDS[kind]))
    (about,) = Inspector([ServedModel("en-de", translator)]).about()["models"]
    assert (set(about["heads"]), about["shift"], about["no_positions"]) == (heads, shift, none)
    for attention, (layers, count) in about["heads"].items():
        last = Intervention.of(without=[f"{attention}.{layers}.{count}"])
        assert translator.inspect("A dog.", max_extra_tokens=1, intervention=last).intervention == last
    for possible, change in ((shift, {"shift": 1}), (none, {"no_positions": True})):
        if possible:
            translator.inspect("A dog.", max_extra_tokens=1, intervention=Intervention.of(**change))  # type: ignore[arg-type]


def same(table: Any, other: Any) -> None:
    """Equal but for the rounding of numbers in arrays."""
    if isinstance(table, dict) and "data" in table:
        most = np.abs(arrays.decode(other)).max(initial=0)
        np.testing.assert_allclose(arrays.decode(table), arrays.decode(other), atol=most * 1e-4 + 1e-6)
    elif isinstance(table, dict):
        assert table.keys() == other.keys()
        for name in table:
            same(table[name], other[name])
    elif isinstance(table, list):
        assert len(table) == len(other)
        for one, two in zip(table, other, strict=True):
            same(one, two)
    else:
        assert table == pytest.approx(other) if isinstance(table, float) else table == other


def test_the_data_is_that_of_the_report(client: httpx.Client, translator: Translator) -> None:
    reference = Translator.load(SAVED / "transformer", engine="pytorch")
    plain = client.post("/v1/how", json=ASKED).json()
    trace = reference.inspect(ASKED["text"], name="en to de")
    same(plain, {"traces": [trace.to_table(compact=True)], "difference": None, "positions": None})

    table = {"without": ["cross.1.1"], "ban": [{"token": trace.target.tokens[0].id, "step": 1}], "shift": 2}
    both = client.post("/v1/how", json={**ASKED, "interventions": table, "options": {"beam": 2}}).json()
    wanted = reference.inspect(
        ASKED["text"], beam=2, name="en to de", intervention=Intervention.from_table(table)
    )
    same(both["traces"], [one.to_table(compact=True) for one in (wanted.untouched, wanted.changed)])
    same(both["difference"], json.loads(json.dumps(wanted.difference())))
    assert both["traces"][0]["target"]["text"] != both["traces"][1]["target"]["text"]


def test_the_named_model_is_inspected() -> None:
    """Of several for a pair; without a name, the first."""
    models = [ServedModel(name, Translator.of(bundle(transformer(), seed=n))) for n, name in enumerate("abc")]
    with running(StandIn(models=models)) as server, server.client() as client:
        assert [one["model"] for one in client.get("/v1/how").json()["models"]] == ["a", "b", "c"]

        def table(**model: str) -> Any:
            answer = client.post("/v1/how", json={**ASKED, "options": {"beam": 1}, **model})
            assert answer.status_code == 200
            return answer.json()["traces"][0]["steps"]

        a, b, default = table(model="a"), table(model="b"), table()
        assert a != b
        assert a == default
        unknown = client.post("/v1/how", json={**ASKED, "model": "x"})
        assert unknown.status_code == 400
        assert "models of this pair: a, b, c" in unknown.json()["detail"]


def test_what_the_server_translates_is_not_changed() -> None:
    """With the PyTorch engine both use the same weights."""
    translator = Translator.of(bundle(transformer(), seed=2))
    how = Inspector([ServedModel("en-de", translator)])
    before = translator.translate(["The old dog."])
    asyncio.run(how.answer(QUESTION))
    seen: list[object] = []
    model: Any = translator.bundle.model
    model.encoder[0].attention.register_forward_hook(lambda *_: seen.append(1))
    asyncio.run(
        how.answer(Question(**ASKED, interventions={"without": ["encoder.1.1"], "no_positions": True}))
    )
    assert seen == []
    assert not any(module._forward_pre_hooks for module in model.modules())
    assert translator.translate(["The old dog."]) == before


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({"text": "x" * 501}, 400, "501 characters"),
        ({"text": "äöü" * 150}, 400, "tokens"),
        ({"text": " \n "}, 400, "empty"),
        ({"text": None}, 400, "missing text"),
        ({"text": ["a"]}, 400, "text must be text"),
        ({"text": "\ud800"}, 400, "surrogate"),
        ({"source": "fr"}, 400, "fr is not supported"),
        ({"target": 3}, 400, "target must be text"),
        ({"model": 3}, 400, "model must be text"),
        ({"model": "de-en"}, 400, "no model 'de-en' from en to de"),
        ({"more": 1}, 400, "more: unknown field"),
        ({"interventions": []}, 400, "interventions must be an object"),
        ({"interventions": {"heads": 1}}, 400, "not an intervention"),
        ({"interventions": {"without": ["encoder.9.1"]}}, 400, "no head encoder.9.1"),
        ({"interventions": {"length_penalty": 10**400}}, 400, "length_penalty"),
        ({"interventions": {"force": [{"step": 1, "token": 10**9}]}}, 400, "vocabulary"),
        ({"options": {"beam": 11}}, 400, "options.beam must be a whole number from 1 to 10"),
        ({"options": {"beam": 10**400}}, 400, "options.beam"),
        ({"options": {"beam": 0}}, 400, "beam"),
        ({"options": {"beam": "3"}}, 400, "beam"),
        ({"options": {"length_penalty": 10**400}}, 400, "length_penalty"),
        ({"options": {"n_best": 3}}, 400, "options.n_best: unknown field"),
        ({"options": 1}, 400, "options must be an object"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_what_is_refused(client: httpx.Client, change: dict[str, Any], status: int, words: str) -> None:
    answer = client.post("/v1/how", content=json.dumps(ASKED | change), headers=JSON)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    problem = answer.json()
    assert problem["status"] == status
    assert words in problem["detail"]
    assert ASKED["text"] not in answer.text
    assert len(answer.text) < 1000


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"NaN", b"[" * 60_000, b'{"text": NaN}'])
def test_bodies_that_are_no_request(client: httpx.Client, body: bytes) -> None:
    assert client.post("/v1/how", content=body, headers=JSON).status_code == 400


def test_odd_text_is_answered(client: httpx.Client) -> None:
    for text in ("\0", "\u2028", "🙂", "a\nb", "<script>", "ﷺ", ">>xx<< a"):
        answer = client.post("/v1/how", json={**ASKED, "text": text})
        assert answer.status_code in (200, 400), text


def test_the_page_and_its_files(client: httpx.Client) -> None:
    page = client.get("/how")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    folder = Path(inspecting.__file__).parents[2] / "inspection/views/page"
    assert client.get("/how/views.js").content == (folder / "views.js").read_bytes()
    for name in ("nothing.js", "..%2freport.py", "%2e%2e%2freport.py", "%00", "HOW.JS"):
        assert client.get(f"/how/{name}").status_code == 404
    assert client.put("/v1/how", json={}).status_code == 405


def test_a_key_is_needed(translator: Translator, tmp_path: Path) -> None:
    service = StandIn(models=[ServedModel("en-de", translator)])
    keys = Keys.read(keys_file(tmp_path, one="right key"))
    with running(service, keys=keys) as server, server.client() as client:
        for key, status in (("wrong key", 401), ("right key", 200)):
            headers = {"Authorization": f"Bearer {key}"}
            assert client.get("/v1/how", headers=headers).status_code == status
            assert client.post("/v1/how", json=ASKED, headers=headers).status_code == status
        assert client.post("/v1/how", json=ASKED).status_code == 401


def test_without_pytorch(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.get("/v1/page").json()["how"] is True
    for module in (page, inspecting):
        monkeypatch.setattr(module, "has_pytorch", lambda: False)
    assert client.get("/v1/page").json()["how"] is False
    for answer in (client.get("/v1/how"), client.post("/v1/how", json=ASKED)):
        assert answer.status_code == 501
        assert "dragoman[train]" in answer.json()["detail"]
    assert client.get("/how").status_code == 200


@pytest.mark.thorough
def test_offering_loads_no_torch() -> None:
    code = f"""
import sys
from dragoman import Translator
from dragoman.serving.service.inspection import Inspector
from dragoman.serving.service.models import ServedModel
translator = Translator.load({str(SAVED / "transformer")!r})
assert Inspector([ServedModel("en-de", translator)]).about()["models"][0]["heads"]
assert translator.engine.__class__.__name__ != "NativeEngine" or "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=300)


def test_a_run_ends_with_the_server(translator: Translator) -> None:
    how = Inspector([ServedModel("en-de", translator)])
    asyncio.run(how.answer(QUESTION))
    how.close()
    with pytest.raises(inspecting.NotReady):
        how._run(QUESTION, time.monotonic() + 30)


# One at a time, and for a bounded time


class Slow:
    """An inspector whose runs wait until they are let go."""

    def __init__(self, translator: Translator, seconds: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.how = Inspector([ServedModel("en-de", translator)], seconds=seconds)
        self.go, self.at_once, self.most = threading.Event(), 0, 0
        monkeypatch.setattr(inspecting, "_LOADING", 0.0)
        monkeypatch.setattr(self.how, "_run", self.run)

    def run(self, wish: Any, deadline: float) -> dict[str, Any]:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        self.go.wait(20)
        time.sleep(0.01)
        self.at_once -= 1
        return {}


def test_one_at_a_time_and_few_wait(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(translator, 20, monkeypatch)

    async def many() -> list[Any]:
        tasks = [asyncio.ensure_future(slow.how.answer(QUESTION)) for _ in range(inspecting._WAITING + 2)]
        await asyncio.sleep(0.2)
        slow.go.set()
        first = await asyncio.gather(*tasks, return_exceptions=True)
        return [*first, await slow.how.answer(QUESTION)]

    answers = asyncio.run(many())
    refused = [one for one in answers if isinstance(one, Exception)]
    assert [type(one).__name__ for one in refused] == ["Overloaded"] * 2
    assert answers[-1] == {}
    assert slow.most == 1


def test_the_deadline_counts_the_time_in_the_queue(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(translator, 0.3, monkeypatch)

    async def two() -> list[Any]:
        answers = await asyncio.gather(
            slow.how.answer(QUESTION), slow.how.answer(QUESTION), return_exceptions=True
        )
        slow.go.set()
        while slow.how._runs:
            await asyncio.sleep(0.01)
        return answers

    assert [type(one).__name__ for one in asyncio.run(two())] == ["Late", "Late"]
    assert slow.most == 1


def test_a_search_ends_at_the_deadline(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    how = Inspector([ServedModel("en-de", translator)])
    asyncio.run(how.answer(QUESTION))
    started = time.monotonic()
    clock = iter([started] * 4)
    # The module's own `time`: servers of other tests run in threads, and their loops would stop at it.
    patched = SimpleNamespace(monotonic=lambda: next(clock, started + 1000))
    monkeypatch.setattr(inspecting, "time", patched)
    with pytest.raises(inspecting.Late):
        how._run(QUESTION, started + 30)
