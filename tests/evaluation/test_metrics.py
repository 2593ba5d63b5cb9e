from __future__ import annotations

import json
import math
import os
import random
import subprocess
import sys
from collections import Counter

import pytest

from dragoman.base.errors import ConfigError, DataError
from dragoman.evaluation import metrics as evaluation
from dragoman.evaluation.metrics import compare, score_corpus
from dragoman.evaluation.results import Difference

WORDS = ["the", "a", "small", "old", "dog", "cat", "rides", "sees", "bike", "house", "in", "on", "near",
         "red", "green", "slowly", "today", "with"]  # fmt: skip


@pytest.fixture(autouse=True)
def usual_seed(monkeypatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)


def sentences(count: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(WORDS, k=draw.randint(5, 12))) + "." for _ in range(count)]


def spoiled(lines: list[str], share: float, seed: int = 2) -> list[str]:
    """`lines` with this share of their words replaced."""
    draw = random.Random(seed)
    return [
        " ".join(draw.choice(WORDS) if draw.random() < share else word for word in line.split())
        for line in lines
    ]


def bleu_by_hand(hypotheses: list[str], references: list[str]) -> float:
    """Papineni et al. 2002, section 2.3, for text that needs no tokenizer; float64, no smoothing."""
    matched, made = [0] * 4, [0] * 4
    length = reference_length = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        h, r = hypothesis.split(), reference.split()
        length, reference_length = length + len(h), reference_length + len(r)
        for n in range(4):
            ours = Counter(tuple(h[i : i + n + 1]) for i in range(len(h) - n))
            theirs = Counter(tuple(r[i : i + n + 1]) for i in range(len(r) - n))
            matched[n] += sum((ours & theirs).values())
            made[n] += sum(ours.values())
    penalty = math.exp(min(0.0, 1 - reference_length / length))
    return 100 * penalty * math.exp(sum(math.log(m / t) for m, t in zip(matched, made, strict=True)) / 4)


def test_bleu_is_the_papers_formula() -> None:
    references = [line.removesuffix(".") for line in sentences(60)]
    longer = spoiled(references, 0.2)
    shorter = [" ".join(line.split()[:-1]) for line in longer]
    for hypotheses in (longer, shorter):
        scores = score_corpus(hypotheses, references, bootstrap=0)
        assert scores.bleu.value == pytest.approx(bleu_by_hand(hypotheses, references), abs=1e-9)


def test_worked_example() -> None:
    """5 of 6 words match, 3 of 5 pairs, 2 of 4 triples, 1 of 3 quadruples, and a word is missing."""
    scores = score_corpus(["the cat sat on a mat"], ["the cat sat on the red mat"], bootstrap=0)
    expected = math.exp(1 - 7 / 6) * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert scores.bleu.value == pytest.approx(100 * expected, abs=1e-9)
    assert scores.ter.value == pytest.approx(100 * 2 / 7)  # one word changed, one put in
    assert "brevity penalty 0.846" in scores.bleu.detail


def test_perfect_and_worthless() -> None:
    lines = sentences(5)
    perfect = score_corpus(lines, lines, bootstrap=0)
    assert [round(s.value, 6) for s in perfect.by_metric.values()] == [100, 100, 0]
    worthless = score_corpus(["zzz"] * 5, lines, bootstrap=0)
    assert worthless.bleu.value == 0
    assert worthless.ter.value == pytest.approx(100)


def test_signatures_and_interval_are_sacrebleus() -> None:
    references = sentences(120)
    hypotheses = spoiled(references, 0.2)
    scores = score_corpus(hypotheses, references, bootstrap=200, target_language="de")
    version = scores.bleu.signature.rpartition(":")[2]
    assert scores.bleu.signature == (
        f"nrefs:1|bs:200|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}"
    )
    assert scores.chrf.signature.startswith(
        "nrefs:1|bs:200|seed:12345|case:mixed|eff:yes|nc:6|nw:0|space:no|"
    )
    assert scores.ter.signature.startswith(
        "nrefs:1|bs:200|seed:12345|case:lc|tok:tercom|norm:no|punct:yes|asian:no|"
    )
    for score in scores.by_metric.values():
        assert score.mean is not None
        assert score.half_width is not None
        assert abs(score.mean - score.value) < score.half_width
        assert 0.5 < score.half_width < 10
    assert [s.name for s in scores.by_metric.values()] == ["BLEU", "chrF2", "TER"]


def test_chrf_with_words_is_sacrebleus() -> None:
    from sacrebleu.metrics import CHRF

    references = sentences(20)
    hypotheses = spoiled(references, 0.2)
    score = score_corpus(hypotheses, references, metrics=["chrf++"], bootstrap=0).by_metric["chrf++"]
    assert score.name == "chrF2++"
    assert "|nc:6|nw:2|" in score.signature
    assert score.value == CHRF(word_order=2).corpus_score(hypotheses, [references]).score


def test_an_interval_with_a_blank_reference() -> None:
    for metric in ("bleu", "chrf", "chrf++", "ter"):
        scores = score_corpus(["x", "y"], ["x", ""], metrics=[metric], bootstrap=100)
        assert scores.by_metric[metric].half_width >= 0


def test_the_interval_is_where_means_of_resamples_lie() -> None:
    """TER is a ratio of sums, so its bootstrap has a plain normal approximation: +-1.96 standard errors."""
    import numpy as np

    references = [" ".join(WORDS[:10])] * 400
    draw = random.Random(5)
    wrong = [draw.randint(0, 4) for _ in references]  # words that are wrong, of ten
    hypotheses = [" ".join([f"x{i}" for i in range(k)] + WORDS[k:10]) for k in wrong]
    ter = score_corpus(hypotheses, references, metrics=["ter"]).ter
    assert ter.value == pytest.approx(10 * np.mean(wrong))
    assert ter.half_width == pytest.approx(1.96 * 10 * np.std(wrong) / 20, rel=0.1)


@pytest.mark.thorough
def test_same_figures_as_the_sacrebleu_command(tmp_path) -> None:
    references = [*sentences(40), 'He said: "It\'s 3.5% (or so)".']
    hypotheses = [*spoiled(references[:-1], 0.3), "He said, it is 3.5 % or so."]
    other = spoiled(references, 0.1, seed=9)
    files = {"hypotheses": hypotheses, "references": references, "others": other}
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    options = "-m bleu chrf ter --confidence --confidence-n 50 -w 6 -f json".split()
    answer = subprocess.run(
        [sys.executable, "-m", "sacrebleu", "references", "others", "-i", "hypotheses", *options],
        cwd=tmp_path, check=True, capture_output=True, text=True,
    )  # fmt: skip
    theirs = {score["name"]: score for score in json.loads(answer.stdout)}
    ours = score_corpus(hypotheses, [references, other], bootstrap=50)
    for score in ours.by_metric.values():
        assert score.value == pytest.approx(theirs[score.name]["score"], abs=1e-6)
        assert score.mean == pytest.approx(theirs[score.name]["confidence_mean"], abs=1e-6)
        assert score.half_width == pytest.approx(theirs[score.name]["confidence_var"], abs=1e-6)
        assert score.signature == theirs[score.name]["signature"]


def test_lowercase() -> None:
    upper, lower = ["The Dog Rides A Bike."], ["the dog rides a bike."]
    assert score_corpus(upper, lower, bootstrap=0).bleu.value < 50
    relaxed = score_corpus(upper, lower, lowercase=True, bootstrap=0)
    assert relaxed.bleu.value == pytest.approx(100)
    assert relaxed.chrf.value == pytest.approx(100)
    assert "case:lc" in relaxed.bleu.signature


@pytest.mark.parametrize("code", ["zh", "zh-CN", "zh_Hans", "ZHO"])
def test_chinese_is_cut_into_characters(code: str) -> None:
    scores = score_corpus(["猫坐在垫子上。"], ["猫坐在垫子上了。"], target_language=code, bootstrap=0)
    assert "tok:zh" in scores.bleu.signature
    assert scores.bleu.value > 50
    assert scores.ter.value == pytest.approx(100 / 8)  # one character of eight is missing
    assert "asian:yes" in scores.ter.signature
    assert not scores.notes


def test_japanese_without_its_tokenizer_says_so(monkeypatch) -> None:
    from sacrebleu.metrics import bleu

    def missing(name: str) -> type:
        if name == "ja-mecab":
            raise RuntimeError("not installed")
        return original(name)

    original = bleu._get_tokenizer
    monkeypatch.setattr(bleu, "_get_tokenizer", missing)
    scores = score_corpus(["猫が座る。"], ["猫が座った。"], target_language="ja", bootstrap=0)
    assert "tok:char" in scores.bleu.signature
    assert "sacrebleu[ja]" in scores.notes[0]
    assert "note: BLEU is of characters" in scores.to_text()


def test_japanese_with_its_tokenizer(monkeypatch) -> None:
    from sacrebleu.metrics import bleu
    from sacrebleu.tokenizers.tokenizer_base import BaseTokenizer

    class Fake(BaseTokenizer):
        def __call__(self, line: str) -> str:
            return line

        def signature(self) -> str:
            return "ja-mecab-fake"

    original = bleu._get_tokenizer
    monkeypatch.setattr(bleu, "_get_tokenizer", lambda name: Fake if name == "ja-mecab" else original(name))
    scores = score_corpus(["猫 が 座る"], ["猫 が 座る"], target_language="ja_JP", bootstrap=0)
    assert "tok:ja-mecab-fake" in scores.bleu.signature
    assert not scores.notes


@pytest.mark.parametrize("gap", ["", "  ", None])
def test_several_references_and_gaps_in_them(gap) -> None:
    from sacrebleu.metrics import BLEU, CHRF, TER

    hypotheses = ["a dog runs in the park", "it rains", "we eat", ""]
    first = ["one dog ran through a park", "it rains here today again and again", "we eat", ""]
    second = ["a dog runs in the park", gap, gap, ""]
    scores = score_corpus(hypotheses, [first, second], bootstrap=0)
    assert scores.references == 2
    for score, metric in ((scores.bleu, BLEU(force=True)), (scores.chrf, CHRF()), (scores.ter, TER())):
        assert score.value == metric.corpus_score(hypotheses, [first, second]).score  # type: ignore[list-item]
    noted = [note for note in scores.notes if "2 blank lines among the references" in note]
    assert len(noted) == (gap is not None)
    assert ("nrefs:var" in scores.bleu.signature) == (gap is None)


def test_a_blank_reference_may_be_the_nearest_length() -> None:
    """4 words are nearer to 0 than to 10, so no brevity penalty; without the blank one, exp(1 - 10 / 4)."""
    hypotheses, long = ["a b c d"], ["a b c d e f g h i j"]
    assert score_corpus(hypotheses, [long, [""]][:1], bootstrap=0).bleu.value == pytest.approx(
        100 * math.exp(-1.5)
    )
    with pytest.raises(DataError, match="reference 2: only blank lines"):
        score_corpus(hypotheses, [long, [""]])
    both = score_corpus([*hypotheses, "x"], [[*long, "x"], ["", "x"]], bootstrap=0)
    assert both.bleu.value == pytest.approx(100)
    assert "1 blank line among the references" in both.notes[0]
    with pytest.raises(DataError, match="line 1: every reference is missing"):
        score_corpus([*hypotheses, "x"], [[None, "x"], [None, "x"]])


def test_different_numbers_of_lines_name_both() -> None:
    with pytest.raises(DataError, match=r"out\.txt: 3 lines, but ref\.de: 1,004 lines"):
        score_corpus(["a"] * 3, ["a"] * 1004, name="out.txt", reference_names=["ref.de"])
    with pytest.raises(DataError, match=r"(?m)the translations: 2 lines, but reference 2: 1 line$"):
        score_corpus(["a", "b"], [["a", "b"], ["a"]])


@pytest.mark.parametrize("references", [[], [[]], ["", " "], [["a b"], [""]]])
def test_nothing_to_compare_with(references) -> None:
    with pytest.raises(DataError, match="nothing to compare with"):
        score_corpus(["a b"], references)


def test_a_string_is_no_list_of_lines() -> None:
    with pytest.raises(DataError, match="list of lines"):
        score_corpus("a b", ["a b"])
    with pytest.raises(DataError, match="list of lines"):
        score_corpus(["a b"], "a b")


def test_empty_and_tokenised_lines_are_remarked_on() -> None:
    references = sentences(20)
    hypotheses = ["", *(line.replace(".", " .") for line in references[1:])]
    notes = score_corpus(hypotheses, references, bootstrap=0).notes
    assert notes[0] == "the translations: 1 line of 20 empty"
    assert "19 lines end in ' .'" in notes[1]
    assert not score_corpus(["", "a"], ["", "a"], bootstrap=0).notes  # empty where nothing is asked for


def test_seed(monkeypatch) -> None:
    references = sentences(50)
    hypotheses = spoiled(references, 0.2)

    def mean(**options) -> float | None:
        return score_corpus(hypotheses, references, metrics=["bleu"], bootstrap=20, **options).bleu.mean

    assert mean() == mean() == mean(seed=12345)
    other = mean(seed=7)
    assert other != mean()
    assert "SACREBLEU_SEED" not in os.environ
    monkeypatch.setenv("SACREBLEU_SEED", "7")
    assert mean() == other
    assert mean(seed=12345) != other
    assert os.environ["SACREBLEU_SEED"] == "7"
    monkeypatch.setenv("SACREBLEU_SEED", "seven")
    with pytest.raises(ConfigError, match="SACREBLEU_SEED = seven"):
        mean()


def test_options_are_checked() -> None:
    with pytest.raises(ConfigError, match="metrics"):
        score_corpus(["a"], ["a"], metrics=["meteor"])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="bootstrap = -1"):
        score_corpus(["a"], ["a"], bootstrap=-1)
    with pytest.raises(ConfigError, match="two systems"):
        compare({"a": ["a"]}, ["a"])
    with pytest.raises(ConfigError, match="not one of the systems"):
        compare({"a": ["a"], "b": ["b"]}, ["a"], baseline="c")
    with pytest.raises(ConfigError, match="test = 'tt'"):
        compare({"a": ["a"], "b": ["b"]}, ["a"], test="tt")  # type: ignore[arg-type]


def test_large_corpora_get_fewer_resamples(monkeypatch) -> None:
    monkeypatch.setattr(evaluation, "_MOST_DRAWS", 20_000)
    lines = sentences(100)
    scores = score_corpus(lines, lines, metrics=["bleu"])
    assert "bs:200" in scores.bleu.signature
    assert "200 samples, not 1,000" in scores.notes[0]
    none = score_corpus(lines * 3, lines * 3, metrics=["bleu"])
    assert none.bleu.mean is None
    assert "bs:" not in none.bleu.signature


def test_scores_read_as_json_and_text() -> None:
    references = sentences(30)
    scores = score_corpus(spoiled(references, 0.2), references, bootstrap=100)
    table = json.loads(json.dumps(scores.to_table()))
    assert table["bleu"]["value"] == scores.bleu.value
    assert table["ter"]["higher_is_better"] is False
    assert table["lines"] == 30
    text = scores.to_text()
    for score in scores.by_metric.values():
        assert score.signature in text
        assert f"{score.value:.2f}  ({score.mean:.2f} ± {score.half_width:.2f})" in text
    assert "30 lines, 1 reference each; in brackets the 95% interval of 100 bootstrap resamples" in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("test", ["bs", "ar"])
def test_a_clear_difference_is_significant_and_a_chance_one_is_not(test) -> None:
    references = sentences(150)
    systems = {
        "old": spoiled(references, 0.3),
        "like": spoiled(references, 0.3, seed=3),
        "good": spoiled(references, 0.1),
    }
    found = compare(systems, references, test=test, metrics=["bleu", "ter"], samples=500)
    of = {(d.system, d.metric): d for d in found.differences}
    assert len(of) == 4
    for metric in ("bleu", "ter"):
        assert of["good", metric].p_value < 0.01
        assert of["good", metric].better
        assert of["good", metric].significant
        assert of["like", metric].p_value > 0.05
        difference = (
            found.scores["good"].by_metric[metric].value - found.scores["old"].by_metric[metric].value
        )
        assert of["good", metric].difference == pytest.approx(difference)
    assert of["good", "ter"].difference < 0
    assert f"{test}:500" in found.scores["old"].bleu.signature
    alone = score_corpus(systems["good"], references, bootstrap=0)
    assert found.scores["good"].bleu.value == pytest.approx(alone.bleu.value)
    assert found.scores["good"].bleu.half_width is not None
    repeat = compare(systems, references, test=test, metrics=["bleu", "ter"], samples=500)
    assert repeat == found


def test_the_randomisation_p_value_is_what_swapping_at_random_gives() -> None:
    """The exact test over all 2^8 swaps, with TER, whose score is a ratio of sums."""
    import numpy as np

    length = 10
    reference = " ".join(WORDS[:length])
    a_wrong, b_wrong = [3, 1, 4, 1, 5, 2, 6, 5], [2, 0, 1, 2, 3, 2, 4, 4]

    def wrong(k: int) -> str:
        return " ".join([f"x{i}" for i in range(k)] + WORDS[k:length])

    found = compare(
        {"a": [wrong(k) for k in a_wrong], "b": [wrong(k) for k in b_wrong]},
        [reference] * 8, test="ar", metrics=["ter"], samples=4000,
    )  # fmt: skip
    change = np.array(b_wrong) - np.array(a_wrong)
    signs = np.array([[1 if n >> i & 1 else -1 for i in range(8)] for n in range(256)])
    sums = np.abs(signs @ change)
    strictly = np.mean(sums > abs(change.sum()))  # sacreBLEU's >
    assert found.differences[0].p_value == pytest.approx(max(strictly, 2.0 ** (1 - 7)), abs=0.01)


@pytest.mark.parametrize("test", ["bs", "ar"])
def test_equal_systems_do_not_differ(test) -> None:
    """sacreBLEU alone would say p = 0.001."""
    references = sentences(30)
    system = spoiled(references, 0.2)
    found = compare({"a": system, "b": list(system)}, references, test=test, metrics=["bleu"], samples=50)
    assert found.differences[0].p_value == 1
    assert not found.differences[0].significant


@pytest.mark.parametrize("test", ["bs", "ar"])
@pytest.mark.parametrize("changed", [1, 3])
def test_few_changed_lines_are_no_evidence(test, changed: int) -> None:
    """sacreBLEU's randomisation alone would say p = 0.0001 for one: every swap gives the same difference."""
    references = sentences(30)
    system = spoiled(references, 0.2)
    other = ["nothing alike"] * changed + system[changed:]
    found = compare({"a": system, "b": other}, references, test=test, metrics=["bleu"], samples=200)
    assert found.differences[0].p_value >= 2 ** (1 - changed)


@pytest.mark.parametrize("test", ["bs", "ar"])
def test_one_line_has_no_interval(test) -> None:
    found = compare({"a": ["a cat"], "b": ["a dog"]}, ["a dog"], test=test, metrics=["chrf"], samples=200)
    assert found.differences[0].p_value == 1
    assert found.scores["a"].chrf.half_width is None
    assert "±" not in found.to_text()


@pytest.mark.parametrize(
    ("p_value", "text"),
    [
        (1 / 1001, "p < 0.001"),
        (1 / 10_001, "p < 0.001"),
        (0.001, "p = 0.0010"),
        (0.0496, "p = 0.0496"),
        (1.0, "p = 1.0000"),
    ],
)
def test_the_least_p_values_are_a_bound(p_value: float, text: str) -> None:
    """sacreBLEU's least p is 1 / (draws + 1): it says nothing of how far below that p lies."""
    found = Difference(system="a", metric="bleu", difference=1.0, p_value=p_value, better=True)
    assert found.p_text == text


def test_a_comparison_shows_the_bound() -> None:
    references = sentences(40)
    systems = {"old": spoiled(references, 0.6), "new": references}
    text = compare(systems, references, metrics=["bleu"]).to_text()
    assert "p < 0.001" in text
    assert "p = " not in text


def test_baseline_by_name_and_text() -> None:
    references = sentences(40)
    systems = {"new": spoiled(references, 0.1), "old": spoiled(references, 0.4)}
    found = compare(systems, references, baseline="old", metrics=["bleu", "ter"], samples=200)
    assert list(found.scores) == ["old", "new"]
    text = found.to_text()
    lines = text.splitlines()
    assert lines[0].startswith("BLEU")
    assert "baseline" in lines[0]
    assert "better" in lines[1]
    assert found.scores["new"].bleu.signature in text
    table = json.loads(json.dumps(found.to_table()))
    assert table["baseline"] == "old"
    assert table["differences"][0]["significant"] is True
    with pytest.raises(DataError, match="new: 40 lines, but the reference: 39 lines"):
        compare(systems, references[1:])


@pytest.mark.thorough
def test_importing_it_imports_no_sacrebleu() -> None:
    code = "import sys, dragoman.evaluation.metrics; sys.exit(bool({'sacrebleu', 'torch'} & {*sys.modules}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_translations_of_which_hardly_one_matches_have_intervals_too():
    """Some resamples then score 0, for which sacreBLEU has another type of number."""
    scores = score_corpus([""] * 11 + ["Hat"], ["Hat Julia geöffnet?"] * 12)

    assert scores.chrf.mean is not None
    assert 0 < scores.chrf.mean < 10


def test_bleu_of_each_line_is_sacrebleu_s() -> None:
    from sacrebleu import sentence_bleu

    hypotheses, references = (
        ["the cat sat on the mat", "a dog", "yes"],
        ["the cat sat on a mat", "The dog", "no"],
    )

    wanted = [sentence_bleu(h, [r]).score for h, r in zip(hypotheses, references, strict=True)]
    assert evaluation.line_bleu(hypotheses, references, "de") == pytest.approx(wanted)
    spaced, joined = ["猫 在 垫子 上"], ["猫在垫子上"]  # characters are words in Chinese
    assert evaluation.line_bleu(spaced, joined, "zh") == pytest.approx([100.0])
    assert evaluation.line_bleu(spaced, joined, "de")[0] < 10
