"""Counts of characters, quotas of keys, and a key for one route."""

from __future__ import annotations

import calendar
import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serving.standin import running, wait_for
from tests.serving.web.dictionary import service_of

from dragoman.base.errors import DataError
from dragoman.serving.http.settings import Keys
from dragoman.serving.http.usage import Usage
from dragoman.serving.service.limits import Limits, Overloaded

BODY = {"q": "x" * 10, "source": "en", "target": "de"}


def at(*when: int) -> float:
    return calendar.timegm((*when, *[0] * (6 - len(when))))


class Clock:
    def __init__(self, *when: int) -> None:
        self.now = at(*when)

    def __call__(self) -> float:
        return self.now


def test_each_span_begins_anew() -> None:
    clock = Clock(2026, 12, 31, 23, 58)
    usage = Usage(clock=clock)
    usage.add("key a", 5)
    assert usage.of("key a") == {"all": 5, "minute": 5, "day": 5, "month": 5}
    clock.now += 60
    usage.add("key a", 2)
    assert usage.of("key a") == {"all": 7, "minute": 2, "day": 7, "month": 7}
    clock.now += 60  # a new year
    assert usage.of("key a") == {"all": 7, "minute": 0, "day": 0, "month": 0}
    assert usage.of("key b") == {"all": 0, "minute": 0, "day": 0, "month": 0}


@pytest.mark.parametrize(
    ("quota", "span", "left"),
    [
        ({"minute": 9}, "minute", 15),
        ({"day": 9, "minute": 9}, "day", 3600 * 12 + 15),
        ({"month": 9, "day": 9}, "month", 86400 + 3600 * 12 + 15),
    ],
)
def test_what_exceeds_a_quota_and_for_how_long(quota: dict[str, int], span: str, left: float) -> None:
    usage = Usage(clock=Clock(2028, 2, 28, 11, 59, 45))  # a leap year
    assert usage.exceeded("a", 9, quota) is None
    usage.add("a", 9)
    assert usage.exceeded("a", 1, quota) == (span, left)
    usage.add("a", -1)
    assert usage.exceeded("a", 1, quota) is None


def test_counts_of_keys_outlast_the_server(tmp_path: Path) -> None:
    clock, path = Clock(2026, 5, 1), tmp_path / "used.json"
    usage = Usage(path, clock)
    usage.add("key a", 5)
    usage.add("address 10.0.0.1", 5)
    usage.save()
    assert "10.0.0.1" not in path.read_text()
    again = Usage(path, clock)
    assert again.of("key a") == {"all": 0, "minute": 5, "day": 5, "month": 5}
    wrong = (
        '{"a": 5}',
        '{"a": {"day": ["x"]}}',
        '{"a": {"day": ["x", "y"]}}',
        '{"a": {"day": ["x", 1e999]}}',
    )
    for text in ("{", "[]", "[" * 100_000, *wrong):
        path.write_text(text)
        with pytest.raises(DataError, match="not a file of counts"):
            Usage(path, clock)


def test_the_silent_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.http.usage._CLIENTS", 2)
    usage = Usage()
    for client in "abcb":
        usage.add(client, 1)
    usage.add("d", 1)
    assert [usage.of(client)["all"] for client in "abcd"] == [0, 2, 0, 1]


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    lines = {"K1": "site month=25", "K2": "quick minute=15", "K3": "prometheus only=metrics", "K4": "free"}
    (tmp_path / "keys").write_text(
        "".join(f"{hashlib.sha256(key.encode()).hexdigest()}  {rest}\n" for key, rest in lines.items())
    )
    return Keys.read(tmp_path / "keys")


def told(client: httpx.Client, key: str) -> tuple[int, int]:
    answer = client.get("/v2/usage", headers={"Authorization": f"DeepL-Auth-Key {key}"}).json()
    return answer["character_count"], answer["character_limit"]


def test_a_quota_is_told_and_kept(keys: Keys) -> None:
    with running(keys=keys) as server, server.client() as client:
        site: dict[str, Any] = {**BODY, "api_key": "K1"}
        settings = client.get("/frontend/settings?api_key=K1").json()
        assert settings["charLimit"] == 25
        for _ in range(2):
            assert client.post("/translate", json=site).status_code == 200
        assert told(client, "K1") == (20, 25)
        assert client.get("/frontend/settings?api_key=K1").json()["charLimit"] == 5

        refused = client.post("/translate", json=site)
        assert refused.status_code == 429
        assert refused.json() == {"error": "Quota exceeded: 25 characters a month for this key"}
        assert 0 < int(refused.headers["retry-after"]) <= 31 * 86400
        deepl = {"text": ["x" * 10], "target_lang": "DE", "auth_key": "K1"}
        refused = client.post("/v2/translate", json=deepl)
        assert (refused.status_code, "Quota exceeded" in refused.json()["message"]) == (456, True)
        bearer = {"Authorization": "Bearer K1"}
        own = {"texts": ["x" * 10], "source": "en", "target": "de"}
        assert client.post("/v1/translate", json=own, headers=bearer).status_code == 429
        words = {"text": "x" * 10, "source": "en", "target": "de"}
        assert client.post("/v1/next_words", json={**words, "prefix": ""}, headers=bearer).status_code == 429
        files = {"file": ("a.txt", b"A dog sleeps.\n")}
        assert client.post("/translate_file", data=site, files=files).status_code == 429
        assert told(client, "K1") == (20, 25)
        assert client.post("/translate", json={**site, "q": "12345"}).status_code == 200  # what is left

        assert client.post("/translate", json={**BODY, "api_key": "K4"}).status_code == 200
        assert told(client, "K4") == (10, 10**12)


def test_a_minute_is_not_a_billing_period(keys: Keys) -> None:
    """Clients of DeepL try again after 429, and give up after 456."""
    with running(keys=keys) as server, server.client() as client:
        deepl = {"text": ["x" * 10], "target_lang": "DE", "auth_key": "K2"}
        assert client.post("/v2/translate", json=deepl).status_code == 200
        assert client.post("/v2/translate", json=deepl).status_code == 429


def test_what_failed_is_not_counted(keys: Keys) -> None:
    with running(keys=keys) as server, server.client() as client:
        server.standin.failing = DataError("broken")
        assert client.post("/translate", json={**BODY, "api_key": "K1"}).status_code == 400
        assert told(client, "K1") == (0, 25)


def test_a_stream_is_within_the_quota_or_refused(keys: Keys) -> None:
    own: dict[str, Any] = {"source": "en", "target": "de", "stream": True}
    with running(keys=keys) as server, server.client(headers={"Authorization": "Bearer K1"}) as client:

        def sent(*texts: str) -> httpx.Response:
            return client.post("/v1/translate", json={**own, "texts": texts})

        server.standin.failing = DataError("broken")
        assert "event: error" in sent("x" * 10, "x" * 10).text
        assert told(client, "K1") == (0, 25)
        server.standin.failing = None
        assert "event: done" in sent("x" * 5, "x" * 5).text
        assert told(client, "K1") == (10, 25)
        refused = sent("x" * 10, "x" * 6)
        assert (refused.status_code, "Quota exceeded" in refused.json()["detail"]) == (429, True)
        assert told(client, "K1") == (10, 25)


def test_a_stream_that_breaks_off_counts_what_was_answered(
    keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(keys=keys) as server, server.client(headers={"Authorization": "Bearer K1"}) as client:
        translate = server.standin.translate

        async def breaks(texts: Any, *words: Any, each: Any, **named: Any) -> Any:
            await translate(texts[:1], *words, each=each, **named)
            raise Overloaded("full", retry_after=1)

        monkeypatch.setattr(server.standin, "translate", breaks)
        own: dict[str, Any] = {"source": "en", "target": "de", "stream": True, "texts": ["x" * 5, "x" * 9]}
        answer = client.post("/v1/translate", json=own).text
        assert [line for line in answer.splitlines() if line.startswith("event")] == [
            "event: segment",
            "event: error",
        ]
        wait_for(lambda: told(client, "K1") == (5, 25))


def test_who_leaves_a_stream_gets_back_what_was_not_answered(keys: Keys) -> None:
    with running(keys=keys) as server, server.client() as client:
        server.standin.gate.clear()
        own: dict[str, Any] = {"source": "en", "target": "de", "stream": True, "texts": ["x" * 5, "x" * 9]}
        key = {"Authorization": "Bearer K1"}
        with server.client(headers=key) as leaving, leaving.stream("POST", "/v1/translate", json=own):
            wait_for(lambda: server.standin.asked)
            assert told(client, "K1") == (14, 25)
        wait_for(lambda: told(client, "K1") == (0, 25))


def test_more_than_a_whole_quota_is_too_much_at_any_time(keys: Keys) -> None:
    with running(keys=keys) as server, server.client() as client:
        asked = {**BODY, "api_key": "K1"}
        files = {"file": ("a.txt", b"x" * 26)}
        for answer in (
            client.post("/translate", json={**asked, "q": "x" * 26}),
            client.post("/translate_file", data=asked, files=files),
            client.post("/v2/translate", json={"text": ["x" * 26], "target_lang": "DE", "auth_key": "K1"}),
        ):
            assert (answer.status_code, "retry-after" in answer.headers) == (413, False)
            assert "25 a month" in answer.text
        assert told(client, "K1") == (0, 25)


@pytest.mark.parametrize("most", [25, 100])
def test_portions_of_a_text_count_together(keys: Keys, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    service = service_of(limits=Limits(texts=1))
    translate = service.translate

    async def third_fails(texts: Any, *words: Any, **named: Any) -> Any:
        if "sleeps" in texts[0]:
            raise Overloaded("too much waits", retry_after=1)
        return await translate(texts, *words, **named)

    monkeypatch.setattr(service, "translate", third_fails)
    (key, *_) = keys.keys
    own = replace(keys, keys=(replace(key, quota={"month": most}),))
    words = {"text": "A dog runs. A cat runs. A dog sleeps.", "source": "en", "target": "de"}
    with running(service, keys=own) as server, server.client() as client:
        answer = client.post("/v1/words", json=words, headers={"Authorization": "Bearer K1"})
        assert answer.status_code == (413 if most == 25 else 429)
        assert told(client, "K1") == (0, most)
        words["text"] = "A dog runs. A cat runs."
        answer = client.post("/v1/words", json=words, headers={"Authorization": "Bearer K1"})
        assert (answer.status_code, told(client, "K1")) == (200, (22, most))


def test_a_document_that_failed_is_not_counted(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(keys=keys) as server, server.client() as client:

        async def fails(*_: Any, use: Any, **__: Any) -> None:
            use(10)
            raise DataError("broken")

        monkeypatch.setattr(server.standin, "translate_document", fails)
        files = {"file": ("a.txt", b"x" * 10)}
        answer = client.post("/translate_file", data={**BODY, "api_key": "K1"}, files=files)
        assert (answer.status_code, told(client, "K1")) == (400, (0, 25))


def test_a_key_for_metrics_opens_nothing_else(keys: Keys) -> None:
    bearer = {"Authorization": "Bearer K3"}
    with running(keys=keys) as server, server.client() as client:
        assert client.get("/metrics", headers=bearer).status_code == 200
        assert client.get("/metrics").status_code == 401
        for answer in (
            client.post("/translate", json={**BODY, "api_key": "K3"}),
            client.get("/v2/usage", headers=bearer),
            client.get("/v1/models", headers=bearer),
        ):
            assert (answer.status_code, "/metrics only" in answer.text) == (403, True)
        assert client.get("/languages", headers=bearer).status_code == 200  # which needs none
