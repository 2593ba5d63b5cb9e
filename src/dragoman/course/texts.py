"""The chapters of the course: Markdown, in which some blocks of code are live parts of the page.

    ```widget NAME            a part that JavaScript builds; `key = value` lines are its options
    ```predict                a question, a list of answers ([x] marks the right ones), ---, the explanation
    ```exercise               a question, ---, the answer
    ```python KEY             a snippet whose last line of output is the live number KEY of the page
    ```source FILE NAME       the lines that define NAME in a file of the package
    ```formula                one line, set apart

Formulas and sentences have ^{superscripts} and _{subscripts}.
What follows a prediction, up to the next heading, is hidden until the reader has answered.
"""

from __future__ import annotations

import ast
import html
import json
import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from dragoman.base.errors import ConfigError
from dragoman.base.html.document import PACKAGE

CHAPTERS = ("words", "order", "attention", "machine", "since")
_TEXTS = PACKAGE / "course" / "text"
_PAPER = "https://arxiv.org/abs/1706.03762"


@dataclass(frozen=True)
class Snippet:
    """Python that a reader can run: it prints the live number `key` of the page."""

    key: str
    code: str


@dataclass(frozen=True)
class Chapter:
    """A chapter in one language. `html` is the body."""

    name: str
    title: str
    html: str
    snippets: tuple[Snippet, ...]


def course_languages() -> list[str]:
    """Return the languages of the course: en first."""
    return sorted(
        (path.name for path in _TEXTS.iterdir() if path.is_dir()), key=lambda code: (code != "en", code)
    )


def labels(language: str) -> dict[str, str]:
    """Return the texts of buttons, axes and messages by their key."""
    found: dict[str, str] = {}
    for name in ("index", *CHAPTERS):
        found |= json.loads(_read(language, f"{name}.json"))
    return found


def chapter(name: str, language: str = "en") -> Chapter:
    """Return a chapter, or the first page (`index`). Raises ConfigError for an unknown language."""
    markdown = _markdown()
    tokens = markdown.parse(_read(language, f"{name}.md"))
    title = next(token.content for token in tokens if token.type == "inline")
    env = {"labels": labels(language)}
    heads = [i for i, one in enumerate(tokens) if one.type == "heading_open" and one.tag == "h2"]
    body = ""
    for first, behind in pairwise([0, *heads, len(tokens)]):
        part = tokens[first:behind]
        asked = next((i + 1 for i, one in enumerate(part) if one.info == "predict"), len(part))
        shown, after = (
            markdown.renderer.render(some, markdown.options, env) for some in (part[:asked], part[asked:])
        )
        body += f"<section>{shown}" + (f'<div class="after">{after}</div>' if after else "") + "</section>\n"
    fences = [(token.info.split(), token.content) for token in tokens if token.info.startswith("python ")]
    return Chapter(name, title, body, tuple(Snippet(words[1], code) for words, code in fences))


def _read(language: str, name: str) -> str:
    if language not in course_languages():
        raise ConfigError(
            f"the course is not in {language!r}", hint=f"choose one of {', '.join(course_languages())}"
        )
    return (_TEXTS / language / name).read_text(encoding="utf-8")


@cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    markdown.add_render_rule("fence", _fence)
    markdown.add_render_rule("text", lambda _, tokens, at, *rest: _scripts(tokens[at].content))
    markdown.add_render_rule("link_open", _link)
    markdown.add_render_rule("table_open", _table)
    markdown.add_render_rule("table_close", lambda *_: "</table></div>")
    return markdown


def _link(_: object, tokens: Sequence[Token], at: int, options: object, env: object) -> str:
    """`paper:3.2.1` leads to the paper, `#words` to a chapter."""
    target = str(tokens[at].attrs["href"])
    target = _PAPER if target.startswith("paper:") else target
    return f'<a href="{html.escape(target)}"' + ("" if target.startswith("#") else ' rel="noreferrer"') + ">"


def _table(_: object, tokens: Sequence[Token], at: int, options: object, env: dict[str, Any]) -> str:
    """A table in a box that scrolls, so that the page does not."""
    name = env["labels"]["table"]
    return f'<div class="scroll" tabindex="0" role="group" aria-label="{name}"><table class="text">'


def _fence(_: object, tokens: Sequence[Token], at: int, options: object, env: dict[str, Any]) -> str:
    kind, *words = tokens[at].info.split()
    return _KINDS[kind](tokens[at].content, env["labels"], *words)


def _widget(content: str, labels: dict[str, str], name: str) -> str:
    options = dict(line.split(" = ", 1) for line in content.splitlines())
    return (
        f'<div class="widget" data-widget="{name}" data-options="{html.escape(json.dumps(options))}"></div>'
    )


def _predict(content: str, labels: dict[str, str]) -> str:
    asked, _, explained = content.partition("\n---\n")
    question, _, rest = asked.partition("\n- ")
    answers = ""
    for line in f"- {rest}".splitlines():
        right = line.startswith("- [x] ")
        text = _markdown().renderInline(line.removeprefix("- ").removeprefix("[x] "))
        answers += (
            f'<button type="button" data-right="{str(right).lower()}" aria-pressed="false">{text}</button>'
        )
    return (
        f'<div class="predict" role="group" aria-label="{labels["predict"]}">'
        f"<div>{_markdown().render(question)}</div>"
        f'<div class="answers">{answers}</div><p class="verdict" role="status"></p>'
        f'<div class="explained" hidden>{_markdown().render(explained)}</div></div>'
    )


def _exercise(content: str, labels: dict[str, str]) -> str:
    asked, _, answer = content.partition("\n---\n")
    return (
        f'<div class="exercise">{_markdown().render(asked)}'
        f"<details><summary>{labels['answer']}</summary>{_markdown().render(answer)}</details></div>"
    )


def _python(content: str, labels: dict[str, str], key: str) -> str:
    return (
        f'<figure class="snippet"><pre tabindex="0"><code>{html.escape(content)}</code></pre>'
        f'<figcaption>{labels["prints"]} <output data-prints="{key}"></output></figcaption></figure>'
    )


def _source(content: str, labels: dict[str, str], file: str, name: str) -> str:
    """The definition of a function or class, `name` or `Class.name`, with its place."""
    text = (PACKAGE / file).read_text(encoding="utf-8")
    nodes: Sequence[ast.AST] = ast.parse(text).body
    for part in name.split("."):
        found = next(one for one in nodes if getattr(one, "name", None) == part)
        nodes = found.body  # type: ignore[attr-defined]
    lines = text.splitlines()[found.lineno - 1 : found.end_lineno]  # type: ignore[attr-defined]
    code = html.escape(textwrap.dedent("\n".join(lines)))
    return (
        f'<details class="source"><summary><code>{file}</code>, {labels["line"]} {found.lineno}: '  # type: ignore[attr-defined]
        f'<code>{name}</code></summary><pre tabindex="0"><code>{code}</code></pre></details>'
    )


def _scripts(text: str) -> str:
    text = re.sub(r"\^\{(.*?)\}", r"<sup>\1</sup>", html.escape(text))
    return re.sub(r"_\{(.*?)\}", r"<sub>\1</sub>", text)


_KINDS: dict[str, Callable[..., str]] = {
    "widget": _widget,
    "predict": _predict,
    "exercise": _exercise,
    "python": _python,
    "source": _source,
    "formula": lambda content, labels: f'<p class="formula">{_scripts(content.strip())}</p>',
}
