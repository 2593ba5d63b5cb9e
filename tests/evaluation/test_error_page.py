"""The error page: what is in the file, and what a browser shows of it."""

from __future__ import annotations

import base64
import json
import random
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF, TER

from dragoman.evaluation.error_page import error_page
from dragoman.evaluation.metrics import ALL_METRICS, compare
from dragoman.text.corpora.lines import Line
from dragoman.translation.terms.terms import Term, TermList

HOSTILE = "</script><img src=x onerror=document.title=1> & \u2028 <b>bold</b>"
WORDS = "the old dog sees 12 small cats and Anna near a green house with trees".split()
SACREBLEU = {"bleu": BLEU(force=True), "chrf": CHRF(), "chrf++": CHRF(word_order=2), "ter": TER()}


def made_text(count: int, seed: int = 1) -> tuple[list[Line], dict[str, list[str]]]:
    """Lines whose reference is the source in capitals, but for names; translations that lack words."""
    draw = random.Random(seed)
    sources = [" ".join(draw.choices(WORDS, k=draw.randint(1, 18))) + "." for _ in range(count)]
    references = [one.upper().replace("ANNA", "Anna") for one in sources]

    def without(share: float) -> list[str]:
        return [" ".join(word for word in one.split() if draw.random() > share) for one in references]

    lines = [Line(n, s, t) for n, (s, t) in enumerate(zip(sources, references, strict=True), 1)]
    return lines, {"old": without(0.4), "new": without(0.2)}


def page_of(lines: Sequence[Line], systems: dict[str, list[str]], **options: Any) -> str:
    references = [[line.target for line in lines]]
    results = compare(systems, references, metrics=ALL_METRICS, samples=100).to_table()
    options = {"languages": ("en", "de"), **options}
    return error_page(lines, systems, results, references=references, **options)


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="text/plain" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_scores_in_the_file_are_sacrebleus() -> None:
    lines, systems = made_text(40)
    results = data_of(page_of(lines, systems))["results"]
    references = [[line.target for line in lines]]
    for name, texts in systems.items():
        for metric, theirs in SACREBLEU.items():
            found = results["systems"][name][metric]
            assert found["value"] == pytest.approx(theirs.corpus_score(texts, references).score, rel=1e-6)
            assert found["half_width"] > 0


def test_the_statistics_of_the_lines_are_sacrebleus() -> None:
    lines, systems = made_text(12)
    page = page_of(lines, systems)
    packed = re.search(r'id="statistics-1">([^<]*)<', page)
    assert packed
    rows = np.frombuffer(zlib.decompress(base64.b64decode(packed[1])), "<f8").reshape(12, 54)
    references = [[line.target for line in lines]]
    chrf = CHRF().corpus_score(systems["new"], references).score
    assert CHRF()._compute_f_score(rows[:, 10:28].sum(0).tolist()) == pytest.approx(chrf)
    assert 100 * rows[:, 52].sum() / rows[:, 53].sum() == pytest.approx(
        TER().corpus_score(systems["new"], references).score
    )


def test_faults_documents_and_terms() -> None:
    lines = [
        Line(1, "Anna sees 12 dogs.", "Anna sieht 12 Hunde.", document="a.po"),
        Line(2, "The tree.", "Der Baum.", document="b.po"),
    ]
    terms = TermList([Term("tree", ("Baum",))], "en", "de")
    texts = {"one": ["Sie sieht 13 Hunde.", "Der Wald."], "two": ["Anna sieht 12 Hunde.", "Der Baum."]}
    data = data_of(page_of(lines, texts, terms=[terms], commands={"one": "dragoman inspect m"}))
    assert data["documents"] == ["a.po", "b.po"]
    one, two = data["systems"]
    assert (one["command"], two["command"]) == ("dragoman inspect m", None)
    assert ["name", "Anna missing"] in one["faults"][0]
    assert "number differs" in [kind for kind, _ in one["faults"][0]]
    assert one["faults"][1] == [["term", "Baum missing"]]
    assert two["faults"] == [[], []]


def test_blank_lines_divide_documents() -> None:
    rows = ["a b", "", "", "c d", ""]
    lines = [Line(n, text, text) for n, text in enumerate(rows, 1)]
    found = data_of(page_of(lines, {"one": rows, "two": [*rows[:-1], "."]}))
    assert found["documents"] == ["1", "1", "1", "2", "2"]  # no empty document
    assert data_of(page_of(lines[3:4], {"one": ["c d"], "two": ["c"]}))["documents"] == []
    for numbers, documents in (((1, 2), []), ((2, 1), ["1", "2"]), ((1, 1), [])):  # files; one line of TMX
        two = [line._replace(number=n) for line, n in zip((lines[0], lines[3]), numbers, strict=True)]
        assert data_of(page_of(two, {"one": ["a b", "c d"], "two": ["a", "c"]}))["documents"] == documents


def test_no_text_is_markup() -> None:
    lines = [Line(1, HOSTILE, HOSTILE), Line(2, "a b", "a b")]
    page = page_of(lines, {HOSTILE: [HOSTILE, "a"], "two": ["x", "b"]}, groups=[HOSTILE, "b"])
    assert "<img" not in page
    assert data_of(page)["sources"][0] == HOSTILE


# ---- in a browser -----------------------------------------------------------------------------------


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Opens a page from file://. No test may cause a request, or an error on the console."""
    asked: list[str] = []
    complaints: list[str] = []
    contexts = []

    def opened(content: str, **options: Any) -> Any:
        path = tmp_path / f"errors-{len(contexts)}.html"
        path.write_text(content, encoding="utf-8")
        contexts.append(context := browser.new_context(offline=True, reduced_motion="reduce", **options))
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda m: m.type in ("error", "warning") and complaints.append(m.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector(".lines li")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []
    assert all(url.startswith("file://") for url in asked)
    assert len(asked) == len(contexts)


def shown_lines(page: Any) -> list[int]:
    found: list[int] = page.evaluate(
        "[...document.querySelectorAll('.lines li')].map((li) => +li.dataset.line)"
    )
    return found


def menu(page: Any, name: str) -> Any:
    return page.get_by_role("combobox", name=name, exact=True).first


def test_the_scores_of_kinds_and_lines_are_sacrebleus(show: Callable[..., Any]) -> None:
    lines, systems = made_text(60)
    page = show(page_of(lines, systems))
    head = [float(text) for text in page.locator(".scores .score").all_inner_texts()]
    references = [line.target for line in lines]
    expected = [
        metric.corpus_score(texts, [references]).score
        for texts in systems.values()
        for metric in SACREBLEU.values()
    ]
    assert head == pytest.approx(expected, abs=0.006)

    short = [n for n, line in enumerate(lines) if len(line.source.split()) <= 5]
    row = page.locator(".kinds tbody tr").first
    for metric, theirs in SACREBLEU.items():
        menu(page, "Measure").select_option(metric)
        cells = [float(text) for text in row.locator("td").all_inner_texts()]
        wanted = [
            theirs.corpus_score([texts[n] for n in short], [[references[n] for n in short]]).score
            for texts in systems.values()
        ]
        assert cells == pytest.approx([len(short), *wanted], abs=0.006)

    sentence = [BLEU(effective_order=True, force=True), *[*SACREBLEU.values()][1:]]
    for item in page.locator(".lines li").all()[:20]:
        n = int(item.get_attribute("data-line")) - 1
        for figures, texts in zip(item.locator(".figures").all(), systems.values(), strict=True):
            found = [float(t.split()[-1]) for t in figures.locator("span").all_inner_texts()[:4]]
            wanted = [one.sentence_score(texts[n], [references[n]]).score for one in sentence]
            assert found == pytest.approx(wanted, abs=0.06)


def test_lines_are_chosen_and_sorted(show: Callable[..., Any]) -> None:
    lines, systems = made_text(120)
    groups = ["typos" if n % 3 else "none" for n in range(120)]
    page = show(page_of(lines, systems, groups=groups, commands={"new": "dragoman inspect 'my model'"}))
    chrf = {
        name: [
            CHRF().sentence_score(text, [line.target]).score for line, text in zip(lines, texts, strict=True)
        ]
        for name, texts in systems.items()
    }
    assert shown_lines(page) == [n + 1 for n in sorted(range(120), key=lambda n: (chrf["new"][n], n))][:50]
    page.get_by_role("button", name="Show 50 more").click()
    assert len(shown_lines(page)) == 100

    menu(page, "Sort").select_option("apart")
    apart = [abs(chrf["new"][n - 1] - chrf["old"][n - 1]) for n in shown_lines(page)]
    assert apart == sorted(apart, reverse=True)

    menu(page, "Sort").select_option("file")
    page.get_by_label("Search").fill(r"^the\b")
    menu(page, "In").select_option("source")
    wanted = [line.number for line in lines if line.source.startswith(("the ", "the."))]
    assert wanted
    page.get_by_text(re.compile(rf"^{len(wanted)} of 120 lines")).wait_for()
    assert shown_lines(page) == wanted
    page.get_by_label("Search").fill("(")
    page.locator(".problem", has_text="(").wait_for()
    page.get_by_label("Search").fill("")

    menu(page, "By").select_option("group")
    page.get_by_role("button", name="none").click()
    page.get_by_text("Group: none · 40 of 120 lines").wait_for()
    assert shown_lines(page) == [n + 1 for n in range(0, 120, 3)]
    assert page.evaluate("document.activeElement.id") == "lines"
    page.get_by_role("button", name="Show all kinds").click()
    menu(page, "Fault").select_option("name")
    found = shown_lines(page)
    assert found
    assert all("Anna" in lines[n - 1].source and "Anna" not in systems["new"][n - 1] for n in found)

    inside = page.locator(".inside").first
    inside.locator("summary").focus()
    page.keyboard.press("Enter")
    given, source = systems["new"][found[0] - 1], lines[found[0] - 1].source
    command = f"dragoman inspect 'my model' --target='{given}' '{source}'"
    assert inside.locator("code").inner_text() == command


def test_markup_and_quotes_in_a_text_do_nothing(show: Callable[..., Any]) -> None:
    source = f"-it's {HOSTILE}"
    lines = [Line(1, source, HOSTILE), Line(2, "a b", "a b")]
    commands = {HOSTILE: "dragoman inspect m"}
    content = page_of(
        lines, {"one": ["x", "b"], HOSTILE: [HOSTILE, "b"]}, commands=commands, contexts=["", ""]
    )
    page = show(content)
    assert page.title() != "1"
    assert page.locator("img, b").count() == 0
    item = page.locator("[data-line='1']")
    assert item.locator(".source").text_content() == source
    quoted = source.replace("'", "'\\''")
    command = f"dragoman inspect m --target='{HOSTILE}' -- '{quoted}'"
    assert item.locator("code").text_content() == command


def test_ten_thousand_lines_are_shown_a_page_at_a_time(show: Callable[..., Any]) -> None:
    texts = [f"Anna sees {n}" for n in range(10_000)]
    lines = [Line(n, text, text) for n, text in enumerate(texts, 1)]
    systems = {"old": texts, "new": [f"{text} x" for text in texts]}
    references = [texts]
    results = compare({name: own[:50] for name, own in systems.items()}, [texts[:50]], samples=100)
    page = show(error_page(lines, systems, results.to_table(), references=references))
    assert len(shown_lines(page)) == 50
    page.get_by_text("10,000 of 10,000 lines").wait_for()
    page.get_by_label("Search").fill("anna.*7$")
    page.get_by_text("1,000 of 10,000 lines").wait_for()
    assert len(shown_lines(page)) == 50


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_for_those_who_cannot_see(show: Callable[..., Any], scheme: str) -> None:
    from axe_playwright_python import sync_playwright as axe

    lines, systems = made_text(20)
    content = page_of(lines, systems, groups=["a"] * 10 + ["b"] * 10, commands={"new": "dragoman inspect m"})
    page = show(content, color_scheme=scheme, bypass_csp=True)
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    found = axe.Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_a_phone(show: Callable[..., Any]) -> None:
    lines, systems = made_text(20)
    page = show(page_of(lines, systems), viewport={"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
