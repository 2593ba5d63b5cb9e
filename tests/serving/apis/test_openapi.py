"""The description is true: each route is served as it says, and nothing else is."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import httpx
import pytest
from starlette.routing import Route
from tests.serving.standin import Running

from dragoman.serving.app import ENDPOINTS

ASKED = {
    "/translate": {"q": "a", "source": "auto", "target": "de", "alternatives": 1},
    "/detect": {"q": "a"},
    "/suggest": {"q": "a", "s": "b", "source": "en", "target": "de"},
    "/v2/translate": {"text": ["a"], "target_lang": "DE", "model_type": "latency_optimized"},
    "/v2/languages": {"type": "target"},
    "/v1/translate": {
        "texts": ["a"],
        "target": "de",
        "options": {"n_best": 2, "return": ["tokens", "alignment", "risk", "scores"]},
    },
}
OPERATIONS = [(one.method.lower(), one.path) for one in ENDPOINTS]


@pytest.fixture(scope="module")
def described(shared: Running) -> Any:
    with shared.client() as client:
        return client.get("/openapi.json").json()


def test_the_routes_are_those_that_are_described(shared: Running, described: Any) -> None:
    inner: Any = shared.server.config.loaded_app
    while not hasattr(inner, "routes"):
        inner = getattr(inner, "_inner", None) or inner.app
    served = {
        (method.lower(), route.path)
        for route in inner.routes
        if isinstance(route, Route)
        for method in route.methods or ()
        if method != "HEAD" and route.path not in ("/", "/web/{name:path}", "/how", "/how/{name:path}")
    }
    listed = {(method, path) for path, methods in described["paths"].items() for method in methods}

    assert served == listed == set(OPERATIONS)


@pytest.mark.parametrize(("method", "path"), OPERATIONS)
def test_an_answer_is_as_described(client: httpx.Client, described: Any, method: str, path: str) -> None:
    operation = described["paths"][path][method]
    real = re.sub(r"{\w+}", "none", path)
    body = {} if method == "get" else {"json": ASKED.get(path, {"document_key": "x"})}
    answer = client.request(method, real, **body)
    known = operation["responses"]

    assert str(answer.status_code) in known
    media = answer.headers["content-type"].partition(";")[0]
    schema = known[str(answer.status_code)]["content"][media]["schema"]
    if media.endswith("json"):
        assert problems(answer.json(), schema) == []


@pytest.mark.parametrize("path", ASKED)
def test_every_field_is_described_and_read(
    server: Running, client: httpx.Client, described: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server.state, "settings", replace(server.state.settings, suggestions=True))
    assert client.post(path, json=ASKED[path]).status_code == 200
    (endpoint,) = (one for one in ENDPOINTS if (one.method, one.path) == ("POST", path))
    schema = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]

    assert set(schema["properties"]) == set(endpoint.fields)
    assert set(schema.get("required", ())) <= set(ASKED[path])
    for name in schema["properties"]:  # each is parsed, so that a value of no kind is refused
        answer = client.post(path, json=ASKED[path] | {name: {"no": ["kind"]}})
        assert (name, answer.status_code) == (name, 400)


def test_the_methods_that_are_not_described_are_405(client: httpx.Client, described: Any) -> None:
    for path, methods in described["paths"].items():
        for method in {"get", "post", "put", "delete", "patch"} - set(methods):
            answer = client.request(method, re.sub(r"{\w+}", "none", path))
            assert (path, method, answer.status_code) == (path, method, 405)
            assert {one.lower() for one in answer.headers["allow"].split(", ")} - {"head"} == set(methods)


def problems(value: Any, schema: Any, where: str = "") -> list[str]:
    """Where a value is not as a schema says: what of JSON Schema the description uses."""
    if "anyOf" in schema:
        found = [problems(value, one, where) for one in schema["anyOf"]]
        return [] if [] in found else found[0]
    kinds = {"string": str, "boolean": bool, "array": list, "object": dict, "null": type(None)}
    kind = schema.get("type")
    if kind in ("number", "integer"):
        fits = type(value) is int or (kind == "number" and type(value) is float)
        return [] if fits and value >= schema.get("minimum", value) else [f"{where}: {value!r}"]
    if not isinstance(value, kinds[kind]):
        return [f"{where}: {value!r} is no {kind}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{where}: {value!r}"]
    if kind == "array":
        return [one for item in value for one in problems(item, schema["items"], f"{where}[]")]
    if kind != "object":
        return []
    missing = [f"{where}.{name} is missing" for name in schema.get("required", ()) if name not in value]
    known = schema.get("properties")
    unknown = [f"{where}.{name} is unknown" for name in value if known is not None and name not in known]
    inside = [
        one
        for name, item in value.items()
        if known and name in known
        for one in problems(item, known[name], f"{where}.{name}")
    ]
    return missing + unknown + inside


def test_the_check_of_schemas_finds_faults() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "minimum": 0}}, "required": ["a"]}

    assert problems({"a": 1}, schema) == []
    for wrong in ({}, {"a": "1"}, {"a": -1}, {"a": True}, {"a": 1, "b": 2}, []):
        assert len(problems(wrong, schema)) == 1
