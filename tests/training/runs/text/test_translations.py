"""The teachers' translations of a text, in parts on disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics.bleu import BLEU
from tests.training.runs.students import PAIRS, make_teacher, make_twin

from dragoman.base.errors import DataError
from dragoman.text.corpora.corpus import open_pairs, open_sources
from dragoman.training.distillation.options import TeacherConfig
from dragoman.training.runs.recipe import DataConfig
from dragoman.training.runs.text import translations
from dragoman.training.runs.text.teachers import open_teachers
from dragoman.training.runs.text.translations import TeachersOutputs
from dragoman.translation.native.build import unavailable
from dragoman.translation.native.native import NativeEngine
from dragoman.translation.translator import Translator

LINES = [*PAIRS[:20], ("the fox", "der Fuchs"), ("", "nichts"), ("sleeps the", ""), PAIRS[3]]


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_teacher(tmp_path_factory.mktemp("teacher") / "one")


@pytest.fixture(autouse=True)
def short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translations, "LINES_OF_A_PART", 7)


def made(
    folder: Path,
    *models: Path,
    lines: Any = LINES,
    longest: int = 256,
    learnt: bool = False,
    **options: Any,
) -> tuple[list[tuple[str, str]], list[str]]:
    """The pairs, and what was said."""
    config = TeacherConfig(models=tuple(map(str, models)), **options)
    messages: list[str] = []
    work = TeachersOutputs(
        teachers=open_teachers(config, DataConfig(), None),
        text=open_pairs(lines),
        folder=folder,
        longest=longest,
        learnt=learnt,
        say=messages.append,
    )
    return [(line.source, line.target) for line in work.corpus()], messages


def usable(lines: Any) -> list[tuple[str, str]]:
    return [pair for pair in lines if all(pair)]


def test_the_best_is_what_translate_says(teacher: Path, tmp_path: Path) -> None:
    pairs, messages = made(tmp_path / "x", teacher, beam=3)

    wanted = Translator.load(teacher).translate([source for source, _ in usable(LINES)], beam=3)
    assert pairs == [(one.source, one.text) for one in wanted]
    assert sorted(path.name for path in (tmp_path / "x").iterdir()) == [f"0000{n}.jsonl" for n in range(4)]
    assert (
        messages[-1] == "the teachers' translations: 22 pairs; lines left out: no source or no reference: 2"
    )
    assert any(message.startswith("the teachers translate: 24 of 24 lines") for message in messages)


def test_an_ensemble_translates_together(teacher: Path, tmp_path: Path) -> None:
    twin = make_twin(teacher, tmp_path / "twin")

    pairs, _ = made(tmp_path / "x", teacher, twin, beam=2, average="probabilities")

    together = Translator.ensemble([Translator.load(one) for one in (teacher, twin)], average="probabilities")
    wanted = together.translate([source for source, _ in usable(LINES)], beam=2)
    assert [target for _, target in pairs] == [one.text for one in wanted]


@pytest.mark.skipif(unavailable() is not None, reason="no native engine here")
def test_the_teachers_translate_with_the_numbers_asked_for(teacher: Path, tmp_path: Path) -> None:
    config = TeacherConfig(models=(str(teacher),), dtype="int8")
    engine = open_teachers(config, DataConfig(), None).translator().engine
    assert isinstance(engine, NativeEngine)
    assert engine.dtype == "int8"

    made(tmp_path / "x", teacher, beam=2)
    _, messages = made(tmp_path / "x", teacher, beam=2, dtype="int8")
    assert any(message.startswith("the teachers translate: 24 of 24 lines") for message in messages)  # again


def test_the_nearest_has_the_highest_bleu(teacher: Path, tmp_path: Path) -> None:
    """The references are other ones than the teacher would write."""
    lines = [(source, target.replace("der", "die").replace("heute", "hier")) for source, target in PAIRS[:15]]

    pairs, _ = made(tmp_path / "x", teacher, lines=lines, outputs="nearest", beam=4)
    best, _ = made(tmp_path / "y", teacher, lines=lines, beam=4)

    bleu = BLEU(effective_order=True)
    found = Translator.load(teacher).translate([source for source, _ in lines], beam=4, n_best=4)
    assert pairs != best
    for (source, target), one, (_, reference) in zip(pairs, found, lines, strict=True):
        scores = {
            each.text: bleu.sentence_score(each.text, [reference]).score for each in (one, *one.alternatives)
        }
        assert source == one.source
        assert scores[target] == max(scores.values())


def test_all_are_each_a_pair(teacher: Path, tmp_path: Path) -> None:
    pairs, _ = made(tmp_path / "x", teacher, lines=PAIRS[:5], outputs="all", beam=4, n_best=3)

    found = Translator.load(teacher).translate([source for source, _ in PAIRS[:5]], beam=4, n_best=3)
    wanted = [(one.source, each.text) for one in found for each in (one, *one.alternatives)]
    assert pairs == [*dict.fromkeys(pair for pair in wanted if pair[1])]
    assert len(pairs) > 5


def test_lines_keep_what_stands_before_them(teacher: Path, tmp_path: Path) -> None:
    lines, messages = [*LINES[:3], ("", ""), *LINES[3:5]], list[str]()
    work = TeachersOutputs(
        teachers=open_teachers(TeacherConfig(models=(str(teacher),)), DataConfig(), None),
        text=open_pairs(lines),
        folder=tmp_path / "x",
        longest=256,
        in_context=True,
        say=messages.append,
    )
    first, second, *_ = sources = [source for source, _ in usable(lines)]
    found = [(line.source, line.context) for line in work.corpus()]
    assert found == [*zip(sources, ["", first, f"{first} {second}", "", sources[3]], strict=True)]


def test_sources_alone(teacher: Path, tmp_path: Path) -> None:
    (tmp_path / "mono.en").write_text("".join(f"{source}\n" for source, _ in LINES))
    config = TeacherConfig(models=(str(teacher),), reference_weight=0)
    work = TeachersOutputs(
        teachers=open_teachers(config, DataConfig(), None),
        text=open_sources(tmp_path / "mono.en"),
        folder=tmp_path / "x",
        longest=256,
        referenced=False,
        say=lambda _: None,
    )

    assert [line.source for line in work.corpus()] == [source for source, _ in LINES if source]


def test_what_is_odd_is_left_out_and_counted(
    teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, messages = made(tmp_path / "long", teacher, longest=2)
    assert "too long a source: 21" in messages[-1]

    odd = {PAIRS[0][0]: "", PAIRS[1][0]: "der der der der der"}
    monkeypatch.setattr(translations, "_text_of", lambda one: odd.get(one.source, one.text))
    _, messages = made(tmp_path / "odd", teacher, lines=PAIRS[:6])
    assert messages[-1] == "the teachers' translations: 4 pairs; lines left out: empty or odd: 2"


def test_nothing_usable_is_an_error(teacher: Path, tmp_path: Path) -> None:
    with pytest.raises(
        DataError,
        match=r"no usable translation of any line \(no source or no reference: 2; too long a source: 22\)",
    ):
        made(tmp_path / "x", teacher, longest=1)


# What a kill leaves


def test_parts_that_are_done_are_kept(teacher: Path, tmp_path: Path) -> None:
    whole, _ = made(tmp_path / "x", teacher)
    stamps = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "x").iterdir()}
    (tmp_path / "x/00002.jsonl").unlink()

    again, messages = made(tmp_path / "x", teacher)

    assert again == whole
    assert "the teachers resume after 14 lines" in messages
    assert [
        name for name, stamp in stamps.items() if (tmp_path / "x" / name).stat().st_mtime_ns != stamp
    ] == ["00002.jsonl"]


@pytest.mark.parametrize("what", ["text", "teacher", "beam", "damage", "nonsense", "counts"])
def test_parts_of_something_else_are_made_again(teacher: Path, tmp_path: Path, what: str) -> None:
    made(tmp_path / "x", teacher)
    part = tmp_path / "x/00001.jsonl"
    old = part.stat().st_mtime_ns
    lines = [*LINES[:7], ("the dog eats here", "der Hund frisst hier"), *LINES[8:]]
    if what in ("damage", "nonsense"):
        head = part.read_text().splitlines()[0]
        part.write_text(head + '\n["the dog", "die Katze"]\n' if what == "damage" else "[]\n")
    elif what == "counts":
        part.write_text(part.read_text().replace('"pairs": ', '"pears": ', 1))

    again, _ = made(
        tmp_path / "x",
        make_twin(teacher, tmp_path / "twin") if what == "teacher" else teacher,
        lines=lines if what == "text" else LINES,
        beam=2 if what == "beam" else 5,
    )

    assert part.stat().st_mtime_ns != old
    assert ("the dog", "die Katze") not in again
    untouched = json.loads((tmp_path / "x/00000.jsonl").read_text().splitlines()[0])
    assert untouched["pairs"] == 7


def test_parts_of_a_longer_text_are_deleted(teacher: Path, tmp_path: Path) -> None:
    made(tmp_path / "x", teacher)

    pairs, _ = made(tmp_path / "x", teacher, lines=LINES[:7])

    assert [path.name for path in (tmp_path / "x").iterdir()] == ["00000.jsonl"]
    assert len(pairs) == 7


@pytest.mark.parametrize("what", ["line", "shorter", "longer", "beam"])
def test_parts_that_a_student_learns_from_stay(teacher: Path, tmp_path: Path, what: str) -> None:
    """They took hours, so other text by mistake must not replace them."""
    made(tmp_path / "x", teacher)
    before = {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir()}
    lines = {
        "line": [*LINES[:9], PAIRS[50], *LINES[10:]],
        "shorter": LINES[:14],
        "longer": [*LINES, *PAIRS[:7]],
    }

    with pytest.raises(DataError, match="changed since the teachers translated it"):
        made(
            tmp_path / "x",
            teacher,
            lines=lines.get(what, LINES),
            beam=2 if what == "beam" else 5,
            learnt=True,
        )

    assert {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir()} == before


@pytest.mark.parametrize("what", ["nothing", "missing", "damaged"])
def test_parts_that_a_student_learns_from_are_mended(teacher: Path, tmp_path: Path, what: str) -> None:
    whole, _ = made(tmp_path / "x", teacher)
    part = tmp_path / "x/00001.jsonl"
    before = part.read_bytes()
    if what == "missing":
        part.unlink()
    elif what == "damaged":
        part.write_bytes(b"\xff" + before)

    again, _ = made(tmp_path / "x", teacher, learnt=True)

    assert again == whole
    assert part.read_bytes() == before
