"""What every format promises: nothing but words changes, no file breaks, and nothing gets lost unmarked."""

from __future__ import annotations

import contextlib
import random
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.formats import FORMATS
from dragoman.documents.segment import Code, Content, Replacing, Result, Status, text_of
from dragoman.documents.translate import Counts, translate_document
from dragoman.translation.memory.store import MemoryGuide, TranslationMemory
from dragoman.translation.search.options import Decoding
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator
from tests.documents.contract import CASES, Case
from tests.documents.pretend import Pretend

ALL = Replacing(retranslate=True, approved=True, final=True, locked=True)
# Formats whose strings have no markup of the file.
TEXT_ALONE = "po json properties yaml resx strings stringsdict xcstrings".split()
MARKED = {Status.DRAFT, Status.DOUBTFUL}
every_format = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
two_languages = pytest.mark.parametrize(
    "case", [one for one in CASES if one.done is not None], ids=lambda case: case.name
)


def later(case: Case) -> list[pytest.MarkDecorator]:
    return [pytest.mark.thorough] * case.thorough


def run(case: Case, translator: Pretend, data: bytes | None = None, **options: Any) -> tuple[bytes, Counts]:
    new, _, counts = translate_document(cast("Translator", translator), case.parse(data), **options)
    return new, counts


def in_upper_case(content: Content) -> Content:
    return tuple(part.upper() if isinstance(part, str) else part for part in content)


def texts(case: Case, data: bytes) -> list[str]:
    """The translations in a file."""
    return [
        text_of(one.source if case.done is None else one.target or ()) for one in case.parse(data).segments
    ]


def again(case: Case, data: bytes) -> bytes:
    """The file, with each translation that it has written once more, but for drafts."""
    document = case.parse(data)
    sides = [one.source if case.done is None else one.target for one in document.segments]
    drafts = [one.state is Status.DRAFT for one in document.segments]
    both = zip(sides, drafts, strict=True)
    return document.render([None if side is None or draft else Result(side) for side, draft in both])


def test_no_format_is_without_a_contract() -> None:
    assert {one.format for one in CASES} == FORMATS.keys()
    assert all(FORMATS[one.format].bilingual == (one.done is not None) for one in CASES)


@every_format
def test_the_sample_has_codes_places_and_distinct_segments(case: Case) -> None:
    segments = case.parse().segments
    assert len(segments) == case.segments
    places = [
        re.fullmatch(r"(?:[\w. ]+, )?(line|paragraph|cell|odd\w+) ?[A-Z]?\d*", one.where) for one in segments
    ]
    assert all(places)
    assert any(isinstance(part, Code) for one in segments for part in one.source) or case.format in TEXT_ALONE
    assert [text_of(one.target) for one in segments if one.target] == [*(case.done or ())]


@every_format
def test_without_changes_every_byte_stays(case: Case) -> None:
    document = case.parse()
    assert document.render([None] * case.segments) == case.data
    assert again(case, case.data) == case.data
    for text in case.small:
        assert again(case, text.encode()) == text.encode()


@every_format
@pytest.mark.parametrize("count", [-1, 1])
def test_as_many_results_as_segments_are_needed(case: Case, count: int) -> None:
    with pytest.raises(ValueError, match=r"results|argument|zip"):
        case.parse().render([None] * (case.segments + count))


@every_format
def test_only_what_is_translated_changes(case: Case) -> None:
    """One segment after the other: the others, and what belongs to none, stay."""
    for place, segment in enumerate(case.parse().segments):
        results: list[Result | None] = [None] * case.segments
        upper = in_upper_case(segment.source)
        results[place] = Result(upper)
        new = case.parse().render(results)
        old, now = texts(case, case.data), texts(case, new)
        assert now[place] == text_of(upper)
        assert [*now[:place], *now[place + 1 :]] == [*old[:place], *old[place + 1 :]]
        before, after = case.parts(case.data), case.parts(new)
        assert [*before] == [*after]
        if case.zipped:
            assert sum(before[name] != after[name] for name in before) == 1


@every_format
def test_line_ends_stay(case: Case) -> None:
    if case.zipped:
        pytest.skip("line ends of XML in a zip file are those of its part")
    data = case.data.replace(b"\n", b"\r\n")
    assert again(case, data) == data
    new, _ = run(case, Pretend(lambda word: word[::-1] if word.isalpha() else word), data)
    assert new.count(b"\n") == new.count(b"\r\n")


@every_format
def test_encodings_and_byte_order_marks_stay(case: Case) -> None:
    text = case.data.decode() if case.encodings else ""
    for encoding in case.encodings:
        data = text.encode(encoding)
        assert again(case, data) == data
        new, _ = run(case, Pretend(lambda word: word.replace("o", "ö").replace("e", "é")), data)
        new.decode(encoding)
        assert new.startswith(data[:2])
        assert len(case.parse(new).segments) == case.segments


SIGNS = (
    "<b>", "</i>", "<", ">", "&", "&amp;", '"', "'", "\\", "]]>", "{", "}", "{0}", "%s", "%", "*", "`", "|",
    "#", "- ", "_", "[x](y)", "\n", "\n\n", "\r\n", "\t", "\u00a0", "=", ":", "-->", "\u2028", "1.", "<!--",
    "$", "~~",
)  # fmt: skip


@dataclass
class Hostile(Pretend):
    """Drops, doubles and reorders words, and writes signs that formats use. Alignment may be missing."""

    seed: int = 0

    def translate(
        self, lines: Iterable[str], decoding: Decoding | None = None, *, context: object = None
    ) -> list[Translation]:
        chance = random.Random(self.seed)

        def change(word: str) -> str:
            how = chance.randrange(5)
            return ("", word, word + word, chance.choice(SIGNS), word + chance.choice(SIGNS))[how]

        self.change, self.links = change, chance.random() < 0.7
        self.backwards = chance.random() < 0.5
        return super().translate(lines, decoding)


@pytest.mark.parametrize(
    ("case", "seed"),
    [
        pytest.param(case, seed, id=f"{seed}-{case.name}", marks=later(case) if seed > 1 else [])
        for seed in range(25)
        for case in CASES
    ],
)
def test_a_hostile_translator_breaks_no_file(case: Case, seed: int) -> None:
    """The file is read again with every code, and the same translations change nothing more."""
    translator = Hostile(seed=seed, pieces=seed % 3)
    new, counts = run(case, translator, replacing=ALL)
    whole = ["".join(map(bytes.decode, case.parts(data).values())) for data in (case.data, new)]
    assert [one for one in case.kept if whole[1].count(one) < whole[0].count(one)] == []
    assert counts.segments == case.segments
    if case.done is None:
        assert again(case, new) == new
    else:
        assert len(case.parse(new).segments) == case.segments
        assert run(case, translator, new, replacing=ALL)[0] == new


@every_format
@pytest.mark.parametrize("text", ["", " ", "\n", " \t\r\n "])
def test_empty_translations_break_no_file(case: Case, text: str) -> None:
    new = case.parse().render([Result((text,))] * case.segments)
    assert again(case, new) == new
    empty = Result(())
    case.parse(case.parse().render([empty] * case.segments))


generating = pytest.mark.parametrize(
    "case", [pytest.param(one, id=one.name, marks=later(one)) for one in CASES if one.files is not None]
)


@generating
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_file_comes_back(case: Case, data: st.DataObject) -> None:
    """With only the case of letters changed, another program sees the same in it."""
    file = data.draw(cast("st.SearchStrategy[bytes]", case.files))
    document = case.parse(file)
    assert document.render([None] * len(document.segments)) == file
    assert again(case, file) == file
    if case.done is None:
        upper = [
            tuple(part.upper() if isinstance(part, str) else part for part in one.source)
            for one in document.segments
        ]
        assert case.seen(document.render([Result(one) for one in upper])) == case.seen(file)


@pytest.mark.parametrize(
    ("case", "text"),
    [
        pytest.param(case, text, id=f"{case.name} {text[:10]}", marks=later(case))
        for case in CASES
        for text in case.hostile
    ],
)
def test_hostile_files_are_read_in_time(case: Case, text: str) -> None:
    start = time.process_time()
    assert again(case, text.encode()) == text.encode()
    assert time.process_time() - start < 20  # seconds, where a quadratic step would take minutes


@pytest.mark.parametrize(
    ("case", "data", "message"),
    [pytest.param(case, *bad, id=f"{case.name} {bad[1]}") for case in CASES for bad in case.bad],
)
def test_bad_files_are_refused_with_their_line(case: Case, data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        case.parse(data)
    assert error.value.hint


@pytest.mark.parametrize("case", [pytest.param(one, id=one.name, marks=later(one)) for one in CASES])
def test_incomplete_and_foreign_files_are_read_or_refused(case: Case) -> None:
    """Cut anywhere, or of another format: an error for the user, never another exception."""
    cut = [case.data[:place] for place in range(0, len(case.data), max(1, len(case.data) // 100))]
    junk = [b"\xff\xff\x00\x00junk\xc3", *(one.data for one in CASES)]
    for data in (*cut, *junk):
        with contextlib.suppress(DataError):
            assert again(case, data) == data


@every_format
def test_the_memory_reaches_the_file(case: Case, tmp_path: Path) -> None:
    segments = case.parse().segments
    place = next(
        place
        for place, one in enumerate(segments)
        if len(one.source) == 1 and re.fullmatch(r"[\w ,&.]+", text_of(one.source).strip())
    )
    source = text_of(segments[place].source)
    with TranslationMemory.create(tmp_path / "a.tm", source_language="en", target_language="de") as memory:
        memory.add(source.strip(), source.strip().upper())
        new, counts = run(case, Pretend(str.lower, memory=MemoryGuide(memory)), replacing=ALL)
    assert counts.remembered or counts.ways["memory"]
    assert texts(case, new)[place] == source.upper()


@dataclass
class Unsure(Pretend):
    """A translator that left out a term of the list."""

    def translate(
        self, lines: Iterable[str], decoding: Decoding | None = None, *, context: object = None
    ) -> list[Translation]:
        return [replace(one, unused_terms=("boat → Boot",)) for one in super().translate(lines, decoding)]


@every_format
def test_unused_terms_are_doubts_and_marked_in_the_file(case: Case) -> None:
    new, counts = run(case, Unsure(str.upper), replacing=ALL)
    assert counts.doubtful == sum(any(map(str.isalpha, text)) for text in texts(case, new))
    if case.done is not None:
        assert {one.state for one in case.parse(new).segments} <= MARKED
        assert not case.words or "term not used: boat → Boot".encode() in new


@two_languages
def test_doubts_are_marked_and_replaced(case: Case) -> None:
    def rendered(data: bytes, *doubts: str, change: Callable[[Content], Content] = lambda one: one) -> bytes:
        document = case.parse(data)
        return document.render([Result(change(one.source), doubts) for one in document.segments])

    clean = rendered(case.data)
    once = rendered(case.data, "number differs", "too <long>")
    assert {one.state for one in case.parse(once).segments} <= MARKED
    assert rendered(once, "number differs", "too <long>") == once
    twice = rendered(once, "name differs")
    assert not case.words or b"name differs" in twice
    assert b"number differs" not in twice
    assert {one.state for one in case.parse(clean).segments} == {Status.DONE}
    new = rendered(twice, change=in_upper_case)
    assert b"name differs" not in new
    assert texts(case, new) == texts(case, rendered(case.data, change=in_upper_case))
    assert {one.state for one in case.parse(new).segments} == {Status.DONE}


@two_languages
def test_translations_by_people_stay(case: Case) -> None:
    new, counts = run(case, Pretend(str.upper))
    done = len(case.done or ())
    assert (counts.filled, counts.replaced, counts.kept) == (case.segments - done, 0, done)
    assert set(case.done or ()) <= set(texts(case, new))
    assert all(one.state is Status.DONE for one in case.parse(new).segments)
    assert run(case, Pretend(str.lower), new)[0] == new


@pytest.mark.parametrize(
    ("case", "file", "when"),
    [pytest.param(case, *one, id=f"{case.name} {n}") for case in CASES for n, one in enumerate(case.states)],
)
def test_only_the_flag_of_a_state_replaces_its_translation(case: Case, file: str, when: str) -> None:
    """A draft stays as a comment, and a doubtful translation is marked."""
    data, draft = file.encode(), when == "always"
    for flag in ("", "retranslate", "approved", "final", "locked"):
        replacing = Replacing(**dict.fromkeys(flag.split(), True))
        new, counts = run(case, Pretend(str.upper), data, replacing=replacing)
        wanted = draft or when == flag
        assert texts(case, new) == (["ONE BOAT"] if wanted else ["Ein Kahn"]), flag
        assert (counts.replaced, counts.kept) == (int(wanted), int(not wanted))
        if not wanted:
            assert new == data
            continue
        assert b"Ein Kahn" in new or not draft
        [one] = case.parse(new).segments
        assert (one.state, one.guards - {"locked"}) == (Status.DONE, frozenset())
        marked, counts = run(case, Unsure(str.upper), data, replacing=replacing)
        assert counts.doubtful == 1
        assert [one.state in MARKED for one in case.parse(marked).segments] == [True]
        assert b"Ein Kahn" in marked or not draft
        again, _ = run(case, Pretend(str.lower), marked)
        assert b"Ein Kahn" in again or not draft  # also after another run
        assert run(case, Unsure(str.upper), marked, replacing=replacing)[0] == marked


@two_languages
def test_all_flags_together_replace_every_translation(case: Case) -> None:
    for file, _ in case.states:
        assert texts(case, run(case, Pretend(str.upper), file.encode(), replacing=ALL)[0]) == ["ONE BOAT"]


@every_format
def test_counts_say_what_happened(case: Case) -> None:
    change = lambda word: word.replace("5", "6").replace("3", "4").replace("2", "7")  # noqa: E731
    _, counts = run(case, Pretend(change), replacing=ALL)
    assert (counts.segments, counts.translated, counts.remembered) == (case.segments, case.segments, 0)
    assert 1 <= counts.doubtful <= case.segments
