"""The Markdown of the course as HTML."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from dragoman.base.errors import ConfigError
from dragoman.base.html.document import PACKAGE
from dragoman.course import texts
from dragoman.course.texts import CHAPTERS, chapter, course_languages, labels

WEB = "".join(path.read_text(encoding="utf-8") for path in sorted((PACKAGE / "course/web").glob("*.js")))


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of texts, whose `index.md` a test writes."""
    monkeypatch.setattr(texts, "_TEXTS", tmp_path)
    (tmp_path / "en").mkdir()
    names = ("predict", "answer", "prints", "line", "table")
    for name in ("index", *CHAPTERS):
        own = {key: key.upper() for key in names} if name == "index" else {}
        (tmp_path / "en" / f"{name}.json").write_text(str(own).replace("'", '"'))
    return tmp_path / "en" / "index.md"


def test_what_follows_a_prediction_waits_for_it(written: Path) -> None:
    written.write_text(
        "# Title\n\nFirst.\n\n## Part\n\nBefore.\n\n"
        "```predict\nWhy *so*?\n\n- Yes\n- [x] No <b>\n---\nBecause.\n```\n\nAfter.\n\n## Other\n\nLast.\n"
    )
    one = chapter("index")
    assert one.title == "Title"
    first, asked, last = re.findall(r"<section>.*?</section>", one.html, re.DOTALL)
    assert "First." in first
    assert re.search(r'data-right="false"[^>]*>Yes<.*data-right="true"[^>]*>No &lt;b&gt;<', asked)
    assert re.search(
        r'Before\..*Why <em>so</em>\?.*Because\..*<div class="after"><p>After\.', asked, re.DOTALL
    )
    assert "after" not in last


def test_blocks(written: Path) -> None:
    blocks = {
        "widget a.b": "size = 3 <",
        "python a.key": "print('<')",
        "exercise": "Q?\n---\nA.",
        "source models/transformer.py Residual.forward": "",
        "formula": "x_{i} < 10^{−2}",
    }
    fences = "".join(f"```{name}\n{content}\n```\n\n" for name, content in blocks.items())
    written.write_text(
        f"# T\n\n{fences}[3.2](paper:3.2) [w](#words) x W_{{Q}} < y\n".replace("\n\n```\n", "\n```\n")
    )
    one = chapter("index")
    assert 'data-widget="a.b" data-options="{&quot;size&quot;: &quot;3 &lt;&quot;}"' in one.html
    assert [(snippet.key, snippet.code) for snippet in one.snippets] == [("a.key", "print('<')\n")]
    assert "print(&#x27;&lt;&#x27;)" in one.html
    assert '<output data-prints="a.key">' in one.html
    assert "<summary>ANSWER</summary><p>A.</p>" in one.html
    lines = (PACKAGE / "models/transformer.py").read_text(encoding="utf-8").splitlines()
    place = int(re.findall(r"LINE (\d+): <code>Residual.forward", one.html)[0])
    assert lines[place - 1].strip().startswith("def forward(")
    assert '<p class="formula">x<sub>i</sub> &lt; 10<sup>−2</sup></p>' in one.html
    assert 'href="https://arxiv.org/abs/1706.03762" rel="noreferrer">3.2</a>' in one.html
    assert '<a href="#words">w</a> x W<sub>Q</sub> &lt; y' in one.html


def test_an_unknown_language_is_an_error() -> None:
    with pytest.raises(ConfigError, match="the course is not in '../en'"):
        chapter("index", "../en")


# What every translation of a chapter has, in the same order.
PARTS = (
    r'data-widget="[^"]*" data-options="[^"]*"',
    r'data-right="[^"]*"',
    r'<div class="exercise">',
    r"<summary><code>[^<]*</code>",
    r'<a href="[^"]*"',
    r"<h2>",
)


@pytest.mark.parametrize("language", course_languages())
def test_languages_have_the_same_parts(language: str) -> None:
    """Each label is used, and each block stands in every translation."""
    assert labels(language).keys() == labels("en").keys()
    for key, text in labels(language).items():
        assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", labels("en")[key])), key
    for name in ("index", *CHAPTERS):
        own, english = chapter(name, language), chapter(name)
        for block in PARTS:
            assert re.findall(block, own.html) == re.findall(block, english.html), (name, block)
        assert [one.key for one in own.snippets] == [one.key for one in english.snippets]
        for one in own.snippets:
            ast.parse(one.code)


def test_every_label_is_used() -> None:
    beginnings = set(re.findall(r"say\(`([\w.]+)\$\{", WEB))
    python = ("title", "noscript", "predict", "answer", "prints", "line", "table")
    unused = [
        key
        for key in labels("en")
        if f'"{key}"' not in WEB and key not in python and not any(map(key.startswith, beginnings))
    ]
    assert unused == []
