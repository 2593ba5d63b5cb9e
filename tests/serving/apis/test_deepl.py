"""The routes of DeepL, as Weblate, Mastodon and its own clients call them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serving.engines import Shift, served
from tests.serving.standin import Running, StandIn, keys_file, running, wait_for

from dragoman.base.errors import DataError
from dragoman.serving.http.settings import Keys
from dragoman.serving.service.limits import Late, Overloaded, TooLong
from dragoman.serving.service.service import Service

DE = {"target_lang": "DE"}


def test_texts(server: Running, client: httpx.Client) -> None:
    answer = client.post("/v2/translate", json={"text": ["A dog.", "öß"], **DE}).json()

    assert answer == {
        "translations": [
            {"detected_source_language": "EN", "text": "A DOG.", "billed_characters": 6},
            {"detected_source_language": "EN", "text": "ÖSS", "billed_characters": 2},
        ]
    }
    assert server.standin.asked[0][1].source is None


@pytest.mark.parametrize("form", [{"text": ["a", "b"]}, {"text[]": ["a", "b"]}])
def test_forms(client: httpx.Client, form: dict[str, Any]) -> None:
    form = {**form, "target_lang": "de", "source_lang": "en", "show_billed_characters": "1"}
    answer = client.post("/v2/translate", data=form).json()

    assert [one["text"] for one in answer["translations"]] == ["A", "B"]


@pytest.mark.parametrize("target", ["de", "DE", "PT-BR", "pt-pt", "FR"])
def test_languages_in_any_case(client: httpx.Client, target: str) -> None:
    assert client.post("/v2/translate", json={"text": ["a"], "target_lang": target}).status_code == 200


def test_what_is_passed_on(server: Running, client: httpx.Client) -> None:
    body = {
        "text": ["a\nb"],
        **DE,
        "source_lang": "EN",
        "tag_handling": "xml",
        "ignore_tags": ["x", "y,z"],
        "split_sentences": "0",
        "model_type": "latency_optimized",
        "glossary_id": "product",
    }
    answer = client.post("/v2/translate", json=body).json()["translations"][0]
    ask = server.standin.asked[0][1]

    assert (ask.source, ask.markup, ask.ignored_tags) == ("EN", "xml", {"x", "y", "z"})
    assert (ask.sentences, ask.quality, ask.terms) == ("split", "fast", "product")
    assert answer["model_type_used"] == "latency_optimized"


@pytest.mark.parametrize(
    ("value", "how"),
    [("0", "one"), ("1", "split"), (0, "one"), (True, "split"), ("false", "one"), ("nonewlines", "split")],
)
def test_splitting(server: Running, client: httpx.Client, value: Any, how: str) -> None:
    client.post("/v2/translate", json={"text": ["a\nb"], **DE, "split_sentences": value})
    texts, ask, _ = server.standin.asked[0]

    assert ask.sentences == how
    assert texts == (["a b"] if value == "nonewlines" else ["a\nb"])


@pytest.mark.parametrize(
    ("body", "phrase"),
    [
        (DE, "missing text"),
        ({"text": ["a"]}, "missing target_lang"),
        ({"text": ["a"], "target_lang": "XX"}, "not supported: XX"),
        ({"text": ["a"], "source_lang": "XX", **DE}, "not supported: XX"),
        ({"text": ["a"] * 51, **DE}, "at most 50"),
        ({"text": 5, **DE}, "text must be text"),
        ({"text": ["a"], **DE, "formality": "most"}, "formality must be one of"),
        ({"text": ["a"], **DE, "formality": "more"}, "'formality' is not supported"),
        ({"text": ["a"], **DE, "tag_handling": "pdf"}, "'tag_handling' not supported"),
        ({"text": ["a"], **DE, "split_sentences": "2"}, "'split_sentences' not supported"),
        ({"text": ["a"], **DE, "split_sentences": []}, "'split_sentences' not supported"),
        ({"text": ["a"], **DE, "model_type": "big"}, "'model_type' not supported"),
        ({"text": ["a"], **DE, "preserve_formatting": "maybe"}, "preserve_formatting must be"),
        ({"text": ["a"], **DE, "ignore_tags": 5}, "ignore_tags must be"),
        ({"text": ["a"], **DE, "context": 5}, "context must be text"),
    ],
)
def test_what_is_refused(client: httpx.Client, body: dict[str, Any], phrase: str) -> None:
    answer = client.post("/v2/translate", json=body)

    assert answer.status_code == 400
    assert phrase in answer.json()["message"]


def test_context_and_formality(server: Running, client: httpx.Client) -> None:
    """`more` and `less` are for models that have learnt them, here French."""
    body = {"text": ["a"], "source_lang": "EN", "target_lang": "FR", "context": "A  dog.\nB"}
    for value, expected in (("more", "formal"), ("prefer_less", "informal"), ("default", None)):
        assert client.post("/v2/translate", json={**body, "formality": value}).status_code == 200
        _, ask, _ = server.standin.asked[-1]
        assert (ask.contexts, ask.formality) == (("A dog. B",), expected)
    found = {
        one["language"]: one["supports_formality"] for one in client.get("/v2/languages?type=target").json()
    }
    assert found["FR"]
    assert not found["DE"]


def test_the_last_model_of_the_route_addresses_the_reader() -> None:
    models = [
        served("a", Shift(), "en", "de", reads=("formality",)),
        served("b", Shift(), "fr", "de"),
        served("c", Shift(), "es", "en"),
    ]
    standin = StandIn(models=models)
    standin.pairs = Service(models).pairs
    with running(standin) as server, server.client() as client:
        for source, status in (("EN", 200), ("ES", 200), ("FR", 400), ("", 400)):
            body = {"text": ["a"], **DE, "source_lang": source, "formality": "more"}
            assert client.post("/v2/translate", json=body).status_code == status
        table = client.get("/v2/languages?type=target").json()
        assert {one["language"]: one["supports_formality"] for one in table}["DE"] is False


def test_options_without_effect_are_taken(client: httpx.Client) -> None:
    body = {
        "text": ["a"],
        **DE,
        "formality": "prefer_more",
        "context": "b",
        "preserve_formatting": 1,
        "outline_detection": False,
        "splitting_tags": "p",
        "non_splitting_tags": ["b"],
        "tag_handling_version": "v2",
        "show_billed_characters": True,
    }
    assert client.post("/v2/translate", json=body).status_code == 200


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (TooLong("too long"), 413),
        (Overloaded("full", retry_after=4), 429),
        (Late("late"), 504),
        (DataError("bad"), 400),
        (RuntimeError("a secret"), 500),
    ],
)
def test_errors_of_the_service(server: Running, client: httpx.Client, error: Exception, status: int) -> None:
    server.standin.failing = error
    answer = client.post("/v2/translate", json={"text": ["a"], **DE})

    assert answer.status_code == status
    assert set(answer.json()) == {"message"}
    assert "secret" not in answer.text


def test_languages(client: httpx.Client) -> None:
    sources = client.get("/v2/languages").json()
    targets = client.request("GET", "/v2/languages", data={"type": "target"}).json()

    assert [one["language"] for one in sources] == ["EN", "DE"]
    assert [one["language"] for one in targets] == ["DE", "FR", "PT-BR", "PT-PT", "EN-GB", "EN-US"]
    assert client.get("/v2/languages?type=target").json() == targets
    assert client.post("/v2/languages", data={"type": "target"}).json() == targets
    assert client.get("/v2/languages?type=x").status_code == 400
    assert client.get("/v2/nothing").json() == {"message": "Not found"}


def test_glossaries_are_none(client: httpx.Client) -> None:
    assert client.get("/v2/glossary-language-pairs").json() == {"supported_languages": []}
    assert client.get("/v2/glossaries").json() == {"glossaries": []}


def test_use_is_counted_by_key(tmp_path: Path) -> None:
    keys = Keys.read(keys_file(tmp_path, one="K1", two="K2"))
    with running(keys=keys) as server, server.client() as client:
        for key in ("K1", "K1", "K2"):
            body = {"text": ["four", "x"], **DE, "auth_key": key}
            assert client.post("/v2/translate", data=body).status_code == 200
        used = [
            client.get("/v2/usage", headers={"Authorization": f"DeepL-Auth-Key {key}"}).json()
            for key in ("K1", "K2")
        ]
        assert [one["character_count"] for one in used] == [10, 5]
        assert used[0]["character_limit"] == 10**12
        assert client.get("/v2/usage").status_code == 403


def test_weblate(client: httpx.Client) -> None:
    headers = {"Authorization": "DeepL-Auth-Key any"}
    body = {
        "text": ['Hello, <x id="7"></x>!'],
        "source_lang": "EN",
        "target_lang": "DE",
        "formality": "default",
        "tag_handling": "xml",
        "ignore_tags": ["x"],
    }
    answer = client.post("/v2/translate", json=body, headers=headers).json()

    assert answer["translations"][0]["text"] == 'HELLO, <X ID="7"></X>!'
    assert client.get("/v2/languages?type=source", headers=headers).status_code == 200


def test_mastodon(server: Running, client: httpx.Client) -> None:
    form = {"text[]": ["<p>a</p>"], "source_lang": "", "target_lang": "DE", "tag_handling": "html"}
    answer = client.post("/v2/translate", data=form, headers={"Authorization": "DeepL-Auth-Key K"})

    assert answer.json()["translations"][0] == {
        "detected_source_language": "EN",
        "text": "<P>A</P>",
        "billed_characters": 8,
    }
    assert server.standin.asked[0][1].detects


# Documents


def uploaded(client: httpx.Client, name: str = "a.txt", data: bytes = b"A dog.\n", **more: str) -> Any:
    return client.post("/v2/document", data={**DE, **more}, files={"file": (name, data)})


def test_a_document(client: httpx.Client) -> None:
    handle = uploaded(client).json()
    path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    wait_for(lambda: client.post(path, json=key).json()["status"] == "done")

    assert client.post(path, data=key).json()["billed_characters"] == 6
    file = client.post(f"{path}/result", json=key)
    assert (file.content, file.headers["content-length"]) == (b"A DOG.\n", "7")
    assert client.post(f"{path}/result", json=key).status_code == 404  # it is fetched once


@pytest.mark.parametrize("source", ["auto", "AUTO", ""])
def test_the_language_of_a_document_is_found(server: Running, client: httpx.Client, source: str) -> None:
    sent = {"source_lang": source, "glossary_id": ""}
    assert uploaded(client, **sent).status_code == 200
    client.post("/v2/translate", json={"text": ["a"], **DE, **sent})
    ask = server.standin.asked[0][1]
    assert (ask.detects, ask.terms) == (True, None)


def test_a_document_needs_its_key(client: httpx.Client) -> None:
    handle = uploaded(client).json()
    path = f"/v2/document/{handle['document_id']}"

    assert client.post(path, json={"document_key": "wrong"}).status_code == 404
    assert client.post(f"{path}/result", json={"document_key": "wrong"}).status_code == 404
    assert client.post(path, json={}).status_code == 400
    assert client.post("/v2/document/none", json={"document_key": "x"}).status_code == 404


def test_a_document_that_is_not_ready(server: Running, client: httpx.Client) -> None:
    server.standin.gate.clear()
    try:
        handle = uploaded(client).json()
        path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
        assert client.post(path, json=key).json()["status"] == "translating"
        answer = client.post(f"{path}/result", json=key)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    finally:
        server.standin.gate.set()
    wait_for(lambda: client.post(path, json=key).json()["status"] == "done")


def test_a_document_that_fails_says_why(server: Running, client: httpx.Client) -> None:
    server.standin.failing = DataError("line 3: broken")
    handle = uploaded(client).json()
    path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    wait_for(lambda: client.post(path, json=key).json()["status"] == "error")

    assert client.post(path, json=key).json()["error_message"] == "line 3: broken"
    assert client.post(f"{path}/result", json=key).status_code == 400


def test_a_document_that_fails_within_is_logged_and_counted(
    server: Running, client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    def failed() -> float | None:
        return server.state.metrics.registry.get_sample_value("dragoman_failed_total")

    before = failed()
    server.standin.failing = RuntimeError("a secret")
    handle = uploaded(client).json()
    path, key = f"/v2/document/{handle['document_id']}", {"document_key": handle["document_key"]}
    wait_for(lambda: client.post(path, json=key).json()["status"] == "error")

    assert "secret" not in client.post(path, json=key).text
    (record,) = [one for one in caplog.records if one.levelname == "ERROR"]
    facts: Any = vars(record)["facts"]
    assert facts["route"] == "/v2/document"
    assert facts["error"].startswith("RuntimeError at ")
    assert failed() == (before or 0) + 1


def test_a_document_may_be_named_apart(client: httpx.Client) -> None:
    assert uploaded(client, "blob", b"# A dog\n", filename="a.md").status_code == 200
    assert uploaded(client, "blob", b"%PDF-1.7\n").status_code == 400


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"target_lang": "XX", "source_lang": "EN"}, "a.txt"),
        ({"target_lang": "XX"}, "a.txt"),
        ({"formality": "more"}, "a.txt"),
        ({"output_format": "pdf"}, "a.txt"),
        ({}, "a.pdf"),
    ],
)
def test_documents_that_are_refused_at_once(client: httpx.Client, more: dict[str, str], name: str) -> None:
    assert uploaded(client, name, b"x\n", **more).status_code == 400


def test_unfinished_documents_are_bounded() -> None:
    with running() as server, server.client() as client:
        server.standin.gate.clear()
        answers = [uploaded(client) for _ in range(17)]
        assert [one.status_code for one in answers] == [200] * 16 + [429]
        assert server.state.jobs.unfinished == 16


def test_a_document_is_forgotten_in_time(server: Running, client: httpx.Client) -> None:
    handle = uploaded(client).json()
    job = server.state.jobs.find(handle["document_id"], handle["document_key"])
    wait_for(lambda: job.state == "done")
    job.until = time.monotonic() - 1
    uploaded(client)

    key = {"document_key": handle["document_key"]}
    assert client.post(f"/v2/document/{handle['document_id']}", json=key).status_code == 404
