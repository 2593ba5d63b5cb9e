"""The comparison with another program: what it must notice, and what it must allow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from tests.interop.memorised import SOURCES, random_bundle, tokenizer

from dragoman.base.errors import DragomanError
from dragoman.interop.verify import TOO_LONG, lines_to_compare, verify
from dragoman.models.folder.bundle import Bundle
from dragoman.models.search.engine import PyTorchEngine
from dragoman.translation.search.engine import Request, Tokens
from dragoman.translation.search.options import Beam


@dataclass
class Same:
    """A program that is ours under another name, until a test changes what it answers."""

    bundle: Bundle
    name: str = "Other 1.0"
    tokens: Callable[[list[int]], list[int]] = lambda ids: ids
    translation: Callable[[list[int]], list[int]] = lambda ids: ids
    logp: Callable[[float], float] = lambda logp: logp
    text: Callable[[str], str] = lambda text: text

    def encode(self, lines: Sequence[str]) -> list[list[int]]:
        return [self.tokens(ids) for ids in self.bundle.tokenizer.encode_source(lines)]

    def decode(self, targets: Sequence[Tokens]) -> list[str]:
        return [self.text(self.bundle.tokenizer.decode(ids)) for ids in targets]

    def translate(self, sources: Sequence[Tokens], max_tokens: Sequence[int]) -> list[list[int]]:
        requests = [
            Request(source=source, how=Beam(size=1), max_tokens=limit)
            for source, limit in zip(sources, max_tokens, strict=True)
        ]
        answers = dict(PyTorchEngine(self.bundle.model).search(requests))
        return [self.translation(list(answers[n][0].tokens)) for n in range(len(sources))]

    def score(self, pairs: Sequence[tuple[Tokens, Tokens]]) -> list[float]:
        scored = dict(PyTorchEngine(self.bundle.model).score(pairs, Beam()))
        return [self.logp(scored[n].logp) for n in range(len(pairs))]


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return random_bundle(tokenizer())


def test_equal_programs_agree(bundle: Bundle) -> None:
    agreement = verify(bundle, Same(bundle), SOURCES)
    assert (agreement.lines, agreement.ties, agreement.worst) == (len(SOURCES), 0, 0.0)
    assert str(agreement).startswith(f"Other 1.0: {len(SOURCES)} translations equal")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"tokens": lambda ids: ids[::-1]}, "tokens"),
        ({"translation": lambda ids: [*ids[:-1], ids[-1] + 1]}, "translation"),
        ({"translation": lambda ids: ids[1:]}, "translation"),
        ({"translation": lambda ids: []}, "translation"),
        ({"logp": lambda logp: logp - 0.5}, "log-probability"),
        ({"logp": lambda logp: float("nan")}, "log-probability"),
        ({"text": str.upper}, "text"),
    ],
)
def test_a_disagreement_is_shown(bundle: Bundle, change: dict[str, object], what: str) -> None:
    with pytest.raises(DragomanError, match=rf"Other 1\.0 disagrees on the {what} of '"):
        verify(bundle, replace(Same(bundle), **change), SOURCES)


@pytest.mark.parametrize("failing", ["translation", "logp"])
def test_an_error_of_the_program_names_it(bundle: Bundle, failing: str) -> None:
    def fail(_: object) -> Any:
        raise IndexError("index out of range")

    with pytest.raises(DragomanError, match=r"Other 1\.0: index out of range") as caught:
        verify(bundle, replace(Same(bundle), **{failing: fail}), SOURCES)
    assert caught.value.hint == TOO_LONG


def test_another_weight_is_noticed(bundle: Bundle) -> None:
    other = random_bundle(tokenizer())
    with torch.no_grad():
        other.model.decoder[0].feed_forward.outer.bias[3] += 0.05
    with pytest.raises(DragomanError, match="disagrees"):
        verify(bundle, Same(other), SOURCES)


def test_a_tie_is_counted_not_refused() -> None:
    tied = random_bundle(tokenizer())
    sources = tied.tokenizer.encode_source(SOURCES)
    one = Same(tied).translate(sources, [5] * len(sources))[0][0]
    other = next(token for token in range(4, tied.tokenizer.target_size) if token != one)
    with torch.no_grad():  # two tokens with the same embedding are equally likely everywhere
        weight = tied.model.target_embedding.weight
        weight[other] = weight[one]
    swap = {one: other, other: one}
    program = replace(Same(tied), translation=lambda ids: [swap.get(i, i) for i in ids])
    agreement = verify(tied, program, SOURCES)
    assert agreement.ties > 0
    assert "up to ties" in str(agreement)


def test_renormalised_models_are_compared_as_such(bundle: Bundle) -> None:
    renormalised = replace(bundle, generation=Beam(renormalize=True))
    with pytest.raises(DragomanError, match="log-probability"):
        verify(renormalised, Same(bundle), SOURCES)


@pytest.mark.parametrize(("language", "line"), [("en", "HOW MUCH DOES IT COST?"), ("de", "Hello")])
def test_lines_to_compare(bundle: Bundle, language: str, line: str) -> None:
    lines = lines_to_compare(replace(bundle, source_language=language))
    assert line in lines
    assert len(set(lines)) == len(lines) > 20
