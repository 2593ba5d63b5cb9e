"""What the page asks the server, with a dictionary for a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serving.standin import Running, StandIn, keys_file, running
from tests.serving.web.dictionary import service_of

from dragoman.serving.http.settings import Keys
from dragoman.serving.service.limits import Limits

PAIR = {"source": "en", "target": "de"}
DOG = {**PAIR, "text": "A dog runs."}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    memory = tmp_path_factory.mktemp("memory") / "en-de.tm"
    with running(service_of(memory=memory, limits=Limits(characters=2000, texts=5))) as one:
        yield one


@pytest.fixture
def client(server: Running) -> Iterator[httpx.Client]:
    with server.client() as one:
        yield one


def asked(client: httpx.Client, route: str, status: int = 200, **body: Any) -> dict[str, Any]:
    answer = client.post(f"/v1/{route}", json=body)
    assert answer.status_code == status, answer.text
    table: dict[str, Any] = answer.json()
    return table


def test_the_page_knows_what_there_is(client: httpx.Client) -> None:
    about = client.get("/v1/page").json()

    assert about["languages"] == [
        {"code": "en", "name": "English", "targets": ["de"]},
        {"code": "de", "name": "German", "targets": []},
    ]
    assert about["models"] == client.get("/v1/models").json()["models"]
    shown = {"name": "dictionary", "source": "en", "targets": ["de"], "adapters": [], "terms": []}
    assert shown.items() <= about["models"][0].items()
    assert about["memories"] == [["en", "de"]]
    assert about["limits"]["characters"] == 2000


def test_a_text_comes_back_in_sentences(client: httpx.Client) -> None:
    text = "A dog runs. A cat sleeps.\n\nA dog runs."
    found = asked(client, "words", **PAIR, text=text)

    assert found["text"] == "Ein Hund rennt. Ein Katze schläft.\n\nEin Hund rennt."
    assert [one["source"] for one in found["sentences"]] == ["A dog runs.", "A cat sleeps.", "A dog runs."]
    for one in found["sentences"]:
        assert text[one["source_at"] :].startswith(one["source"])
        assert found["text"][one["target_at"] :].startswith(one["text"])
    words = {
        one["text"][w["start"] : w["end"]]: w["confidence"]
        for one in found["sentences"]
        for w in one["words"]
    }
    assert words == {"Ein": 0.8, "Hund": 0.9, "rennt": 0.6, "Katze": 0.45, "schläft": 0.1, ".": 0.95}
    assert found["sentences"][0]["links"] == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert asked(client, "words", **PAIR, text=" \n")["sentences"] == []
    assert asked(client, "words", target="de", text="A dog runs.")["source"] == "en"
    kept = asked(client, "words", **PAIR, text="Run `foo. Bar` now. A dog.")["sentences"]
    assert [one["source"] for one in kept] == ["Run `foo. Bar` now.", "A dog."]


def test_a_model_that_aligns_nothing_translates_without_links() -> None:
    with running(StandIn()) as server, server.client() as client:
        server.standin.models[0].translator.aligning = None
        asked(client, "words", **PAIR, text="A dog.")
        assert server.standin.asked[0][1].wants == {"tokens"}


def test_a_text_in_the_target_language_stays_and_the_page_can_say_so(client: httpx.Client) -> None:
    pytest.importorskip("py3langid")
    text = "Die Kinder spielen im Garten. Es ist Sommer."
    found = asked(client, "words", target="de", text=text)
    assert (found["source"], found["text"], found["confidence"] > 0.9) == ("de", text, True)

    found = asked(client, "words", target="de", text="The dog runs through the garden.")
    assert (found["source"], found["confidence"] > 0.9) == ("en", True)
    assert "confidence" not in asked(client, "words", **DOG)


def test_more_sentences_than_a_request_may_have_texts(client: httpx.Client) -> None:
    text = " ".join(f"A dog runs {word}." for word in ("now", "fast", "cat", "dog", "runs", "sleeps", "far"))
    assert len(asked(client, "words", **PAIR, text=text)["sentences"]) == 7


def test_a_sentence_begins_as_it_was_chosen(client: httpx.Client) -> None:
    text = "A dog runs. A cat sleeps."
    choices = [{"source": "A cat sleeps.", "prefix": "Eine Mieze"}, {"source": "A fox.", "prefix": "Ein"}]
    assert asked(client, "words", **PAIR, text=text, choices=choices)["text"] == (
        "Ein Hund rennt. Eine Mieze schläft."
    )
    strange = [{"source": "A dog runs.", "prefix": "Ein Ωmega"}]
    assert asked(client, "words", **PAIR, text=text, choices=strange)["text"] == (
        "Ein Hund rennt. Ein Katze schläft."
    )


def test_the_next_words_and_how_likely_they_are(client: httpx.Client) -> None:
    found = asked(client, "next_words", **DOG, prefix="Ein ")["words"]
    assert found == [
        {"text": "Hund", "prefix": "Ein Hund", "probability": 0.9},
        {"text": "Dackel", "prefix": "Ein Dackel", "probability": 0.06},
    ]
    assert asked(client, "next_words", **DOG, prefix="Ein ", most=1)["words"] == found[:1]
    assert asked(client, "next_words", 400, **DOG, prefix="Ωmega ")["detail"].startswith("prefix")
    assert "1 to 16" in asked(client, "next_words", 400, **DOG, most=17)["detail"]


def test_other_translations_of_a_sentence(client: httpx.Client) -> None:
    found = asked(client, "alternatives", **DOG)
    assert found["text"] == "Ein Hund rennt."
    texts = [one["text"] for one in found["alternatives"]]
    assert texts[0] == "Ein Hund läuft."
    assert len({*texts, found["text"]}) == 6


def test_corrections_are_stored_and_found(client: httpx.Client) -> None:
    cat = {**PAIR, "text": "A cat runs."}
    assert asked(client, "matches", **cat)["matches"] == []
    assert asked(client, "corrections", 201, **cat, translation="Die Katze rennt.") == {"new": True}
    assert asked(client, "corrections", **cat, translation="Die Katze rennt.") == {"new": False}
    assert asked(client, "matches", **cat)["matches"] == [
        {"source": "A cat runs.", "target": "Die Katze rennt.", "score": 100.0}
    ]
    (sentence,) = asked(client, "words", **cat)["sentences"]
    assert sentence["text"] == "Die Katze rennt."
    assert sentence["remembered"]
    assert {word["confidence"] for word in sentence["words"]} == {None}
    assert not asked(client, "words", **cat, memory=False)["sentences"][0]["remembered"]
    assert len(asked(client, "alternatives", **cat)["alternatives"]) == 5
    (near,) = asked(client, "matches", **PAIR, text="A cat runs fast.")["matches"]
    assert 70 <= near["score"] < 100


@pytest.mark.parametrize(
    ("route", "body", "says"),
    [
        ("words", {"text": "A dog."}, "target"),
        ("words", {**DOG, "target": "fr"}, "fr"),
        ("words", {**DOG, "text": 5}, "text must be text"),
        ("words", {**DOG, "choices": "Ein"}, "list of objects"),
        ("words", {**DOG, "choices": [{"source": "A"}]}, "prefix"),
        ("words", {**DOG, "choices": [{"source": "A", "prefix": "B"}] * 6}, "at most 5"),
        ("words", {**DOG, "adapter": "legal"}, "legal"),
        ("words", {**DOG, "strange": 1}, "strange"),
        ("next_words", {**DOG, "text": "A dog.\nA cat."}, "line breaks"),
        ("next_words", {"text": "A dog.", "target": "de"}, "source"),
        ("alternatives", {**DOG, "text": ""}, "text"),
        ("matches", {**DOG, "prefix": "a\nb"}, "line breaks"),
        ("corrections", DOG, "translation"),
        ("corrections", {**DOG, "translation": "\0"}, "NUL"),
    ],
)
def test_what_cannot_be_asked(client: httpx.Client, route: str, body: dict[str, Any], says: str) -> None:
    assert says in asked(client, route, 400, **body)["detail"]


@pytest.mark.parametrize("route", ["words", "next_words", "alternatives", "matches", "corrections"])
def test_too_much_text(client: httpx.Client, route: str) -> None:
    body = {**DOG, "text": "A dog. " * 300} | ({"translation": "x"} if route == "corrections" else {})
    assert "2,000" in asked(client, route, 413, **body)["detail"]


def test_without_a_memory_nothing_is_stored() -> None:
    with running(service_of()) as own, own.client() as client:
        assert client.get("/v1/page").json()["memories"] == []
        assert asked(client, "matches", **DOG)["matches"] == []
        assert "no translation memory" in asked(client, "corrections", 400, **DOG, translation="x")["detail"]


def test_all_of_it_needs_the_key(tmp_path: Path) -> None:
    keys = Keys.read(keys_file(tmp_path, ada="secret"))
    with running(service_of(), keys=keys) as own, own.client() as client:
        assert client.get("/v1/page").status_code == 401
        for route in ("words", "next_words", "alternatives", "matches", "corrections"):
            asked(client, route, 401, **DOG)
        client.headers["Authorization"] = "Bearer secret"
        assert asked(client, "words", **DOG)["text"] == "Ein Hund rennt."
        assert client.get("/").status_code == 200
