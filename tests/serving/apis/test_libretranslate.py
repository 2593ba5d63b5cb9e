"""The routes of LibreTranslate, as Weblate, Mastodon, Dialect and wagtail-localize call them."""

from __future__ import annotations

import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.documents.office.office_files import docx
from tests.serving.standin import Running, keys_file, running, wait_for

from dragoman.base.errors import DataError
from dragoman.serving.http.settings import Keys
from dragoman.serving.service.limits import Late, Limits, NotReady, Overloaded

ONE = {"source": "en", "target": "de"}


def test_a_text(client: httpx.Client) -> None:
    answer = client.post("/translate", json={"q": "A dog.", **ONE})

    assert (answer.status_code, answer.json()) == (200, {"translatedText": "A DOG."})


def test_a_list_keeps_its_order(client: httpx.Client) -> None:
    texts = [f"Text {number}." for number in range(40)]
    answer = client.post("/translate", json={"q": texts, **ONE}).json()

    assert answer == {"translatedText": [text.upper() for text in texts]}


def test_a_list_of_one_is_a_list(client: httpx.Client) -> None:
    assert client.post("/translate", json={"q": ["a"], **ONE}).json() == {"translatedText": ["A"]}
    assert client.post("/translate", json={"q": [], **ONE}).json() == {"translatedText": []}


def test_the_language_is_found_if_it_is_to_be(client: httpx.Client) -> None:
    auto = {"source": "auto", "target": "de"}
    found = {"confidence": 75.0, "language": "en"}

    assert client.post("/translate", json={"q": "a", **auto}).json()["detectedLanguage"] == found
    upper = {"q": "a", **auto, "source": "AUTO"}
    assert client.post("/translate", json=upper).json()["detectedLanguage"] == found
    assert send_file(client, "a.txt", b"A dog.\n", source="AUTO").status_code == 200
    assert client.post("/translate", json={"q": ["a", "b"], **auto}).json()["detectedLanguage"] == [found] * 2


def test_alternatives_come_if_they_are_asked_for(client: httpx.Client) -> None:
    one = client.post("/translate", json={"q": "a", **ONE, "alternatives": 2}).json()
    two = client.post("/translate", data={"q": ["a", "b"], **ONE, "alternatives": "1"}).json()

    assert one["alternatives"] == ["A 1", "A 2"]
    assert two["alternatives"] == [["A 1"], ["B 1"]]


def test_the_format_is_passed_on(server: Running, client: httpx.Client) -> None:
    client.post("/translate", json={"q": "<b>a</b>", **ONE, "format": "html"})
    client.post("/translate", json={"q": "a", **ONE, "format": "text"})

    assert [ask.markup for _, ask, _ in server.standin.asked] == ["html", "text"]


@pytest.mark.parametrize(
    ("body", "phrase"),
    [
        ({"source": "en", "target": "de"}, "Invalid request: missing q parameter"),
        ({"q": "a", "target": "de"}, "Invalid request: missing source parameter"),
        ({"q": "a", "source": "en"}, "Invalid request: missing target parameter"),
        ({"q": "a", "source": "en", "target": "xx"}, "xx is not supported"),
        ({"q": "a", "source": "xx", "target": "de"}, "xx is not supported"),
        ({"q": "a", **ONE, "format": "pdf"}, "format is not supported"),
        ({"q": 5, **ONE}, "q must be text"),
        ({"q": ["a", 5], **ONE}, "q must be text"),
        ({"q": "a", **ONE, "alternatives": 11}, "alternatives must be a whole number from 0 to 10"),
        ({"q": "a", **ONE, "alternatives": "2"}, "alternatives must be"),
        ({"q": "a", "source": ["en"], "target": "de"}, "source must be text"),
        ({"q": ["a"] * 129, **ONE}, "request (129) exceeds text limit (128)"),
        ({"q": "a" * 50_001, **ONE}, "request (50001) exceeds text limit (50000)"),
        ({"q": ["a" * 30_000] * 2, **ONE}, "exceeds text limit"),
    ],
)
def test_phrases_of_errors(client: httpx.Client, body: dict[str, Any], phrase: str) -> None:
    answer = client.post("/translate", json=body)

    assert answer.status_code == 400
    assert set(answer.json()) == {"error"}
    assert phrase in answer.json()["error"]


@pytest.mark.parametrize(
    ("error", "status", "retry"),
    [
        (Overloaded("the queue is full", retry_after=2.4), 429, "3"),
        (Overloaded("the queue is full", retry_after=0.1), 429, "1"),
        (NotReady("still loading"), 503, "1"),
        (Late("too late", retry_after=7.2), 504, "8"),
        (DataError("broken"), 400, None),
        (RuntimeError("a secret"), 500, None),
    ],
)
def test_errors_of_the_service(
    server: Running, client: httpx.Client, error: Exception, status: int, retry: str | None
) -> None:
    server.standin.failing = error
    answer = client.post("/translate", json={"q": "a", **ONE})

    assert (answer.status_code, answer.headers.get("retry-after")) == (status, retry)
    assert "secret" not in answer.text
    if status == 500:
        assert "Cannot translate text" in answer.json()["error"]


def test_other_paths_and_methods(client: httpx.Client) -> None:
    assert (client.get("/translate").status_code, client.get("/translate").headers["allow"]) == (405, "POST")
    assert client.post("/nothing").json() == {"error": "Not found"}
    assert client.post("/translate/", json={"q": "a", **ONE}).status_code == 404  # and no redirection


def test_languages(client: httpx.Client) -> None:
    answer = client.get("/languages").json()

    assert answer[0] == {"code": "en", "name": "English", "targets": ["de", "fr", "pt"]}
    assert {one["code"]: one["targets"] for one in answer}["fr"] == []


def test_detect(client: httpx.Client) -> None:
    guesses = [{"confidence": 75.0, "language": "en"}, {"confidence": 25.0, "language": "de"}]

    assert client.post("/detect", json={"q": "a"}).json() == guesses
    assert client.post("/detect", data={"q": ""}).json() == guesses
    assert client.post("/detect", json={}).status_code == 400


def test_settings_for_pages(client: httpx.Client) -> None:
    answer = client.get("/frontend/settings").json()

    assert answer["charLimit"] == 50_000
    assert [answer[name] for name in ("apiKeys", "keyRequired", "suggestions")] == [False] * 3
    assert answer["language"]["target"] == {"code": "de", "name": "German"}
    assert {".po", ".docx", ".txt"} <= set(answer["supportedFilesFormat"])


# Suggestions


SUGGESTED = {"q": "A dog.", "s": "Ein Hund.", **ONE}


def test_suggestions_are_off_by_default(server: Running, client: httpx.Client) -> None:
    assert client.post("/suggest", json=SUGGESTED).status_code == 403
    assert server.standin.corrections == []


def test_suggestions_are_stored_if_they_are_on() -> None:
    with running(suggestions=True) as server, server.client() as client:
        assert client.post("/suggest", data=SUGGESTED).json() == {"success": True}
        assert client.post("/suggest", json={**SUGGESTED, "s": "x" * 50_001}).status_code == 400
        assert client.post("/suggest", json={**SUGGESTED, "target": "xx"}).status_code == 400
        assert server.standin.corrections == [("A dog.", "Ein Hund.", ("en", "de"))]
        assert client.get("/frontend/settings").json()["suggestions"] is True


# Files


def send_file(client: httpx.Client, name: str, data: bytes, **fields: str) -> httpx.Response:
    return client.post("/translate_file", data={**ONE, **fields}, files={"file": (name, data)})


def test_a_file_goes_and_comes(client: httpx.Client, server: Running) -> None:
    answer = send_file(client, "letter.txt", b"A dog.\n\nA cat.\n")
    url = answer.json()["translatedFileUrl"]
    file = client.get(url)

    assert url.startswith(f"{server.url}/download_file/")
    assert file.content == b"A DOG.\n\nA CAT.\n"
    assert file.headers["content-type"] == "application/octet-stream"
    assert file.headers["content-disposition"] == "attachment"
    assert client.get(url[:-5]).status_code == 404


def test_a_file_is_translated_as_the_page_asks(client: httpx.Client, server: Running) -> None:
    send_file(client, "a.txt", b"A dog.\n", model="m", adapter="legal", terms="product")
    ask = server.standin.documents[-1]
    assert (ask.model, ask.adapter, ask.terms) == ("m", "legal", "product")


def test_the_name_of_a_file_is_only_its_format(client: httpx.Client) -> None:
    answer = send_file(client, "../../../tmp/x.HTML", b"<p>A dog.</p>\n")

    assert client.get(answer.json()["translatedFileUrl"]).content == b"<p>A DOG.</p>\n"


@pytest.mark.parametrize(
    ("name", "data", "phrase"),
    [
        ("a.pdf", b"%PDF", "format is not supported: a pdf file: convert"),
        ("a", b"\x00\x01", "format is not supported"),
        ("a.txt", b"", "empty file"),
        ("a.docx", b"no zip", "zip"),
    ],
)
def test_files_that_are_refused(client: httpx.Client, name: str, data: bytes, phrase: str) -> None:
    answer = send_file(client, name, data)

    assert answer.status_code == 400
    assert phrase in answer.json()["error"].lower()


def test_files_that_are_translated_at_once_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.serving.http.jobs._MOST_UNFINISHED", 1)
    form, files = {"source": "en", "target": "de"}, {"file": ("a.txt", b"A dog.\n")}
    with running() as server, server.client() as client, ThreadPoolExecutor() as threads:
        server.standin.gate.clear()
        first = threads.submit(lambda: client.post("/translate_file", data=form, files=files))
        wait_for(lambda: server.state.jobs.unfinished == 1)
        second = client.post("/translate_file", data=form, files=files)
        third = client.post("/v2/document", data={"target_lang": "DE"}, files=files)
        server.standin.gate.set()
        assert first.result().status_code == 200
        assert [one.status_code for one in (second, third)] == [429] * 2
        assert client.post("/translate_file", data=form, files=files).status_code == 200


@pytest.mark.parametrize("piece", [b"<", b"a\n", b"a\r", b"![", b"*a "])
def test_a_file_of_nothing_but_structure_is_refused(client: httpx.Client, piece: bytes) -> None:
    """Each tag and each line takes a few hundred bytes of memory, so that size alone is no bound."""
    data = piece * 500_001
    answer = client.post("/translate_file", data=ONE, files={"file": ("a.html", data)})

    assert (answer.status_code, "lines or tags" in answer.json()["error"]) == (413, True)


def test_the_bytes_of_a_picture_in_a_zip_file_are_no_structure(client: httpx.Client) -> None:
    file = io.BytesIO(docx("<w:p><w:r><w:t>A dog.</w:t></w:r></w:p>"))
    with zipfile.ZipFile(file, "a") as package:
        package.writestr("word/media/a.jpg", b"<" * 600_000)
    assert send_file(client, "a.docx", file.getvalue()).status_code == 200


def test_a_file_is_needed(client: httpx.Client) -> None:
    answer = client.post("/translate_file", data=ONE)

    assert (answer.status_code, "no file" in answer.json()["error"]) == (400, True)


def test_a_file_that_is_too_large_is_refused() -> None:
    with running(limits=Limits(file_bytes=1000, body_bytes=500)) as server, server.client() as client:
        assert send_file(client, "a.txt", b"a" * 1000).status_code == 200
        assert send_file(client, "a.txt", b"a" * 1001).status_code == 413
        assert send_file(client, "a.txt", b"a" * 5000).status_code == 413


# Clients by the shape of their requests


def test_weblate(client: httpx.Client) -> None:
    """Languages first, then JSON with a list; the codes of both languages must be listed."""
    codes = [one["code"] for one in client.get("/languages").json()]
    body = {"api_key": "", "q": ["One.", "Two."], "source": "en", "target": "de"}

    assert {"en", "de"} <= set(codes)
    assert client.post("/translate", json=body).json()["translatedText"] == ["ONE.", "TWO."]


def test_mastodon(tmp_path: Path) -> None:
    """`targets` of /languages; HTML; the language of each item; 403 and 429 have a meaning."""
    body = {"q": ["<p>Hi</p>", "x"], "source": "auto", "target": "de", "format": "html", "api_key": "K"}
    with running(keys=Keys.read(keys_file(tmp_path, mastodon="K"))) as server, server.client() as client:
        listed = client.get("/languages").json()
        answer = client.post("/translate", json=body).json()

        assert listed[0]["targets"] == ["de", "fr", "pt"]
        assert [one["language"] for one in answer["detectedLanguage"]] == ["en", "en"]
        assert answer["translatedText"] == ["<P>HI</P>", "X"]
        assert client.post("/translate", json={**body, "api_key": "wrong"}).status_code == 403
        server.standin.failing = Overloaded("full", retry_after=3)
        assert client.post("/translate", json=body).status_code == 429


def test_wagtail_localize(server: Running, client: httpx.Client) -> None:
    body = {"q": ["<b>A</b> dog", ""], "source": "en", "target": "de", "format": "html", "api_key": "x"}

    assert client.post("/translate", json=body).json() == {"translatedText": ["<B>A</B> DOG", ""]}
    assert server.standin.asked[0][1].markup == "html"


def test_dialect(tmp_path: Path) -> None:
    """It compares texts: of the title, of the settings, of errors."""
    keys = Keys.read(keys_file(tmp_path, dialect="K"))
    with running(keys=keys, compat_title=True, suggestions=True) as server, server.client() as client:
        assert client.get("/spec").json()["info"]["title"] == "LibreTranslate"
        assert client.get("/openapi.json").json()["info"]["title"] == "dragoman"
        settings = client.get("/frontend/settings").json()
        assert (settings["apiKeys"], settings["keyRequired"], settings["suggestions"]) == (True,) * 3
        assert settings["charLimit"] == 50_000
        none, wrong, right = (
            client.post("/detect", data={"q": "test"} | ({"api_key": key} if key else {}))
            for key in ("", "wrong", "K")
        )
        assert none.json() == {"error": "Please contact the server operator to obtain an API key"}
        assert wrong.json() == {"error": "Invalid API key"}
        assert (none.status_code, wrong.status_code, right.status_code) == (403, 403, 200)
        body = {"q": "a", "source": "en", "target": "zz", "api_key": "K"}
        assert client.post("/translate", data=body).json() == {"error": "zz is not supported"}


def test_the_title_is_our_own_by_default(client: httpx.Client) -> None:
    assert client.get("/spec").json()["info"]["title"] == "dragoman"


def test_npm_translate_and_deep_translator_by_shape(client: httpx.Client) -> None:
    body = {"q": "a", "source": "en", "target": "de", "api_key": "K"}

    assert client.post("/translate", json=body).json()["translatedText"] == "A"
    assert client.post("/translate", params={**body, "format": "text"}).json()["translatedText"] == "A"
    assert client.request("GET", "/languages", data={"api_key": "K"}).status_code == 200
