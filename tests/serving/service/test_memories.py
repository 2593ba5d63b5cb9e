from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.serving.engines import Shift, ask, served, until
from tests.serving.service.test_service import Counted, run

from dragoman.base.errors import ConfigError, DataError
from dragoman.serving.service import routing
from dragoman.serving.service.limits import Limits, TooLong
from dragoman.serving.service.memories import Memories
from dragoman.serving.service.routing import WorkKey
from dragoman.serving.service.service import Service
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.translation import Translation

PAIRS = [("en", "de"), ("de", "fr")]


def service_with(path: Path, engine: Shift, reads: tuple[str, ...] = (), **options: Any) -> Service:
    models = [served("m", engine, reads=reads), served("n", Shift(2), "de", "fr")]
    return Service(models, memories=Memories.open([path], PAIRS), **options)


# ---- files -------------------------------------------------------------------------------------------------


def test_a_new_file_is_for_the_first_pair_without_one(tmp_path: Path) -> None:
    TranslationMemory.create(tmp_path / "old", source_language="en_US", target_language="DEU").close()
    memories = Memories.open([tmp_path / "new", tmp_path / "old"], PAIRS)

    assert {pair: memory.path.name for pair in PAIRS if (memory := memories.of(pair))} == {
        ("en", "de"): "old",
        ("de", "fr"): "new",
    }
    memories.close()
    with TranslationMemory(tmp_path / "new") as new:
        assert (new.source_language, new.target_language) == ("de", "fr")


def test_the_pair_of_a_variant_is_the_closest(tmp_path: Path) -> None:
    TranslationMemory.create(tmp_path / "tm", source_language="en", target_language="pt-BR").close()
    pairs = [("en", "pt-PT"), ("en", "pt-BR")]
    memories = Memories.open([tmp_path / "tm"], pairs)

    assert [memories.of(pair) is not None for pair in pairs] == [False, True]
    memories.close()


def test_memories_that_fit_no_pair_are_refused(tmp_path: Path) -> None:
    TranslationMemory.create(tmp_path / "es", source_language="en", target_language="es").close()
    TranslationMemory.create(tmp_path / "one", source_language="en", target_language="de").close()
    TranslationMemory.create(tmp_path / "two", source_language="en", target_language="de").close()
    with pytest.raises(ConfigError, match="en to es is not served"):
        Memories.open([tmp_path / "es"], PAIRS)
    with pytest.raises(ConfigError, match="en to de has a memory"):
        Memories.open([tmp_path / "one", tmp_path / "two"], PAIRS)
    with pytest.raises(ConfigError, match="every pair"):
        Memories.open([tmp_path / "new", tmp_path / "one"], PAIRS[:1])
    (tmp_path / "text").write_text("no memory")
    with pytest.raises(DataError):
        Memories.open([tmp_path / "text"], PAIRS)


# ---- in use ------------------------------------------------------------------------------------------------


def test_what_people_correct_is_used_and_marked(tmp_path: Path) -> None:
    engine, counted = Shift(), Counted()
    service = service_with(tmp_path / "tm", engine, counting=counted)

    async def story() -> None:
        (before,) = await ask(service, "abc.")
        assert await service.correct("abc.", before.text, "xyz.", ("EN-us", "de"))
        asked = len(engine.asked)
        (after,) = await ask(service, " abc.\n")
        assert (after.text, after.cached) == (" xyz.\n", False)
        assert after.match is not None
        assert (after.match.target, after.match.score) == ("xyz.", 100)
        assert len(engine.asked) == asked
        assert counted.counts["remembered"] == 1
        assert (await ask(service, "abc.", memory=False))[0].text == before.text
        assert not await service.correct("abc.", before.text, "xyz.", ("en", "de"))

    run(service, story())


def test_sentences_lines_and_texts_are_looked_up(tmp_path: Path) -> None:
    engine = Shift()
    service = service_with(tmp_path / "tm", engine)

    async def story() -> None:
        for source, target in (("abc!", "X!"), ("def! hij!", "Y!"), ("cab.\nbac.", "Z.\nz.")):
            await service.correct(source, "", target, ("en", "de"))
        answers = await ask(service, "abc! abc! a.", "def! hij!\nabc!", "cab.\nbac.", "cab.\n\nbac.")
        assert [one.text for one in answers] == ["X! X! b", "Y!\nX!", "Z.\nz.", "dbc\n\ncbd"]
        assert [bool(one.match) for one in answers] == [False, False, True, False]

    run(service, story())


def test_what_the_memory_has_is_context_of_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[str, str]] = []

    def translated(_: Any, keys: Sequence[WorkKey]) -> list[Translation]:
        read.extend((one.context, one.text) for one in keys)
        return [Translation(one.text, one.text, 0.0, (), (), False) for one in keys]

    monkeypatch.setattr(routing, "_translated", translated)
    service = service_with(tmp_path / "tm", Shift(), reads=("context",))

    async def story() -> None:
        await service.correct("abc!", "", "X!", ("en", "de"))
        await ask(service, "def! abc! 42.\nhij.", contexts=("cab",))

    run(service, story())
    assert read == [("cab", "def!"), ("cab def! abc!", "hij.")]


def test_markup_is_looked_up_without_its_tags(tmp_path: Path) -> None:
    service = service_with(tmp_path / "tm", Shift())

    async def story() -> None:
        assert (await ask(service, "<p>abc</p>", markup="html"))[0].text == "<p>bcd</p>"
        await service.correct("abc", "bcd", "xyz", ("en", "de"))
        (after,) = await ask(service, "<p>abc</p>", markup="html")
        assert after.text == "<p>xyz</p>"
        assert after.match is not None
        assert (await ask(service, "<p>abc</p>", markup="html", memory=False))[0].text == "<p>bcd</p>"
        with TranslationMemory(tmp_path / "tm") as other:  # as another program does
            other.add("abc", "new")
        assert (await ask(service, "<p>abc</p>", markup="html"))[0].text == "<p>new</p>"

    run(service, story())


def test_matches_are_found_and_kept_on_the_disk(tmp_path: Path) -> None:
    service = service_with(tmp_path / "tm", Shift())

    async def story() -> None:
        await service.correct("The red house is old.", "x", "Das rote Haus ist alt.", ("en", "de"))
        await service.correct("The red house is big.", "Gross.", "Gross.", ("en", "de"))
        found = await service.matches("The red house is new.", ("en", "de"), 1)
        assert len(found) == 1
        assert 70 < found[0].score < 100
        assert await service.matches("The red house is new.", ("de", "fr")) == []
        with pytest.raises(ConfigError, match="no translation memory from de to fr"):
            await service.correct("a", "b", "c", ("de", "fr"))
        with pytest.raises(DataError):
            await service.correct("a", "b", " ", ("en", "de"))

    run(service, story())
    with TranslationMemory(tmp_path / "tm") as memory:
        kept = [(one.target, one.origin) for one in memory.pairs()]
    assert kept == [("Das rote Haus ist alt.", "corrected"), ("Gross.", "confirmed")]


def test_a_correction_is_no_matter_of_the_number_of_texts(tmp_path: Path) -> None:
    service = service_with(tmp_path / "tm", Shift(), limits=Limits(texts=1, characters=10))

    async def story() -> None:
        assert await service.correct("abc", "bcd", "xyz", ("en", "de"))
        with pytest.raises(TooLong, match="11 characters"):
            await service.correct("abc", "bcd", "wxyz" * 2, ("en", "de"))

    run(service, story())


def test_corrections_of_many_at_once_are_all_kept(tmp_path: Path) -> None:
    service = service_with(tmp_path / "tm", Shift())

    async def story() -> None:
        kept = await asyncio.gather(
            *(service.correct(f"abc {n}", "x", f"xyz {n}", ("en", "de")) for n in range(40))
        )
        assert all(kept)
        answers = await ask(service, *(f"abc {n}" for n in range(40)))
        assert [one.text for one in answers] == [f"xyz {n}" for n in range(40)]

    run(service, story())


def test_corrections_are_bounded(tmp_path: Path) -> None:
    service = service_with(tmp_path / "tm", Shift(), limits=Limits(characters=20))

    async def story() -> None:
        with pytest.raises(TooLong):
            await service.correct("a" * 15, "b", "c" * 15, ("en", "de"))
        await service.correct("a", "b", "c", ("en", "de"))

    run(service, story())


def test_a_model_that_reads_matches_gets_the_newest(tmp_path: Path) -> None:
    """Its translations depend on the memory, so a correction makes the cached ones old."""
    engine = Shift()
    model = served("m", engine, reads=("matches",))
    service = Service([model], memories=Memories.open([tmp_path / "tm"], [("en", "de")]))

    async def story() -> None:
        await ask(service, "abc")
        await ask(service, "abc")
        assert engine.asked.count("abc") == 1
        await service.correct("hhh", "x", "y", ("en", "de"))
        await ask(service, "abc")
        assert engine.asked.count("abc") == 2
        await until(lambda: service._admission.characters == 0)

    run(service, story())
