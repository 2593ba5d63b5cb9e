"""What is in parallel text: each number against an independent count, examples and samples, and the page."""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.base.errors import DataError
from dragoman.data import look as looking
from dragoman.data import passes
from dragoman.data.look import Questions, look_at, look_page
from dragoman.data.repairs import REPAIRS
from dragoman.data.rules import Filter, MeasuredPair, Rules
from dragoman.text.checks.faults import faults
from dragoman.text.corpora.corpus import Corpus, chained, open_pairs, open_sources

CHANCE = random.Random(5)
WORDS = "the old farmer gets up early and feeds seven hungry cows before it rains again tomorrow".split()
WOERTER = "der alte Bauer steht früh auf und füttert sieben hungrige Kühe bevor es morgen regnet".split()


def drawn(words: list[str]) -> str:
    return " ".join(CHANCE.choices(words, k=CHANCE.randint(1, 14)))


PAIRS = [(drawn(WORDS), drawn(WOERTER)) for _ in range(300)]
PAIRS += [*PAIRS[:20], (PAIRS[20][0], "ganz anders"), ("", "leer"), ("nothing", ""), ("same", "same")]
PAIRS += [
    ("Visit https://example.org now", "Mit <b>Marke</b> &amp; mehr"),
    ("M\u00c3\u00bcller", "kaputt \ufffd"),
    ("bell \x07 rings", "weich\u00adheit"),
    ("犬が寝ています。", "собака спит"),
    ("fish &amp; chips", "Fisch"),
]


def words_apart(pair: MeasuredPair | tuple[str, str]) -> float:
    return abs(len(pair[0].split()) - len(pair[1].split()))


def ratio(pair: MeasuredPair | tuple[str, str]) -> float:
    short, long = sorted(map(len, pair[:2]))
    return long / short if short else math.inf


# Without what needs a library.
SAFE = Rules(Rules.of({}).filters, tuple(one for one in REPAIRS if one.name != "mojibake"), ("en", "de"))
FILTERS = (
    Filter(name="apart", help="Words more on one side.", measure=words_apart, limit=7),
    Filter(name="ratio", help="Longer by shorter.", measure=ratio, limit=2.3),
)


def seen(pairs: list[tuple[str, str]] = PAIRS, workers: int = 1, **ask: Any) -> dict[str, Any]:
    questions = Questions(("en", "de"), **{"rules": Rules(FILTERS, ()), **ask})
    return look_at(open_pairs(pairs), questions, workers, lambda number: None)


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    return seen()


def above(histogram: dict[str, Any], limit: float) -> int:
    edges = [math.inf if edge is None else edge for edge in histogram["edges"]]
    return sum(many for edge, many in zip(edges, histogram["counts"], strict=True) if edge > limit)


@pytest.mark.parametrize("one", FILTERS, ids=lambda one: one.name)
def test_what_a_limit_drops_is_exact_at_every_edge(table: dict[str, Any], one: Filter) -> None:
    histogram, values = table["filters"][one.name], [one.measure(MeasuredPair(*pair)) for pair in PAIRS]

    assert sum(histogram["counts"]) == len(PAIRS)
    assert histogram["limit"] == one.limit
    for edge in (one.limit, *histogram["edges"]):
        if edge is not None:
            assert above(histogram, edge) == sum(value > edge for value in values), edge


@pytest.mark.parametrize("one", FILTERS, ids=lambda one: one.name)
def test_examples_stand_in_the_bin_of_their_measure(table: dict[str, Any], one: Filter) -> None:
    histogram = table["filters"][one.name]
    below = -math.inf
    for edge, many, examples in zip(
        *(histogram[key] for key in ("edges", "counts", "examples")), strict=True
    ):
        edge = math.inf if edge is None else edge
        assert len(examples) == min(many, 3)
        for _, number, *pair in examples:
            assert below < one.measure(MeasuredPair(*PAIRS[number - 1])) <= edge
            assert PAIRS[number - 1] == tuple(pair) or "�" in "".join(pair)
        below = edge


def test_lengths_are_those_of_the_lines(table: dict[str, Any]) -> None:
    for side, name in enumerate(("source", "target")):
        texts = [pair[side] for pair in PAIRS]
        words = [8 if text.startswith("犬") else len(text.split()) for text in texts]  # a character is a word
        for unit, lengths in (("words", words), ("characters", [*map(len, texts)])):
            histogram = table["lengths"][f"{unit}, {name}"]
            for edge in histogram["edges"]:
                assert above(histogram, edge) == sum(length > edge for length in lengths)
            assert (histogram["sum"], histogram["max"]) == (sum(lengths), max(lengths))


def test_copies_are_counted(table: dict[str, Any]) -> None:
    for kind, texts in (
        ("equal pairs", PAIRS),
        ("equal sources", [source for source, _ in PAIRS]),
        ("equal targets", [target for _, target in PAIRS]),
    ):
        assert above(table["kinds"][kind], 0) == len(texts) - len(set(texts))
    for side in (0, 1):
        expected = Counter(pair[side] for pair in PAIRS)
        shown = table["repeated"][side]
        assert [times for times, _ in shown] == sorted((n for n in expected.values() if n > 1), reverse=True)
        assert all(expected[text] == times for times, text in shown)


@pytest.mark.parametrize(
    ("kind", "number"),
    [("entities", 329), ("controls", 327), ("soft-hyphens", 327), ("spaces", 327), ("unicode", None)],
)
def test_what_is_to_repair_is_found_with_its_line(kind: str, number: int | None) -> None:
    found = seen(PAIRS[320:], rules=SAFE)["kinds"][f"to repair: {kind}"]

    assert above(found, 0) == (number is not None)
    assert [one[1] for one in found["examples"][-1]] == [(number or 0) - 320] or number is None


def test_filters_measure_repaired_text() -> None:
    """As dragoman data clean does."""
    pairs = [("a &amp; b", "c  d"), ("x", "y"), (" ", "\x07")]

    for one in SAFE.filters:
        if one.name != "language":
            histogram = seen(pairs, rules=SAFE)["filters"][one.name]
            drops = [one.name in dict(SAFE.judge(*pair).filters) for pair in pairs]
            assert one.limit is None or above(histogram, one.limit) == sum(drops)


def test_characters_from_the_rarest_on(table: dict[str, Any]) -> None:
    for side in (0, 1):
        expected = Counter("".join(pair[side] for pair in PAIRS))
        found = table["characters"][side]
        assert {chr(code): many for code, many in found["counts"]} == expected
        assert [many for _, many in found["counts"]] == sorted(expected.values())
        for code, line in found["first"].items():
            assert line[1] == next(n for n, pair in enumerate(PAIRS, 1) if chr(code) in pair[side])
    assert table["characters"][0]["names"][ord("犬")] == "CJK UNIFIED IDEOGRAPH-72AC"


def test_neither_chunks_nor_processes_change_anything(
    table: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "CHUNK", 7)

    assert seen() == table


@pytest.mark.thorough
def test_processes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = seen(rules=SAFE)
    monkeypatch.setattr(passes, "CHUNK", 50)
    monkeypatch.setattr(passes, "ALONE", 1)

    assert seen(workers=2, rules=SAFE) == expected


def test_a_seed_changes_samples_and_no_count(table: dict[str, Any]) -> None:
    other = seen(seed=2)

    assert other["examples"] != table["examples"]
    assert [one["counts"] for one in other["lengths"].values()] == [
        one["counts"] for one in table["lengths"].values()
    ]
    assert other["characters"] == table["characters"]


def test_every_pair_is_an_example_equally_often() -> None:
    times = np.zeros(40)
    for seed in range(400):
        histogram = looking._Histogram([math.inf], 4)
        chances = looking._hashes(np.arange(40), seed)
        for first in (0, 15, 30):  # in chunks
            part = slice(first, first + 15)
            histogram.add(np.zeros(len(chances[part])), chances[part], range(40)[part].__getitem__)
        times[[place for _, place in histogram.examples[0]]] += 1

    assert times.sum() == 1600
    assert ((times - 40) ** 2 / 36).sum() < 73  # chi squared with 39 degrees of freedom: 0.1 % are larger


def test_the_chosen_limits_together(table: dict[str, Any]) -> None:
    """The page counts the pairs of the sample that any filter drops, by their places among the edges."""
    dropped = np.zeros(len(PAIRS), bool)
    for one in FILTERS:
        histogram = table["filters"][one.name]
        edges = [math.inf if edge is None else edge for edge in histogram["edges"]]
        dropped |= np.array(histogram["sample"]) > edges.index(one.limit)

    assert table["sample"]["pairs"] == len(PAIRS)
    assert dropped.sum() == sum(
        any(one.measure(MeasuredPair(*pair)) > (one.limit or 0) for one in FILTERS) for pair in PAIRS
    )


@pytest.mark.parametrize("size", [50, 1000])
def test_a_slow_filter_is_measured_on_the_sample(
    table: dict[str, Any], monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(looking, "SAMPLED", ("apart",))
    monkeypatch.setattr(looking, "SAMPLE", size)
    found = seen()["filters"]["apart"]

    assert sum(found["counts"]) == len(found["sample"]) == min(size, len(PAIRS))
    if size > len(PAIRS):
        assert found == table["filters"]["apart"]


def varied(text: str) -> str:
    """Nearly the same text: one word more."""
    words = text.split()
    return " ".join([*words, "indeed"])


@pytest.mark.parametrize("most", [10_000, 200])
def test_near_duplicates_are_estimated(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    chance = random.Random(3)
    letters = "abcdefghijklmnopqrstuvwxyz"
    own = [" ".join("".join(chance.choices(letters, k=6)) for _ in range(9)) for _ in range(400)]
    pairs = [(text, text[::-1]) for text in own]
    pairs += [(varied(source), target) for source, target in pairs[:100]]  # 20 % of the whole
    monkeypatch.setattr(looking, "NEAR", most)

    near = seen(pairs)["near"]

    assert near["sample"] <= most
    assert near["pairs"] / near["sample"] == pytest.approx(0.2, abs=0.002 if most > 1000 else 0.1)
    for earlier, later in near["examples"]:
        assert varied(earlier[2]) == later[2]


def test_lines_of_one_side() -> None:
    path = Path(__file__)
    table = look_at(open_sources(path), Questions((None, None), ("source",)), 1, lambda number: None)

    assert table["sides"] == ("source",)
    assert table["filters"] == {}
    assert {name.partition(",")[0] for name in table["lengths"]} == {"words", "characters"}
    assert table["pairs"] == sum(map(bool, path.read_text(encoding="utf-8").split("\n")))
    assert table["kinds"].keys().isdisjoint({"equal pairs", "equal targets"})


def test_lines_are_those_of_their_file() -> None:
    parts = [open_pairs(PAIRS[:30], name="one"), open_pairs(PAIRS[-5:], name="two")]
    corpus: Corpus = chained(parts)
    table = look_at(corpus, Questions(("en", "de")), 1, lambda number: None)

    assert table["files"] == 2
    assert table["filters"]["boilerplate"]["examples"][-1][0][:2] == ["two", 1]


def test_faults_are_those_of_the_checks(table: dict[str, Any]) -> None:
    kinds = [{one.kind for one in faults(source, target, "en", "de")} for source, target in PAIRS]
    expected = Counter(kind for own in kinds for kind in own)

    assert expected.total() > 5
    assert {name: above(one, 0) for name, one in table["faults"].items() if above(one, 0)} == expected
    for name in expected:
        assert all(name in kinds[one[1] - 1] for one in table["faults"][name]["examples"][-1])


def test_terms_are_looked_for_in_translations(tmp_path: Path) -> None:
    path = tmp_path / "terms.csv"
    path.write_text("dog,Hund\nfarmer,Landwirt\n", encoding="utf-8")
    pairs = [
        ("The farmer has a dog.", "Der Bauer hat einen Hund."),
        ("Two dogs sleep.", "Zwei Hunde schlafen."),
        ("A dog and a dog.", "Haustiere."),
        ("A cow.", "Eine Kuh."),
    ]
    table = seen(pairs, terms=path)

    assert table["terms"] == [["dog", False, 1], ["dog", True, 2], ["farmer", False, 1]]
    assert above(table["kinds"]["terms translated otherwise"], 0) == 2


def test_terms_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "terms.csv").write_text("", encoding="utf-8")

    with pytest.raises(DataError, match=r"terms\.csv"):
        seen(terms=tmp_path / "terms.csv")


def test_without_py3langid_no_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "py3langid.langid", None)
    monkeypatch.setattr("dragoman.text.detection._loaded_identifier", _missing)

    assert seen()["sample"]["languages"] is None


def _missing() -> None:
    from dragoman.base.errors import ConfigError

    raise ConfigError("detecting a language needs py3langid", hint="install it")


NASTY = [("</script><img src=x onerror=alert(1)>", "\u202eאבג\u2028"), ("<!-- ", "]]> &lt;"), *PAIRS]


def test_the_text_is_inert_in_the_page() -> None:
    page = look_page([seen(NASTY)])

    assert len(re.findall("</script", page)) == 2
    assert "<img" not in page
    assert not {"\u202e", "\u2028", "\x07"} & set(page)


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("look") / "look.html"
    path.write_text(look_page([seen(NASTY), seen(PAIRS[:50])]), encoding="utf-8")
    return path


def opened(browser: Any, path: Path, **options: Any) -> Any:
    page = browser.new_page(**options)
    page.set_default_timeout(120_000)
    page.goto(path.as_uri())
    page.locator("body[data-ready]").wait_for()
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(browser: Any, page_file: Path, scheme: str) -> None:
    from axe_playwright_python import sync_playwright as axe

    page = opened(browser, page_file, color_scheme=scheme, bypass_csp=True)
    found = axe.Axe().run(page).response["violations"]
    page.close()

    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_the_page_fits_a_phone_and_loads_nothing(browser: Any, page_file: Path) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 800})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url))
    page.goto(page_file.as_uri())
    page.locator("body[data-ready]").wait_for()
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    width = page.evaluate("document.documentElement.scrollWidth")
    page.close()

    assert width <= 360
    assert complaints == [page_file.as_uri()]


def test_a_slider_says_what_its_limit_drops(browser: Any, page_file: Path) -> None:
    page = opened(browser, page_file)
    card = page.locator("[data-filter=apart]")
    slider = card.locator("input[type=range]")
    for key in ("Home", "ArrowRight", "ArrowRight", "End", "ArrowLeft"):
        slider.press(key)
        limit = float(card.locator("output").inner_text())
        for place, pairs in enumerate((NASTY, PAIRS[:50])):
            dropped = sum(words_apart(pair) > limit for pair in pairs)
            shown = card.locator(".drops").nth(place).inner_text()
            assert shown.startswith(f"drops {dropped} (")
        rules = page.locator("textarea").input_value()
        assert f"apart = {limit:g}\n" in rules
    either = sum(words_apart(pair) > limit or ratio(pair) > 2.3 for pair in NASTY)
    assert (
        f"A: All limits together drop {either} of {len(NASTY)} pairs" in page.locator(".total").inner_text()
    )
    card.locator("input[type=checkbox]").uncheck()
    assert page.locator("textarea").input_value() == "[filters]\napart = false\nratio = 2.3\n"
    assert card.locator(".drops").first.inner_text().startswith("drops 0 (")
    page.close()


def test_empty_pairs_that_end_documents_are_no_copies() -> None:
    plain = seen(PAIRS[:300])
    with_ends = seen([pair for one in PAIRS[:300] for pair in (one, ("", " "))])
    assert with_ends["pairs"] == plain["pairs"] == 300
    for part in ("lengths", "kinds"):
        counts, expected = (
            {key: one["counts"] for key, one in some[part].items()} for some in (with_ends, plain)
        )
        assert counts == expected
        assert counts
