from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from tests.inspection.models import bundle, transformer

from dragoman.inspection import inspect
from dragoman.inspection.positions import laboratory
from dragoman.inspection.views.report import report
from dragoman.translation.search.rules import MinimumLength

HOSTILE = "A </script ><!--<script><img src=x onerror=alert(1)> & <!-- dog\u2028."


class Parts(HTMLParser):
    """What a browser would make of the page: its elements, and what the scripts and styles hold."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.text: dict[str, str] = {}
        self.name = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.append(dict(attrs))
        self.name = f"{tag}#{dict(attrs).get('id', '')}"

    def handle_data(self, data: str) -> None:
        self.text[self.name] = self.text.get(self.name, "") + data


def test_what_a_user_typed_is_text() -> None:
    trace = inspect(bundle(transformer()), HOSTILE, max_extra_tokens=2)
    parts = Parts(trace.to_html())

    assert "img" not in parts.tags
    assert sorted(parts.tags) == sorted(
        [
            "html",
            "head",
            "meta",
            "meta",
            "meta",
            "title",
            "style",
            "body",
            "noscript",
            "main",
            "script",
            "script",
        ]
    )
    assert not set("<>&\u2028") & set(parts.text["script#data"])
    data = json.loads(parts.text["script#data"])
    assert data["traces"][0]["source"]["text"] == HOSTILE
    assert not any("src" in one or "href" in one for one in parts.attributes)


def test_the_policy_allows_the_files_own_script_and_style_alone() -> None:
    page = inspect(bundle(transformer()), "A dog.", max_extra_tokens=2).to_html()
    parts = Parts(page)
    policy = next(one["content"] for one in parts.attributes if one.get("http-equiv"))
    assert policy is not None
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for kind, rule in (("style", "style-src"), ("script", "script-src")):
        (content,) = re.findall(rf"<{kind}(?: type=\"module\")?>(.*?)</{kind}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert "unsafe" not in policy


@pytest.mark.parametrize(("tokens", "most"), [(20, 500_000), (100, 8_000_000)])
def test_size(tokens: int, most: int) -> None:
    """Six layers of eight heads, the paper's width."""
    config: Any = transformer(d_model=512, heads=8, d_ff=16, encoder_layers=6, decoder_layers=6)
    pair = bundle(config, beam=4)
    text = pair.tokenizer.decode(pair.tokenizer.encode_source(["dog " * tokens])[0][: tokens - 1])
    long = MinimumLength(tokens - 1)
    trace = inspect(pair, text, max_extra_tokens=0, rules=[long])
    assert len(trace.source.tokens) == len(trace.target.tokens) == tokens
    assert len(trace.to_html().encode()) < most


def test_two_side_by_side_and_none() -> None:
    pair = bundle(transformer())
    one, other = (inspect(pair, text, max_extra_tokens=2) for text in ("A dog.", "A cat."))
    both = json.loads(Parts(one.to_html(other)).text["script#data"])
    assert [trace["source"]["text"] for trace in both["traces"]] == ["A dog.", "A cat."]
    alone = json.loads(Parts(report([], laboratory(16, 8))).text["script#data"])
    assert alone["traces"] == []
    assert alone["positions"]["tables"][0]["values"]["shape"] == [8, 16]
