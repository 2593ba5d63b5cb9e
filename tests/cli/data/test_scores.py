"""`dragoman data clean --score`: what is kept, the file of scores, stops in between, and what is refused."""

from __future__ import annotations

import json
import math
import os
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.translation.bundles import PAIRS, learnt_bundle

from dragoman.cli.data import scores as scoring
from dragoman.evaluation import dual
from dragoman.evaluation.dual import PairScorer
from dragoman.models.folder.bundle import save
from dragoman.translation.translator import Translator

NOISE = [(source, target) for source, _ in PAIRS for _, target in PAIRS if (source, target) not in PAIRS]
TEXT = [*PAIRS, *NOISE, ("", "Ein Hund."), ("A dog.", "")] * 3
random.Random(1).shuffle(TEXT)
SCORED = [pair for pair in TEXT if all(pair)]
BEST = [pair for pair in TEXT if pair in PAIRS]  # 12 of 48
OFF = (
    "language length-ratio truncated copied repetition"  # these short sentences shall not be dropped by rules
)
RULES = "[filters]\n" + "".join(f"{name} = false\n" for name in OFF.split()) + "[repairs]\nmojibake = false\n"


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
    (tmp_path / "rules.toml").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def words(models: Path) -> tuple[str | Path | int, ...]:
    tail = (
        "--reverse",
        models / "de-en",
        "--rules",
        "rules.toml",
        "--workers",
        1,
        "--report",
        "report.jsonl",
    )
    return ("data", "clean", "all.en-de.tsv", "--score", models / "en-de", *tail)


def write(path: Path, pairs: list[tuple[str, str]]) -> None:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


def read(path: str) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in Path(path).read_text(encoding="utf-8").splitlines()]


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


def test_the_best_share_is_kept_in_its_order_and_the_rest_reported(dragoman_, folder, words) -> None:
    ended = dragoman_(*words, "--keep", "0.25", "-o", "best.en-de.tsv", "--json")

    assert ended.code == 0, ended.err
    assert read("best.en-de.tsv") == BEST
    assert json.loads(ended.out)["filters"] == {"score": 36, "empty": 6}
    rows = [json.loads(row) for row in Path("report.jsonl").read_text("utf-8").splitlines()]
    assert [tuple(row["before"]) for row in rows] == [pair for pair in TEXT if pair not in PAIRS]
    assert not [*folder.glob("*.scores")]


def test_a_lexicon_needs_no_model(dragoman_, folder) -> None:
    """PAIRS are 40 times as frequent as the other pairs: their words explain each other best."""
    write(folder / "all.en-de.tsv", [*PAIRS * 40, *NOISE])
    words = ("data", "clean", "all.en-de.tsv", "--by", "lexicon", "--rules", "rules.toml", "--workers", 1)
    keep = 40 * len(PAIRS) / (40 * len(PAIRS) + len(NOISE))

    assert dragoman_(*words, "--keep", keep, "-o", "best.en-de.tsv").code == 0
    assert read("best.en-de.tsv") == PAIRS * 40
    ended = dragoman_(*words, "--keep", keep, "--score", "x", "-o", "best.en-de.tsv")
    assert (ended.code, "--by lexicon uses no model" in ended.err) == (2, True)
    assert "which pairs to keep?" in dragoman_(*words, "-o", "best.en-de.tsv").err
    ended = dragoman_(*words, "--keep", keep, "--dtype", "int8", "-o", "best.en-de.tsv")
    assert (ended.code, "are for --score" in ended.err) == (2, True)


def test_a_lexicon_is_learnt_once_and_needs_lines_with_two_sides(dragoman_, folder, monkeypatch) -> None:
    words = ("data", "clean", "all.en-de.tsv", "--by", "lexicon", "--rules", "rules.toml", "--workers", 1)
    assert dragoman_(*words, "--keep", 0.5, "--scores", "all.scores", "-o", "half.en-de.tsv").code == 0
    monkeypatch.setattr("dragoman.data.lexical.draw_sample", None)  # nothing is learnt anew
    assert dragoman_(*words, "--keep", 0.9, "--scores", "all.scores", "-o", "most.en-de.tsv").code == 0
    assert len(read("half.en-de.tsv")) < len(read("most.en-de.tsv"))

    monkeypatch.undo()
    monkeypatch.chdir(folder)
    write(folder / "sides.en-de.tsv", [("A dog.", ""), ("", "Ein Hund."), ("One", "Eins")])
    words = ("data", "clean", "sides.en-de.tsv", *words[3:])
    Path("x.en-de.tsv.scores").write_text("of another command")
    assert dragoman_(*words, "--keep", 1, "-o", "x.en-de.tsv").code == 0
    assert read("x.en-de.tsv") == [("One", "Eins")]
    assert Path("x.en-de.tsv.scores").read_text() == "of another command"


def test_a_least_score_and_the_file_of_scores(dragoman_, folder, words, models, monkeypatch) -> None:
    scores = by_hand(models)
    limit = sorted(scores)[20] * 1.001
    least = ("--least", f"{limit:.9f}", "--scores", "scores")
    assert dragoman_(*words, *least, "-o", "best.en-de.tsv").code == 0

    assert read("best.en-de.tsv") == [p for p, score in zip(SCORED, scores, strict=True) if score >= limit]
    head, *rows = Path("scores").read_text().splitlines()
    assert json.loads(head.removeprefix("# "))["--by"] == "'dual'"
    assert [row == "-\tempty" for row in rows] == [not all(pair) for pair in TEXT]
    found = [float(row.split("\t")[0]) for row in rows if not row.startswith("-")]
    assert found == pytest.approx(scores, rel=1e-4)

    monkeypatch.setattr(PairScorer, "scores", None)  # nothing is scored again
    ended = dragoman_(*words, "--scores", "scores", "--keep", "0.25", "-o", "best.en-de.tsv")
    assert ended.err.startswith("scores: has the scores\n")
    assert read("best.en-de.tsv") == BEST


def test_scores_of_other_work_are_refused(dragoman_, folder, words) -> None:
    tail = ("--scores", "scores", "--keep", "0.5", "-o", "x.en-de.tsv")
    dragoman_(*words, *tail, "-q")
    before = Path("scores").read_bytes()
    ended = dragoman_(*words, *tail, "--max-length", "9")
    assert (ended.code, "scores: was begun with another --max-length" in ended.err) == (2, True)
    write(folder / "all.en-de.tsv", TEXT[:5])
    assert "was begun with another text" in dragoman_(*words, *tail).err
    assert Path("scores").read_bytes() == before
    Path("notes").write_text("Buy milk.\n")
    ended = dragoman_(*words, "--scores", "notes", *tail[2:])
    assert (ended.code, Path("notes").read_text()) == (2, "Buy milk.\n")
    assert "notes: exists, but does not hold scores" in ended.err


@pytest.mark.parametrize("by", ["dual", "round-trip"])
def test_a_stopped_command_goes_on(dragoman_, folder, words, monkeypatch, by) -> None:
    monkeypatch.setattr(scoring, "_TOGETHER", 5)
    line = words if by == "dual" else (*words[:5], *words[7:], "--by", by)
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
    ended = dragoman_(*command)

    assert ended.code == 0
    assert ended.err.startswith("scores: resuming after pair 20\n")
    assert len(calls) == 4 + 2 + 7  # of 11 chunks, no chunk twice but those that were stopped
    assert Path("scores").read_bytes() == Path("whole").read_bytes()
    assert Path("out.en-de.tsv").read_bytes() == Path("whole.en-de.tsv").read_bytes()


def test_a_stop_between_scoring_and_writing_costs_nothing(dragoman_, folder, words, monkeypatch) -> None:
    best_of = dual.best_of

    def stopping(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(dual, "best_of", stopping)
    assert dragoman_(*words, "--keep", "0.25", "-o", "best.en-de.tsv").code == 130
    monkeypatch.setattr(dual, "best_of", best_of)
    monkeypatch.setattr(PairScorer, "scores", None)

    assert dragoman_(*words, "--keep", "0.25", "-o", "best.en-de.tsv").code == 0
    assert read("best.en-de.tsv") == BEST


def test_standard_input_and_a_pipe(dragoman_, folder, words) -> None:
    rows = Path("all.en-de.tsv").read_bytes()
    os.mkfifo("best.en-de.tsv")
    with ThreadPoolExecutor(1) as pool:
        got = pool.submit(Path("best.en-de.tsv").read_text, encoding="utf-8")
        line = (*words[:2], "-", *words[3:], "--keep", "0.25", "-o", "best.en-de.tsv")
        ended = dragoman_(*line, stdin=rows)

        assert ended.code == 0, ended.err
        assert got.result(timeout=10).count("\n") == 12


def test_the_old_command_is_rewritten(dragoman_, folder, models) -> None:
    words = ("filter", models / "en-de", "all.en-de.tsv", "--reverse", models / "de-en", "--keep", "0.25")
    ended = dragoman_(*words, "--rules", "rules.toml", "-o", "best.en-de.tsv")

    assert ended.code == 0
    assert "dragoman filter is now the command dragoman data clean" in ended.err
    assert read("best.en-de.tsv") == BEST


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        (("--by", "magic"), 2, "--by magic"),
        (("--by", "round-trip"), 2, "--reverse has no effect with --by round-trip"),
        (("--keep", "0"), 2, "--keep 0"),
        (("--keep", "80"), 2, "--keep 80"),
        (("--least", "nan"), 2, "--least nan"),
        (("--max-length", "0"), 2, "--max-length 0"),
        (("--scores", "x.en-de.tsv"), 2, "two outputs are the same file"),
        (("--scores", "all.en-de.tsv"), 2, "input and output are the same file"),
        (("-o", "x.de-en.tsv"), 2, "from de to en by its name, but its pairs are from en to de"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(dragoman_, folder, words, changes, code, message) -> None:
    ended = dragoman_(*words, "--keep", "0.5", "-o", "x.en-de.tsv", *changes)

    assert (ended.code, ended.out) == (code, "")
    assert message in ended.err
    assert "hint: " in ended.err
    assert sorted(path.name for path in folder.iterdir()) == ["all.en-de.tsv", "rules.toml"]


def test_what_is_missing_is_named(dragoman_, folder, words, models) -> None:
    for line, message in (
        ((*words[:5], "--keep", "1"), "--by dual without --reverse"),
        (words, "which pairs to keep?"),
        (
            (*words, "--reverse", models / "en-de", "--keep", "1"),
            "the reverse model translates from en to de",
        ),
    ):
        ended = dragoman_(*line, "-o", "x.tsv")
        assert ended.code == 2
        assert message in ended.err


def test_text_without_a_usable_pair_leaves_no_file(dragoman_, folder, words) -> None:
    write(folder / "all.en-de.tsv", [("", "Ein Hund."), ("A dog.", "")])
    ended = dragoman_(*words, "--keep", "0.5", "-o", "x.tsv")

    assert ended.code == 3
    assert "all.en-de.tsv: no usable pair" in ended.err
    assert sorted(path.name for path in folder.iterdir()) == ["all.en-de.tsv", "rules.toml"]


def test_a_damaged_file_of_scores_is_named(dragoman_, folder, words) -> None:
    tail = ("--scores", "scores", "--keep", "0.5", "-o", "x.tsv")
    dragoman_(*words, *tail, "-q")
    Path("x.tsv").unlink()
    rows = Path("scores").read_text().splitlines()
    damage = {"scores:8: not a score": [*rows[:7], "what", *rows[8:]]}
    for message, damaged in (
        *damage.items(),
        ("another number of scores", rows[:-1]),
        ("another number of scores", [*rows, rows[-1]]),
    ):
        Path("scores").write_text("\n".join(damaged))
        ended = dragoman_(*words, *tail)
        assert (ended.code, message in ended.err) == (3, True)
        assert not Path("x.tsv").exists()


def test_empty_pairs_have_no_score_and_stay(dragoman_, folder) -> None:
    """They end documents: with them, as many of the others are kept."""
    words = ("data", "clean", "--by", "lexicon", "--keep", 0.5, "--rules", "rules.toml", "--workers", 1, "-q")
    text = Path("all.en-de.tsv").read_text("utf-8").splitlines()
    kept = []
    for name, between in (("plain", ""), ("apart", "\n"), ("blank", "\u00a0\t\u00a0\n")):
        Path(f"{name}.en-de.tsv").write_text("".join(f"{line}\n{between}" for line in text), "utf-8")
        assert dragoman_(*words, f"{name}.en-de.tsv", "-o", f"{name}.out.en-de.tsv").code == 0
        rows = Path(f"{name}.out.en-de.tsv").read_text("utf-8").splitlines()
        kept.append([row for row in rows if row.strip()])
        assert len(rows) - len(kept[-1]) == (len(text) if between else 0)
    assert kept[0] == kept[1] == kept[2]
    assert len(kept[0]) < len(text)


def test_the_report_has_a_number_for_a_pair_without_a_score(dragoman_, folder, words) -> None:
    write(folder / "all.en-de.tsv", [*TEXT, (" ".join([PAIRS[0][0]] * 9), " ".join([PAIRS[0][1]] * 9))])
    ended = dragoman_(*words, "--keep", "0.5", "--max-length", "30", "-o", "x.en-de.tsv")

    assert ended.code == 0, ended.err
    rows = [
        json.loads(row, parse_constant=pytest.fail) for row in Path("report.jsonl").read_text().splitlines()
    ]
    long = [row["filters"] for row in rows if "score: too long" in row["filters"]]
    assert long
    assert all(one == {"score: too long": 1.0} for one in long)
