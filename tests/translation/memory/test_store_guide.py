"""What a translator does with a memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman import Translator
from dragoman.base.errors import ConfigError, DataError
from dragoman.text.guidance import Guidance, Match
from dragoman.translation.memory.store import MemoryGuide, TranslationMemory
from dragoman.translation.search.risk import Risk

MODEL = Path(__file__).parents[2] / "saved" / "0.1" / "transformer"
EXACT = Match("Tom sleeps.", "Tom pennt.", 100.0)


@pytest.fixture(scope="module", params=["pytorch", "auto"])
def plain(request: pytest.FixtureRequest) -> Translator:
    return Translator.load(MODEL, engine=request.param)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[TranslationMemory]:
    path = tmp_path / "a.tm"
    with TranslationMemory.create(path, source_language="en", target_language="de") as opened:
        opened.add("Tom sleeps.", "Tom pennt.")
        yield opened


def test_the_guide_gives_the_best_match(memory: TranslationMemory) -> None:
    memory.add("Two\nlines", "Zwei \n Zeilen")
    similar = Match("Tom sleeps.", "Tom pennt.", memory.search("Tim sleeps.")[0].score)
    lines = ["Tom  sleeps.", "Tim sleeps.", "Something else", "Two lines"]
    assert MemoryGuide(memory, reads=True).guide(lines) == [
        Guidance(match=EXACT),
        Guidance(match=similar, reads_match=True),
        None,
        Guidance(match=Match("Two lines", "Zwei Zeilen", 100.0)),
    ]
    assert MemoryGuide(memory, least=100).guide(["Tim sleeps."]) == [None]
    assert MemoryGuide(memory).guide(["Tim sleeps."]) == [Guidance(match=similar)]


def test_uses_of_the_guide_are_counted(memory: TranslationMemory) -> None:
    MemoryGuide(memory).guide(["Tom sleeps.", "Tim sleeps.", "Tom sleeps."])
    memory.close()
    with TranslationMemory(memory.path) as again:
        assert again.about().used == 2


def test_an_equal_line_is_taken_over_and_others_are_not(plain: Translator, memory: TranslationMemory) -> None:
    translator = plain.using(memory=memory)
    lines = ["Tom sleeps. ", "", "Tim sleeps.", "The dog sees the cat."]
    found, expected = translator.translate(lines), plain.translate(lines)
    assert [one.text for one in found] == ["Tom pennt.", *(one.text for one in expected[1:])]
    assert [one.score for one in found] == pytest.approx(
        [0.0, *(one.score for one in expected[1:])], abs=1e-6
    )
    assert found[0].match == EXACT
    assert "".join(found[0].tokens).replace("▁", " ").strip() == "Tom pennt."
    assert (found[0].source, found[0].truncated, found[0].alternatives) == ("Tom sleeps. ", False, ())
    assert found[1].match is None
    assert found[2].match is not None
    assert found[2].match.target == "Tom pennt."
    assert 70 <= found[2].match.score < 100
    assert found[3].match is None
    assert plain.memory is None


def test_next_words_come_from_the_model(plain: Translator, memory: TranslationMemory) -> None:
    words = plain.using(memory=memory).next_words("Tom sleeps.", "Tom ")
    assert words == plain.next_words("Tom sleeps.", "Tom ") != []


def test_a_translation_of_the_memory_has_the_flags_of_its_text(
    plain: Translator, memory: TranslationMemory
) -> None:
    memory.add("Tom has 3 dogs.", "Tom hat 4 Hunde.")
    wrong, right = plain.using(memory=memory).translate(["Tom has 3 dogs.", "Tom sleeps."], risk=True)
    assert wrong.risk is not None
    assert wrong.risk.probability is None
    assert {flag.kind for flag in wrong.risk.flags} == {"number differs"}
    assert right.risk == Risk(None)
    (both,) = plain.using(memory=memory).translate(["Tom sleeps. Tom has 3 dogs."], risk=True)
    assert both.risk == wrong.risk


def test_a_path_is_opened_and_replaces_a_memory(plain: Translator, memory: TranslationMemory) -> None:
    with pytest.raises(DataError, match="no such translation memory"):
        plain.using(memory=memory.path.with_name("none.tm"))
    translator = plain.using(memory=memory.path).using(memory=str(memory.path), match_least=100)
    assert len(translator.guides) == 1
    assert [one.match for one in translator.translate(["Tim sleeps.", "Tom sleeps."])] == [None, EXACT]
    for least in (0, 101):
        with pytest.raises(ConfigError, match="match_least"):
            plain.using(memory=memory, match_least=least)


def test_other_languages_are_refused(plain: Translator, tmp_path: Path) -> None:
    for languages, fits in [(("en-US", "de-AT"), True), (("de", "en"), False), (("en", "fr"), False)]:
        path = tmp_path / f"{'-'.join(languages)}.tm"
        with TranslationMemory.create(
            path, source_language=languages[0], target_language=languages[1]
        ) as memory:
            if fits:
                plain.using(memory=memory)
            else:
                with pytest.raises(ConfigError, match=f"from {languages[0]} to {languages[1]}"):
                    plain.using(memory=memory)


def test_the_whole_line_comes_before_its_sentences(plain: Translator, memory: TranslationMemory) -> None:
    translator = plain.using(memory=memory)
    line = "Tom sleeps. Tom sleeps."
    (found,) = translator.translate([line])
    assert (found.text, found.match) == ("Tom pennt. Tom pennt.", None)
    memory.add(line, "Tom pennt zweimal.")
    (found,) = translator.translate([line])
    assert (found.text, found.match) == ("Tom pennt zweimal.", Match(line, "Tom pennt zweimal.", 100.0))
    assert translator("Tom sleeps.\n  Tom sleeps.") == "Tom pennt.\n  Tom pennt."


def test_a_prefix_wins_over_the_memory(plain: Translator, memory: TranslationMemory) -> None:
    translator = plain.using(memory=memory)
    found = translator.translate(["Tom sleeps."] * 3, prefix=["Tom", "", "Maria"])
    assert [one.text for one in found[:2]] == ["Tom pennt.", "Tom pennt."]
    assert found[2].text.startswith("Maria")
    assert found[2].match is None


def test_a_line_too_long_for_the_model_is_found(plain: Translator, memory: TranslationMemory) -> None:
    long = "Tom sleeps " * 1000
    memory.add(long, "Tom pennt lange.")
    (found,) = plain.using(memory=memory).translate([long])
    assert (found.text, found.truncated) == ("Tom pennt lange.", False)


@pytest.mark.parametrize("options", [{"beam": 3, "n_best": 2}, {"alignment": True}, {"attention": "1"}])
def test_search_options_leave_the_text(
    plain: Translator, memory: TranslationMemory, options: dict[str, Any]
) -> None:
    found = plain.using(memory=memory).translate(["Tom sleeps.", "A dog."] * 3, **options)
    (scored,) = plain.score(
        ["Tom sleeps."],
        ["Tom pennt."],
        **{k: v for k, v in options.items() if k in ("alignment", "attention")},
    )
    expected = plain.translate(["A dog."], **options)[0]
    for one in found[::2]:
        assert (one.text, one.match, one.alternatives) == ("Tom pennt.", EXACT, ())
        assert one.alignment == scored.alignment
        assert one.attention == scored.attention
    assert [one.text for one in found[1::2]] == [expected.text] * 3


def test_the_model_reads_a_match_if_it_was_trained_to(memory: TranslationMemory) -> None:
    plain = Translator.load(MODEL)
    unread = plain.using(memory=memory).translate(["Tim sleeps."])[0]
    plain.reads = ("matches",)
    read = plain.using(memory=memory).translate(["Tim sleeps."])[0]
    assert read.match == unread.match
    assert read.score != unread.score  # it read more
