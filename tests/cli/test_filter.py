"""`dragoman filter`: what is kept, the file of scores, stops in between, and what is refused."""

from __future__ import annotations

import json
import math
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.translation.bundles import PAIRS, learnt_bundle

from dragoman.cli.evaluate import filter as filtering
from dragoman.evaluation import dual
from dragoman.evaluation.dual import PairScorer
from dragoman.models.folder.bundle import save
from dragoman.translation.translator import Translator

NOISE = [(source, target) for source, _ in PAIRS for _, target in PAIRS if (source, target) not in PAIRS]
TEXT = [*PAIRS, *NOISE, ("", "Ein Hund."), ("A dog.", "")] * 3
random.Random(1).shuffle(TEXT)
SCORED = [pair for pair in TEXT if all(pair)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """en-de and de-en."""
    place = tmp_path_factory.mktemp("models")
    save(learnt_bundle(), place / "en-de")
    save(learnt_bundle(reverse=True), place / "de-en")
    return place


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "all.en-de.tsv", TEXT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def words(models: Path) -> tuple[str | Path, ...]:
    return ("filter", models / "en-de", "all.en-de.tsv", "--reverse", models / "de-en")


def write(path: Path, pairs: list[tuple[str, str]]) -> None:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


def read(path: Path) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()]


def by_hand(models: Path) -> list[float]:
    """The scores of SCORED."""
    forward, reverse = Translator.load(models / "en-de"), Translator.load(models / "de-en")
    there = forward.score([source for source, _ in SCORED], [target for _, target in SCORED])
    back = reverse.score([target for _, target in SCORED], [source for source, _ in SCORED])
    scores = []
    for one, other in zip(there, back, strict=True):
        f, r = (-sum(each.token_logp) / len(each.token_logp) for each in (one, other))
        scores.append(math.exp(-(abs(f - r) + (f + r) / 2)))
    return scores


def test_the_best_share_is_kept_in_its_order(dragoman_, folder, words):
    ended = dragoman_(*words, "--keep", "0.25", "-o", "best.en-de.tsv")

    assert (ended.code, ended.out) == (0, "")
    assert read(folder / "best.en-de.tsv") == [pair for pair in TEXT if pair in PAIRS]  # 12 of 48
    first, *rest = ended.err.splitlines()
    assert first == "54 pairs, 12 kept, 42 left out"
    assert rest[0].startswith("  score too low (kept from 0.")
    assert rest[0].endswith(": 36")
    assert sorted(rest[1:]) == ["  empty source: 3", "  empty target: 3"]
    assert sorted(path.name for path in folder.iterdir()) == ["all.en-de.tsv", "best.en-de.tsv"]


def test_a_least_score(dragoman_, folder, words, models):
    scores = by_hand(models)
    limit = sorted(scores)[20] * 1.001
    ended = dragoman_(*words, "--least", f"{limit:.9f}", "-o", "best.en-de.tsv")

    assert ended.code == 0
    expected = [pair for pair, score in zip(SCORED, scores, strict=True) if score >= limit]
    assert read(folder / "best.en-de.tsv") == expected
    ended = dragoman_(*words, "--least", f"{limit:.9f}", "--keep", "0.25", "-o", "best.en-de.tsv")
    assert read(folder / "best.en-de.tsv") == [pair for pair in TEXT if pair in PAIRS]


def test_the_file_of_scores(dragoman_, folder, words, models):
    assert dragoman_(*words, "--scores", "scores", "-q").code == 0

    head, *rows = (folder / "scores").read_text().splitlines()
    assert json.loads(head.removeprefix("# "))["--by"] == "'dual'"
    assert len(rows) == len(TEXT)
    assert [row for row in rows if row.startswith("-")] == [
        f"-\tempty {'source' if not source else 'target'}"
        for source, target in TEXT
        if not (source and target)
    ]
    scores = [float(row.split("\t")[0]) for row in rows if not row.startswith("-")]
    assert scores == pytest.approx(by_hand(models), rel=1e-4)


def test_faults_of_the_texts_are_left_out_if_asked_for(dragoman_, folder, words):
    good, bad = ("In 15 days.", "In 15 Tagen."), ("In 15 days.", "In 50 Tagen.")
    write(folder / "all.en-de.tsv", [good, bad])
    plain = dragoman_(*words, "--least", "0", "-o", "plain.en-de.tsv", "--scores", "plain.scores")
    checked = dragoman_(*words, "--least", "0", "-o", "checked.en-de.tsv", "--checks")
    refused = dragoman_(*words, "--least", "0", "-o", "x.tsv", "--scores", "plain.scores", "--checks")

    assert (plain.code, checked.code) == (0, 0)
    assert read(folder / "plain.en-de.tsv") == [good, bad]
    assert read(folder / "checked.en-de.tsv") == [good]
    assert "  number differs: 1" in checked.err.splitlines()
    assert refused.code != 0


def test_another_choice_takes_the_scores_that_are_there(dragoman_, folder, words, monkeypatch):
    dragoman_(*words, "--scores", "scores", "--keep", "0.5", "-o", "best.en-de.tsv", "-q")
    monkeypatch.setattr(PairScorer, "scores", None)  # nothing is scored again

    ended = dragoman_(*words, "--scores", "scores", "--keep", "0.25", "-o", "best.en-de.tsv")

    assert ended.code == 0
    assert ended.err.startswith("scores: has the scores\n54 pairs, 12 kept")
    assert read(folder / "best.en-de.tsv") == [pair for pair in TEXT if pair in PAIRS]


def test_scores_of_other_work_are_refused(dragoman_, folder, words, models):
    dragoman_(*words, "--scores", "scores", "-q")
    before = (folder / "scores").read_bytes()
    for more, named in ((("--max-length", "9"), "--max_length"), (("--to", "de"), None)):
        ended = dragoman_(*words, "--scores", "scores", *more)
        assert ended.code == 2
        assert named is None or f"scores: was begun with another {named}" in ended.err
    write(folder / "all.en-de.tsv", TEXT[:5])
    assert "was begun with another text" in dragoman_(*words, "--scores", "scores").err
    assert (folder / "scores").read_bytes() == before
    (folder / "notes").write_text("Buy milk.\n")
    ended = dragoman_(*words, "--scores", "notes")
    assert (ended.code, (folder / "notes").read_text()) == (2, "Buy milk.\n")
    assert "notes: exists, but does not hold scores" in ended.err


@pytest.mark.parametrize("by", ["dual", "round-trip"])
def test_a_stopped_command_goes_on(dragoman_, folder, words, models, monkeypatch, by):
    monkeypatch.setattr(filtering, "_TOGETHER", 5)
    line = words if by == "dual" else (*words[:3], "--by", by)
    assert dragoman_(*line, "--keep", "0.3", "-o", "whole.en-de.tsv", "--scores", "whole").code == 0
    whole, calls = PairScorer.scores, []

    def stopping(self, pairs):
        calls.append(len(pairs))
        if len(calls) in (4, 6):
            raise KeyboardInterrupt
        return whole(self, pairs)

    monkeypatch.setattr(PairScorer, "scores", stopping)
    command = (*line, "--keep", "0.3", "-o", "out.en-de.tsv", "--scores", "scores")
    assert [dragoman_(*command).code for _ in range(2)] == [130, 130]
    assert not (folder / "out.en-de.tsv").exists()
    ended = dragoman_(*command)

    assert ended.code == 0
    assert ended.err.startswith("scores: resuming after pair 20\n")
    assert len(calls) == 4 + 2 + 7  # of 11 chunks, no chunk twice but those that were stopped
    assert (folder / "scores").read_bytes() == (folder / "whole").read_bytes()
    assert (folder / "out.en-de.tsv").read_bytes() == (folder / "whole.en-de.tsv").read_bytes()


def test_a_stop_between_scoring_and_writing_costs_nothing(dragoman_, folder, words, monkeypatch):
    best_of = dual.best_of

    def stopping(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(dual, "best_of", stopping)
    assert dragoman_(*words, "--keep", "0.25", "-o", "best.en-de.tsv").code == 130
    monkeypatch.setattr(dual, "best_of", best_of)
    monkeypatch.setattr(PairScorer, "scores", None)

    assert dragoman_(*words, "--keep", "0.25", "-o", "best.en-de.tsv").code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["all.en-de.tsv", "best.en-de.tsv"]


def test_round_trips_need_one_model(dragoman_, folder, models):
    ended = dragoman_(
        "filter", models / "en-de", "all.en-de.tsv", "--by", "round-trip", "--least", "1", "-o", "best.tsv"
    )

    assert ended.code == 0
    assert read(folder / "best.tsv") == [pair for pair in TEXT if pair in PAIRS]


def test_text_of_any_kind_and_from_standard_input(dragoman_, folder, words, models):
    for number, language in enumerate(("en", "de")):
        (folder / f"all.{language}").write_text("".join(f"{pair[number]}\n" for pair in TEXT))
    rows = "".join(f"{source}\t{target}\n" for source, target in TEXT).encode()
    tail = (*words[3:], "--keep", "0.25")

    dragoman_("filter", models / "en-de", "all.en", "all.de", *tail, "-o", "a.tsv")
    ended = dragoman_("filter", models / "en-de", "-", *tail, "-o", "b.tsv", stdin=rows)
    assert (ended.code, (folder / "a.tsv").read_bytes()) == (0, (folder / "b.tsv").read_bytes())
    assert len(read(folder / "a.tsv")) == 12
    assert not [*folder.glob("*.scores")]


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        (("--by", "magic"), 2, "--by magic"),
        (("--by", "round-trip"), 2, "--reverse has no effect with --by round-trip"),
        (("--keep", "0"), 2, "--keep 0"),
        (("--keep", "80"), 2, "--keep 80"),
        (("--keep", "nan"), 2, "--keep nan"),
        (("--least", "nan"), 2, "--least nan"),
        (("--least", "1.5"), 2, "--least 1.5"),
        (("--max-length", "0"), 2, "--max-length 0"),
        (("--scores", "x.en-de.tsv"), 2, "-o and --scores are the same file"),
        (("--scores", "all.en-de.tsv"), 2, "input and output are the same file"),
        (("-o", "all.en-de.tsv"), 2, "input and output are the same file"),
        (("-o", "x.de-en.tsv"), 2, "from de to en by its name, but its pairs are from en to de"),
        (("-o", "x.tsv.zst"), 2, "not compressed while they are written"),
        (("-o", "x.jsonl"), 2, "the pairs are tab-separated values"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(dragoman_, folder, words, changes, code, message):
    ended = dragoman_(*words, "--keep", "0.5", "-o", "x.en-de.tsv", *changes)

    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert "hint: " in ended.err
    assert [path.name for path in folder.iterdir()] == ["all.en-de.tsv"]


def test_what_is_missing_is_named(dragoman_, folder, words, models):
    for line, message in (
        (words[:3], "--by dual without --reverse"),
        (words, "no output for the pairs"),
        ((*words, "--keep", "0.5"), "no output for the pairs"),
        ((*words, "-o", "x.tsv"), "which pairs to keep?"),
        ((*words[:2], *words[3:], "--keep", "0.5", "-o", "x.tsv"), "not a pair of text files"),
    ):
        ended = dragoman_(*line, *(() if line != words[:3] else ("--keep", "0.5", "-o", "x.tsv")))
        assert ended.code == 2
        assert message in ended.err


def test_models_of_the_wrong_direction_are_refused(dragoman_, folder, models):
    tail = ("--keep", "0.5", "-o", "x.tsv")
    ended = dragoman_("filter", models / "en-de", "all.en-de.tsv", "--reverse", models / "en-de", *tail)
    assert ended.code == 2
    assert "the reverse model translates from en to de" in ended.err
    ended = dragoman_("filter", models / "de-en", "all.en-de.tsv", "--reverse", models / "en-de", *tail)
    assert ended.code == 3
    assert "from en to de, but the languages are from de to en" in ended.err


def test_text_without_a_usable_pair_leaves_no_file(dragoman_, folder, words):
    write(folder / "all.en-de.tsv", [("", "Ein Hund."), ("A dog.", "")])
    ended = dragoman_(*words, "--keep", "0.5", "-o", "x.tsv")

    assert ended.code == 3
    assert "all.en-de.tsv: no usable pair" in ended.err
    assert [path.name for path in folder.iterdir()] == ["all.en-de.tsv"]


def test_a_damaged_file_of_scores_is_named(dragoman_, folder, words):
    dragoman_(*words, "--scores", "scores", "-q")
    rows = (folder / "scores").read_text().splitlines()
    (folder / "scores").write_text("\n".join([*rows[:7], "what", *rows[8:]]))
    ended = dragoman_(*words, "--scores", "scores", "--keep", "0.5", "-o", "x.tsv")

    assert ended.code == 3
    assert "scores:8: not a score" in ended.err

    for damaged in (rows[:-1], [*rows, rows[-1]]):
        (folder / "scores").write_text("\n".join(damaged))
        ended = dragoman_(*words, "--scores", "scores", "--keep", "0.5", "-o", "x.tsv")
        assert ended.code == 3
        assert "scores: has another number of scores than all.en-de.tsv has pairs" in ended.err
        assert not (folder / "x.tsv").exists()


def test_the_pairs_may_go_to_a_pipe(dragoman_, folder, words):
    os.mkfifo("best.en-de.tsv")
    with ThreadPoolExecutor(1) as pool:
        got = pool.submit(Path("best.en-de.tsv").read_text, encoding="utf-8")
        ended = dragoman_(*words, "--keep", "0.25", "-o", "best.en-de.tsv")

        assert ended.code == 0, ended.err
        assert got.result(timeout=10).count("\n") == 12
    assert sorted(path.name for path in folder.iterdir()) == ["all.en-de.tsv", "best.en-de.tsv"]
