"""What stands before each pair of a text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.base.errors import DataError
from dragoman.text.corpora.context import SENTENCES, context_of, with_context
from dragoman.text.corpora.corpus import open_corpus, open_pairs
from dragoman.text.guidance import Context
from dragoman.training.runs.tuning.held_out import kept_pairs
from dragoman.translation.lines import given_context
from dragoman.translation.sentences import extended


def contexts(path: Path) -> list[tuple[str, str]]:
    corpus = open_corpus([path], languages=("en", "de"))
    return [(context.source, context.target) for _, context in with_context(corpus)]


def test_the_pairs_before_up_to_a_blank_one() -> None:
    pairs = [("a", "A"), (" b ", "B"), ("", ""), ("c", "C"), ("", "D"), ("e", "E")]
    found = [tuple(context) for _, context in with_context(open_pairs(pairs))]
    assert found == [("", ""), ("a", "A"), ("", ""), ("", ""), ("c", "C"), ("c", "C")]


def test_only_the_last_pairs() -> None:
    letters = "abcdefgh"
    found = [context for _, context in with_context(open_pairs([(one, one.upper()) for one in letters]))]
    assert found[-1] == Context(
        " ".join(letters[-1 - SENTENCES : -1]), " ".join(letters[-1 - SENTENCES : -1]).upper()
    )


def test_pairs_in_no_order_have_no_context() -> None:
    """Replayed and held-out pairs do not stand beside each other."""
    assert {context for _, context in with_context(kept_pairs("held", [("a", "A"), ("b", "B")]))} == {
        ("", "")
    }


def test_json_lines_have_documents_and_contexts(tmp_path: Path) -> None:
    rows = [
        {"source": "a", "target": "A", "document": "1"},
        {"source": "b", "target": "B", "document": "1", "context": "the menu"},
        {"source": "c", "target": "C", "document": 2, "context": None},
        {"source": "d", "target": "D", "document": 2},
    ]
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert contexts(path) == [("", ""), ("a the menu", "A"), ("", ""), ("c", "C")]
    path.write_text('{"source": "a", "target": "A", "document": ["3"]}\n')
    with pytest.raises(DataError, match=r'train.jsonl:1: "document" is not text'):
        contexts(path)


def test_the_properties_of_a_memory(tmp_path: Path) -> None:
    unit = '<tu>{}<tuv xml:lang="en"><seg>{}</seg></tuv><tuv xml:lang="de"><seg>{}</seg></tuv></tu>'
    place = '<prop type="x-document">one</prop><prop type="x-context">menu</prop>'
    units = unit.format(place, "a", "A"), unit.format(place, "b", "B"), unit.format("", "c", "C")
    path = tmp_path / "a.tmx"
    path.write_text(f'<tmx version="1.4"><header srclang="en"/><body>{"".join(units)}</body></tmx>')
    assert contexts(path) == [("menu", ""), ("a menu", "A"), ("", "")]


@pytest.mark.parametrize("text", ["a  b", "a\u00a0b\u202f!", "\ta\tb "])
def test_spaces_are_those_of_translation(text: str) -> None:
    (_, before) = [context for _, context in with_context(open_pairs([(text, text), ("c", "d")]))]
    assert before == given_context((text, text))
    assert extended(None, [text]) == given_context(text)


def test_a_context_is_one_line() -> None:
    assert context_of("a note\nof two lines", ()) == Context("a note of two lines")
