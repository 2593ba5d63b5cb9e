"""Files through the service give what `dragoman translate` gives, and let others in between."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import pytest
from tests.documents.office.office_files import docx
from tests.documents.pretend import Pretend
from tests.serving.engines import Shift, served
from tests.serving.service.test_service import run

from dragoman.base.errors import DataError
from dragoman.documents.files import translate_file
from dragoman.documents.formats import FORMATS, Languages
from dragoman.documents.segment import Segment
from dragoman.serving.service import coalescing as module
from dragoman.serving.service import documents
from dragoman.serving.service.ask import Ask
from dragoman.serving.service.documents import FileTranslator
from dragoman.serving.service.limits import Late, Limits, UnknownLanguage
from dragoman.serving.service.models import ModelSpec
from dragoman.serving.service.service import Service
from dragoman.translation.native.build import unavailable
from dragoman.translation.search.options import Decoding
from dragoman.translation.translator import Translator

SAVED = Path(__file__).parents[2] / "saved" / "0.1"
T = TypeVar("T")

pytestmark = pytest.mark.skipif(unavailable() is not None, reason="no native engine here")

HTML = (
    b"<html lang='en'><body><h1>The dog</h1><p>Tom <b>sleeps</b>. The cat eats.</p>"
    + b"<p>The man sees a dog.</p>" * 40
    + b"<p>42</p></body></html>\n"
)
PO = (
    b'msgid ""\nmsgstr ""\n"Language: de\\n"\n"Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    b'msgid "The dog sees %s."\nmsgstr ""\n\nmsgid "The cat sleeps."\nmsgstr ""\n'
)


def with_service(
    work: Callable[[Service], Awaitable[T]], limits: Limits | None = None, *, models: int = 1
) -> T:
    async def run() -> T:
        specs = [ModelSpec(folder=SAVED / "transformer", name=f"m{number}") for number in range(models)]
        service = Service.open(specs, limits, engine="native")
        try:
            await service.start()
            return await work(service)
        finally:
            await service.drain(0)

    return asyncio.run(run())


def asked(service: Service, data: bytes, format: str, *, seconds: float = 60, **ask: Any) -> Awaitable[Any]:
    return service.translate_document(
        data,
        FORMATS[format],
        Ask(**{"source": "en", "target": "de", **ask}),
        client="me",
        deadline=time.monotonic() + seconds,
    )


@pytest.mark.parametrize(
    ("name", "data"), [("a.html", HTML), ("a.po", PO), ("a.txt", b"The dog sees a cat.\n\nThe man sleeps.\n")]
)
def test_a_file_is_as_from_the_command_line(
    tmp_path: Path, name: str, data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PORTION", 50)  # several portions
    (tmp_path / name).write_bytes(data)
    translator = Translator.load(SAVED / "transformer", engine="native")
    translate_file(translator, tmp_path / name, tmp_path / f"out.{name}")
    format = {"a.html": "html", "a.po": "po", "a.txt": "text"}[name]
    found = with_service(lambda service: asked(service, data, format))

    assert found.data == (tmp_path / f"out.{name}").read_bytes()
    assert found.data != data
    assert found.characters > 8


def test_a_file_is_read_in_context_and_addresses_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PORTION", 15)  # several portions
    found: list[tuple[str, str | None]] = []

    def translate(translator: Any, segments: Any, how: Decoding, *, labels: bool, around: Any) -> Any:
        found.extend((one.source if one else "", how.formality) for one in around)
        return [None] * len(segments), None

    monkeypatch.setattr(documents, "translate_segments", translate)
    service = Service([served("m", Shift(), reads=("context", "formality"))])

    async def story() -> None:
        await asked(service, b"Dogs\n\nTom sleeps.\n\nShe eats.\n", "text", formality="formal")

    run(service, story())
    contexts = ["", "Dogs", "Dogs Tom sleeps."]
    assert found == [(one, "formal") for one in contexts]


def test_translations_of_people_stay_and_cost_nothing() -> None:
    entries = (
        b'\nmsgid "The dog sleeps."\nmsgstr "Der Hund ruht."\n\n#, fuzzy\nmsgid "The man"\nmsgstr "Mann"\n'
    )
    found = with_service(lambda service: asked(service, PO + entries, "po"))
    plain = with_service(lambda service: asked(service, PO, "po"))
    assert b'msgstr "Der Hund ruht."\n' in found.data
    assert b'# previous msgstr "Mann"' in found.data
    assert found.characters == plain.characters + len("The man")


def test_the_language_of_a_file_is_found() -> None:
    found = with_service(lambda service: asked(service, HTML, "html", source=None))

    assert b'lang="de"' in found.data or b"lang='de'" in found.data


XLIFF = (
    b'<xliff version="1.2"><file source-language="fr" target-language="de" original="a" datatype="x"><body>'
    b'<trans-unit id="1"><source>A dog.</source></trans-unit></body></file></xliff>'
)
TMX = (
    b'<tmx version="1.4"><header srclang="*all*"/><body><tu><tuv xml:lang="de"><seg>Ein Hund.</seg></tuv>'
    b'<tuv xml:lang="fr"><seg>Un chien dort.</seg></tuv></tu></body></tmx>'
)


@pytest.mark.parametrize(
    ("format", "data"), [("xliff", XLIFF), ("tmx", TMX), ("csv", b"fr,de\nUn chien dort.,\n"), ("po", PO)]
)
def test_a_file_may_state_its_language(format: str, data: bytes) -> None:
    """Also if it is not the first that is served, or another seems likelier."""
    pytest.importorskip("py3langid")
    pairs = [("de", "en"), ("en", "de"), ("fr", "de")]
    router = Service([served(source, Shift(), source, target) for source, target in pairs])._router
    files = FileTranslator(router, cast(Any, None), cast(Any, None), cast(Any, None))
    route, _ = files._opened(data, FORMATS[format], Ask(source=None, target="de"))
    assert route.languages == ("en" if format == "po" else "fr", "de")


def test_a_damaged_file_is_read_once() -> None:
    read: list[str] = []

    class Damaged:
        def parse(self, data: bytes, languages: Languages) -> Any:
            read.append(languages.source)
            raise DataError("line 1: damaged")

    router = Service([served(one, Shift(), one, "de") for one in ("en", "fr", "es")])._router
    files = FileTranslator(router, cast(Any, None), cast(Any, None), cast(Any, None))
    with pytest.raises(DataError, match="line 1: damaged"):
        files._opened(b"", cast(Any, Damaged()), Ask(source=None, target="de"))
    assert read == ["en"]


def test_a_zipped_file_of_too_many_tags_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is inflated counts, not the file: it may be a hundred times smaller."""
    monkeypatch.setattr("dragoman.serving.service.service.MARKS", 100)
    with pytest.raises(DataError, match="word/document.xml, more than 100 tags in the file"):
        with_service(lambda service: asked(service, docx("<w:p/>" * 100), "docx"))
    assert FORMATS["docx"].parse(docx("<w:p/>" * 100), Languages("en", "de"))  # no other limit has changed


def test_an_unknown_language_is_refused() -> None:
    with pytest.raises(UnknownLanguage):
        with_service(lambda service: asked(service, HTML, "html", target="xx"))


def test_a_file_has_a_deadline() -> None:
    with pytest.raises(Late):
        with_service(lambda service: asked(service, HTML * 50, "html", seconds=0.05))


def test_a_file_that_is_given_up_leaves_no_work_behind() -> None:
    async def work(service: Service) -> int:
        task = asyncio.ensure_future(asked(service, HTML * 50, "html"))
        while not service._admission.characters:
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.wait([task])
        until = time.monotonic() + 5
        while service._admission.characters and time.monotonic() < until:
            await asyncio.sleep(0.01)
        return service._admission.characters

    assert with_service(work) == 0


def test_a_file_waits_for_its_turn_and_holds_only_a_portion(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PORTION", 60)
    most = 0

    async def work(service: Service) -> Any:
        nonlocal most
        task = asyncio.ensure_future(asked(service, HTML, "html"))
        while not task.done():
            most = max(most, service._admission.characters)
            await asyncio.sleep(0.001)
        return await task

    limits = Limits(client_rate=20_000, client_burst=100, queue_characters=100)
    assert with_service(work, limits).data != HTML
    assert 0 < most <= 100


@pytest.fixture
def portions() -> Callable[[list[int]], list[int]]:
    from dragoman.documents.segment import Segment

    def cut(sizes: list[int]) -> list[int]:
        segments = [Segment(("x" * size,), where="") for size in sizes]
        found = module.portions(segments, documents._size)
        assert [one for portion in found for one in portion] == segments
        return [len(portion) for portion in found]

    return cut


def test_portions(portions: Callable[[list[int]], list[int]]) -> None:
    assert portions([]) == []
    assert portions([1, 1, 1]) == [3]
    assert portions([3000, 1000, 1, 3999, 1]) == [2, 2, 1]
    assert portions([9000, 1, 9000]) == [1, 1, 1]


def test_a_pivot_keeps_the_doubts_of_its_first_step() -> None:
    class Steps:
        def steps(self, route: Any, ask: Any) -> list[Any]:
            first = Pretend(lambda text: text.replace("5", "6"), target_language="de")
            return [(first, None), (Pretend(str.upper, source_language="de", target_language="fr"), None)]

    files = FileTranslator.__new__(FileTranslator)
    files._router = cast(Any, Steps())
    (found,) = files._through(
        [Segment(("5 dogs.",), "line 1")], [None], cast(Any, None), cast(Any, None), False
    )
    assert found is not None
    assert found.content == ("6 DOGS.",)
    assert found.doubts == ("number differs: 5 missing", "number differs: 6 added")
