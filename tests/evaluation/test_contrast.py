"""Contrastive scoring: the formats, and the share of right translations that are preferred."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dragoman.base.errors import DataError
from dragoman.evaluation.contrast import ContrastiveExample, Preference, by_kind, preferred, read_examples
from dragoman.text.guidance import Context
from dragoman.translation.search.options import Decoding


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_our_own_lines(tmp_path: Path) -> None:
    rows = [
        {"source": "It is old.", "right": "Sie", "wrong": ["Er", "Es"], "context": "A lamp.", "kind": "f"},
        {
            "source": "It is new.",
            "right": "Er",
            "wrong": ["Sie"],
            "context": "A table.",
            "context_target": "Tisch",
        },
    ]
    path = written(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert read_examples(path) == [
        ContrastiveExample("It is old.", "Sie", ("Er", "Es"), Context("A lamp."), "f"),
        ContrastiveExample("It is new.", "Er", ("Sie",), Context("A table.", "Tisch")),
    ]


def test_contrapro(tmp_path: Path) -> None:
    row = {
        "src segment": "It is old .",
        "ref segment": "Sie ist alt .",
        "errors": [{"contrastive": "Er ist alt ."}, {"contrastive": "Es ist alt ."}],
        "src pronoun": "It",
        "ref pronoun": "sie",
        "document id": "7.de",
        "segment id": 3,
    }
    path = written(tmp_path / "contrapro.json", json.dumps([row]))
    expected = ContrastiveExample(
        "It is old .", "Sie ist alt .", ("Er ist alt .", "Es ist alt ."), None, "it:sie"
    )
    assert read_examples(path) == [expected]
    (tmp_path / "documents" / "2011").mkdir(parents=True)
    written(tmp_path / "documents" / "2011" / "7.en", "Hello .\nA lamp .\nIt is old .\n")
    written(tmp_path / "documents" / "2011" / "7.de", "Hallo .\nEine Lampe .\nSie ist alt .\n")
    (one,) = read_examples(path, tmp_path / "documents")
    assert one.context == Context("Hello . A lamp .", "Hallo . Eine Lampe .")
    for other, line in (("It is new .", 3), ("It is old .", 2), ("It is old .", 9), ("It is old .", 0)):
        changed = written(
            tmp_path / "other.json", json.dumps([row | {"src segment": other, "segment id": line}])
        )
        with pytest.raises(DataError, match=rf"example 1: not line {line} of .*7\.en"):
            read_examples(changed, tmp_path / "documents")
    written(tmp_path / "documents" / "2011" / "7.de", "Hallo . Eine Lampe .\nSie ist alt .\n")
    with pytest.raises(DataError, match=r"7\.en has 3 lines, .*7\.de 2"):
        read_examples(path, tmp_path / "documents")
    with pytest.raises(DataError, match="nowhere: no such folder"):
        read_examples(path, tmp_path / "nowhere")
    (tmp_path / "documents" / "2011" / "7.en").unlink()
    with pytest.raises(DataError, match=r"contrapro.json, example 1: no document '7.de'"):
        read_examples(path, tmp_path / "documents")


def test_must_she(tmp_path: Path) -> None:
    head = "ID\tSRC\tREF\tWRONG-REF\tGENDER\tCATEGORY"
    text = f'{head}\nx\tI am "old".\tJe suis vieille.\tJe suis vieux.\tShe\t1F\n'
    path = written(tmp_path / "must.tsv", text)
    assert read_examples(path) == [
        ContrastiveExample('I am "old".', "Je suis vieille.", ("Je suis vieux.",), None, "1F She")
    ]
    long = "a " * 100_000
    written(path, f"SRC\tREF\tWRONG-REF\n{long}\tb\rc\td\n")
    assert read_examples(path) == [ContrastiveExample(long, "b c", ("d",))]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "", "no examples"),
        ("a.jsonl", "{", "a.jsonl:1: not valid JSON"),
        ("a.jsonl", "[" * 100_000, "a.jsonl:1: not valid JSON"),
        ("a.jsonl", "\n[]", "a.jsonl:2: not a source with"),
        ("a.jsonl", '{"source": "a", "right": "b", "wrong": []}', "not a source with"),
        ("a.jsonl", '{"source": "a", "right": "b", "wrong": [3]}', "wrong is not text"),
        ("a.jsonl", '{"source": "a", "wrong": ["c"]}', "right is not text"),
        ("a.jsonl", '{"source": "a", "right": "b", "wrong": ["c"], "kind": 3}', "kind is not text"),
        ("a.jsonl", '{"source": "a", "right": "b", "wrong": ["b"]}', "wrong translation is the right one"),
        ("a.json", "{}", "not a list"),
        ("a.json", "[3]", "example 1: no errors"),
        ("a.json", '[{"errors": [3]}]', "example 1: not a source with"),
        ("a.tsv", "ID\tSRC\n1\ta\n", "a.tsv:2: no REF"),
    ],
)
def test_bad_files(name: str, text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        read_examples(written(tmp_path / name, text))


def test_the_right_one_must_be_likelier_than_every_wrong_one() -> None:
    logp = {"best": -1.0, "good": -2.0, "bad": -3.0}

    def score(sources: Any, targets: list[str], *, context: Any, **_: Any) -> list[Any]:
        shift = [0.0 if context is None or one is None else -10.0 for one in context or targets]
        return [
            SimpleNamespace(token_logp=(logp[one] / 2, logp[one] / 2 + (by if one == "best" else 0.0)))
            for one, by in zip(targets, shift, strict=True)
        ]

    translator = cast(Any, SimpleNamespace(score=score))
    examples = [
        ContrastiveExample("a", "best", ("good", "bad"), Context("x"), "k"),
        ContrastiveExample("b", "good", ("bad", "best"), Context("x"), "l"),
        ContrastiveExample("c", "good", ("good",), None, "l"),
    ]
    assert preferred(translator, examples, Decoding(), in_context=False) == [True, False, False]
    assert preferred(translator, examples, Decoding(), in_context=True) == [False, True, False]
    assert by_kind(examples, [True, False, False]) == [
        Preference("k", 1, 1),
        Preference("l", 2, 0),
        Preference("all", 3, 1),
    ]


@pytest.mark.parametrize(("n", "right"), [(10, 0), (10, 10), (1000, 953), (7, 3)])
def test_the_interval_is_wilsons(n: int, right: int) -> None:
    """Its ends are the shares that are 1.96 of their own standard deviations from the measured one."""
    for end in Preference("", n, right).interval:
        assert 0 <= end <= 1
        assert math.isclose((right / n - end) ** 2, 1.959964**2 * end * (1 - end) / n, abs_tol=1e-9)
