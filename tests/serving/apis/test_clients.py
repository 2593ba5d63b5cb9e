"""Real clients, unchanged, against a real server."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serving.standin import Running, keys_file, running

from dragoman.serving.http.settings import Keys

KEY = "a-key"


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that needs a key."""
    keys = Keys.read(keys_file(tmp_path_factory.mktemp("keys"), client=KEY))
    with running(keys=keys, suggestions=True) as one:
        yield one


@pytest.fixture(autouse=True)
def without_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("NO_PROXY", "*")


def test_libretranslatepy(locked: Running) -> None:
    from urllib.error import HTTPError

    from libretranslatepy import LibreTranslateAPI

    api = LibreTranslateAPI(locked.url, KEY)

    assert api.translate("A dog & a cat.", "en", "de") == "A DOG & A CAT."
    assert api.detect("A dog.")[0] == {"confidence": 75.0, "language": "en"}
    assert api.languages()[0]["code"] == "en"
    with pytest.raises(HTTPError) as refused:
        LibreTranslateAPI(locked.url, "wrong").translate("A dog.", "en", "de")
    assert refused.value.code == 403
    refused.value.close()


def test_libretranslate_aio(locked: Running, tmp_path: Path) -> None:
    import httpx
    from libretranslate_aio import AsyncLibreTranslate
    from libretranslate_aio.exceptions import BadRequestError, ForbiddenError

    path = tmp_path / "letter.txt"
    path.write_text("A dog.\n")

    async def ask() -> None:
        async with AsyncLibreTranslate(locked.url, api_key=KEY) as api:
            one = await api.translate("A dog.", "auto", "de", alternatives=2)
            assert (one.translated_text, one.alternatives) == ("A DOG.", ["A DOG. 1", "A DOG. 2"])
            assert one.detected_language is not None
            two = await api.translate(["a", "b"], "en", "de", format="html")
            assert two.translated_text == ["A", "B"]
            assert (await api.detect("x"))[0].language == "en"
            assert (await api.languages())[0].targets[0] == "de"
            assert await api.suggest("A dog.", "Ein Hund.", "en", "de") is True
            assert (await api.frontend_settings()).char_limit == 50_000
            assert await api.health() is True
            file = await api.translate_file(path, "en", "de")
            with pytest.raises(BadRequestError, match="xx is not supported"):
                await api.translate("a", "en", "xx")
        async with httpx.AsyncClient() as client:
            assert (await client.get(file.translated_file_url)).text == "A DOG.\n"
        async with AsyncLibreTranslate(locked.url) as api:
            with pytest.raises(ForbiddenError, match="obtain an API key"):
                await api.translate("a", "en", "de")

    asyncio.run(ask())


def test_deep_translator(locked: Running) -> None:
    from deep_translator import LibreTranslator
    from deep_translator.exceptions import AuthorizationException

    url = f"{locked.url}/"
    translator = LibreTranslator(source="en", target="de", api_key=KEY, custom_url=url)

    assert translator.translate("A dog & a cat?") == "A DOG & A CAT?"
    assert translator.translate_batch(["a", "b"]) == ["A", "B"]
    with pytest.raises(AuthorizationException):
        LibreTranslator(source="en", target="de", api_key="wrong", custom_url=url).translate("a dog")


def test_deepl(locked: Running) -> None:
    import deepl

    translator = deepl.Translator(KEY, server_url=locked.url)

    one = translator.translate_text("A dog.", target_lang="DE")
    assert (one.text, one.detected_source_lang, one.billed_characters) == ("A DOG.", "EN", 6)
    many = translator.translate_text(
        ["a", "<x>b</x>"],
        source_lang="EN",
        target_lang="PT-BR",
        tag_handling="xml",
        ignore_tags=["x"],
        formality="prefer_less",
        split_sentences="nonewlines",
        preserve_formatting=True,
        context="c",
    )
    assert [each.text for each in many] == ["A", "<X>B</X>"]
    assert [each.code for each in translator.get_source_languages()] == ["EN", "DE"]
    targets = [each.code for each in translator.get_target_languages()]
    assert {"DE", "EN-US", "EN-GB", "PT-BR", "PT-PT"} <= set(targets)
    usage = translator.get_usage()
    assert not usage.any_limit_reached
    assert usage.character.count
    assert translator.get_glossary_languages() == []
    assert translator.list_glossaries() == []
    translator.close()


def test_deepl_errors(locked: Running) -> None:
    import deepl

    translator = deepl.Translator("wrong", server_url=locked.url)
    with pytest.raises(deepl.AuthorizationException):
        translator.translate_text("A dog.", target_lang="DE")
    translator.close()
    translator = deepl.Translator(KEY, server_url=locked.url)
    with pytest.raises(deepl.DeepLException, match="not supported: XX"):
        translator.translate_text("A dog.", target_lang="xx")
    translator.close()


def test_deepl_documents(locked: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import deepl

    monkeypatch.setattr("deepl.translator.time.sleep", lambda seconds: None)  # it waits 5 s between looks
    translator = deepl.Translator(KEY, server_url=locked.url)
    source, out = tmp_path / "a.html", tmp_path / "b.html"
    source.write_bytes(b"<p>A <b>dog</b>.</p>\n")
    status = translator.translate_document_from_filepath(source, out, source_lang="EN", target_lang="DE")

    assert status.done
    assert status.billed_characters == 6
    assert out.read_bytes() == b"<p>A DOG.</p>\n"
    named = translator.translate_document_upload(b"A dog.\n", target_lang="DE", filename="a.md")
    assert translator.translate_document_wait_until_done(named).done
    translator.close()


@pytest.mark.thorough
def test_transpolibre_translates_a_po_file(locked: Running, tmp_path: Path) -> None:
    import polib

    path = tmp_path / "de.po"
    path.write_text(
        'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
        'msgid "The dog sleeps."\nmsgstr ""\n\nmsgid "The cat eats."\nmsgstr "schon da"\n\n'
        'msgid "See `the page <https://dogs.example>`_ now."\nmsgstr ""\n',
        encoding="utf-8",
    )
    program = shutil.which("transpolibre", path=str(Path(sys.executable).parent))
    assert program is not None
    words = ["-u", locked.url, "-a", KEY, "-s", "en", "-t", "de", "-f", str(path)]
    subprocess.run([program, *words], check=True, capture_output=True, timeout=120, cwd=tmp_path)

    assert [entry.msgstr for entry in polib.pofile(str(path))] == [
        "THE DOG SLEEPS.",
        "schon da",
        "See `THE PAGE <https://dogs.example>`_ now.",
    ]


# npm


NPM = {
    "translate": """
import translate from "translate";
translate.engine = "libre"; translate.url = process.argv[2] + "/translate"; translate.key = process.argv[3];
console.log(await translate("A dog.", { from: "en", to: "de" }));
""",
    "deepl-node": """
import * as deepl from "deepl-node";
const one = new deepl.Translator(process.argv[3], { serverUrl: process.argv[2] });
const found = await one.translateText(["A dog.", "b"], "en", "de", { tagHandling: "html" });
const codes = (await one.getTargetLanguages()).map(each => each.code);
const usage = await one.getUsage();
console.log(found.map(each => each.text).join("|"), codes.includes("en-US"), usage.character.count > 0);
""",
}
SAID = {"translate": "A DOG.", "deepl-node": "A DOG.|B true true"}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of npm, if they can be installed."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("no npm here")
    folder = tmp_path_factory.mktemp("npm")
    (folder / "package.json").write_text('{"type": "module"}')
    wanted = ["translate@3.1.0", "deepl-node@1.28.0"]
    words = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *wanted]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"npm installs nothing: {done.stderr.strip()[-200:]}")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("package", NPM)
def test_npm(locked: Running, packages: Path, package: str) -> None:
    script = packages / f"{package}.js"
    script.write_text(NPM[package])
    words: list[Any] = [shutil.which("node"), script, locked.url, KEY]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)

    assert done.stdout.strip() == SAID[package], done.stderr
