"""Models that Marian and Hugging Face trained come in, and answer as these programs did.

fixtures/make.py trained the models and wrote what each program answered, into `expected.json`. The tests
need none of these programs.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.base.errors import ModelError
from dragoman.interop.formats import read_model as read
from dragoman.models.folder.bundle import Bundle
from dragoman.models.search.engine import PyTorchEngine
from dragoman.translation.search.engine import Hypothesis, Request
from dragoman.translation.search.options import Beam

FIXTURES = Path(__file__).parent / "fixtures"
MODELS = sorted(path.parent.name for path in FIXTURES.glob("*/expected.json"))
HUGGING_FACE = [name for name in MODELS if name.startswith("hf-")]
MARIAN = [name for name in MODELS if name.startswith("marian-")]
# Marian translates step by step without the norm of keys and values that its pre-norm models are trained
# with, so that only its scores are a reference for these.
DECODED = [name for name in MODELS if name not in ("marian-pre-norm", "marian-no-final-norm")]


LONGEST = 64  # max_length of the Hugging Face models: it counts the start and the end


@dataclass(frozen=True)
class Case:
    bundle: Bundle
    expected: dict[str, Any]

    @property
    def is_marian(self) -> bool:
        return str(self.expected["program"]).startswith("pymarian")

    @property
    def source(self) -> list[list[int]]:
        """Source ids without the end, which our models add."""
        return [ids[:-1] for ids in self.expected["source"]]

    def translate(self, beam: Beam) -> list[list[Hypothesis]]:
        """Translate with the other program's length limit: Marian's is thrice the source, end included."""
        requests = [
            Request(source=ids, how=beam, max_tokens=3 * (len(ids) + 1) if self.is_marian else LONGEST - 2)
            for ids in self.source
        ]
        answers = dict(PyTorchEngine(self.bundle.model).search(requests))
        return [answers[i] for i in range(len(requests))]

    def was_cut(self, theirs: dict[str, Any]) -> bool:
        """Whether the limit ended a translation. Programs differ in what they then do."""
        tokens = theirs["tokens"].split(" ")
        return tokens[-1] != "</s>" or (not self.is_marian and len(tokens) == LONGEST - 1)

    def pieces(self, ours: Hypothesis) -> str:
        tokenizer = self.bundle.tokenizer
        return " ".join(tokenizer.target_pieces([*ours.tokens, tokenizer.end_id]))


@lru_cache(maxsize=1)
def case(name: str) -> Case:
    expected = json.loads((FIXTURES / name / "expected.json").read_text(encoding="utf-8"))
    return Case(bundle=read(FIXTURES / name), expected=expected)


@pytest.mark.parametrize("name", MODELS)
def test_a_line_becomes_the_same_tokens(name: str) -> None:
    model = case(name)
    lines = [line.strip() for line in model.expected["lines"]]  # as translate does
    # Hugging Face reads "</s>" in a text as the end of the sentence. A text is only text here.
    plain = [i for i, line in enumerate(lines) if model.is_marian or "</s>" not in line]

    ours = model.bundle.tokenizer.encode_source([lines[i] for i in plain])
    assert ours == [model.source[i] for i in plain]


@pytest.mark.parametrize("name", DECODED)
def test_greedy_translations_are_the_same(name: str) -> None:
    model = case(name)
    greedy = replace(model.bundle.generation, size=1, n_best=1)
    compared = 0
    for (ours,), theirs, source in zip(
        model.translate(greedy), model.expected["greedy"], model.source, strict=True
    ):
        if source and not model.was_cut(theirs):
            compared += 1
            assert model.pieces(ours) == theirs["tokens"]
            assert model.bundle.tokenizer.decode(ours.tokens) == theirs["text"]
            assert ours.token_logp == pytest.approx(theirs["word scores"], abs=2e-5)  # of five digits
            assert (ours.score if model.is_marian else ours.logp) == pytest.approx(theirs["score"], abs=1e-4)
    assert compared >= 10


@pytest.mark.parametrize(
    ("name", "normalize"),
    [*((name, None) for name in DECODED), ("marian-joint", 0.6)],
)
def test_the_four_best_translations_are_the_same(name: str, normalize: float | None) -> None:
    model = case(name)
    beam = replace(model.bundle.generation, size=4, n_best=4)
    key = "beam 4"
    if normalize:
        beam, key = replace(beam, length_penalty=normalize), f"beam 4, normalize {normalize}"
    compared = 0
    for ours, theirs, source in zip(model.translate(beam), model.expected[key], model.source, strict=True):
        if source and not any(model.was_cut(one) for one in theirs):
            compared += 1
            assert [model.pieces(one) for one in ours] == [one["tokens"] for one in theirs]
            assert [one.score for one in ours] == pytest.approx([one["score"] for one in theirs], abs=1e-4)
    assert compared >= 10


@pytest.mark.parametrize("name", MARIAN)
def test_scores_of_given_translations_are_the_same(name: str) -> None:
    model = case(name)
    theirs = model.expected["scored"]
    targets = model.bundle.tokenizer.encode_target([one["text"] for one in theirs])
    assert targets == [one["target"][:-1] for one in theirs]

    pairs = list(zip(model.source, targets, strict=False))
    ours = dict(PyTorchEngine(model.bundle.model).score(pairs, model.bundle.generation))
    for i, one in enumerate(theirs):
        assert ours[i].token_logp == pytest.approx(one["word scores"], abs=2e-5)  # of five digits


@pytest.mark.parametrize("name", HUGGING_FACE)
def test_logits_are_the_same(name: str) -> None:
    model = case(name)
    theirs = model.expected["logits"]
    source, target = model.expected["source"][theirs["line"]], theirs["target"]
    start = [model.bundle.tokenizer.start_id, *target[:-1]]
    with torch.no_grad():
        ours_TV = model.bundle.model(
            torch.tensor([source]), torch.tensor([len(source)]), torch.tensor([start])
        )[0]

    torch.testing.assert_close(
        ours_TV[theirs["positions"]], torch.tensor(theirs["values"]), rtol=0, atol=1e-5
    )


def test_a_huge_vocabulary_takes_no_memory(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(Path(__file__).parent / "fixtures" / "hf-opus", tmp_path / "model"))
    config = json.loads((folder / "config.json").read_text())
    config |= {"vocab_size": 10**8, "decoder_vocab_size": 10**8}
    (folder / "config.json").write_text(json.dumps(config))

    with pytest.raises(ModelError, match="a vocabulary of 100,000,000 tokens"):
        read(folder)


@pytest.mark.parametrize(
    ("option", "value", "match"),
    [
        ("enc-depth", 10**4, "layers, but"),
        ("dim-emb", 10**12, "impossible"),
        ("dim-emb", 10**40, "impossible"),
    ],
)
def test_options_of_an_impossible_size(option: str, value: int, match: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(Path(__file__).parent / "fixtures" / "marian-opus", tmp_path / "model"))
    with np.load(folder / "model.npz") as arrays:
        members = dict(arrays)
    lines = members["special:model.yml"].tobytes().rstrip(b"\0").decode().splitlines()
    lines = [f"{option}: {value}" if line.startswith(f"{option}:") else line for line in lines]
    members["special:model.yml"] = np.frombuffer("\n".join(lines).encode() + b"\0", np.int8)
    np.savez(folder / "model.npz", **members)

    with pytest.raises(ModelError, match=match):
        read(folder)
