from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from tests.inspection.models import bundle, transformer

from dragoman.inspection import inspect
from dragoman.inspection.record import Tree
from dragoman.models.search.engine import PyTorchEngine
from dragoman.models.seq2seq import build_model
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam

SENTENCE = "The dog sees the old woman."


def tree_of(size: int, seed: int) -> tuple[Tree, list[tuple[tuple[int, ...], float]]]:
    """A tree, and all that a search of its own finds."""
    pair = bundle(transformer(), seed=seed, beam=size)
    trace = inspect(pair, SENTENCE, max_extra_tokens=2)
    assert trace.beam is not None
    (source,) = pair.tokenizer.encode_source([SENTENCE])
    request = Request(source=source, how=Beam(size=size, n_best=size), max_tokens=len(source) + 2)
    ((_, found),) = PyTorchEngine(pair.model).search([request])
    return trace.beam, [(one.tokens, one.score) for one in found]


def path(tree: Tree, number: int) -> list[int]:
    """The tokens from the root to a node."""
    tokens, at = [], number
    while True:
        tokens.append(tree.nodes[at].token)
        parent = tree.nodes[at].parent
        if parent is None:
            return tokens[::-1]
        at = parent


@pytest.mark.parametrize(("size", "seed"), list(itertools.product((1, 2, 5), (1, 4))))
def test_the_tree_is_that_of_the_search(size: int, seed: int) -> None:
    tree, found = tree_of(size, seed)
    nodes = tree.nodes

    for node in nodes:
        before = 0.0 if node.parent is None else nodes[node.parent].total
        assert node.total == pytest.approx(before + node.logp, abs=1e-4)
        assert node.step == (0 if node.parent is None else nodes[node.parent].step + 1)
        assert node.score == pytest.approx(Beam(size=size).normalise(node.total, node.step + 1), abs=1e-9)
        assert node.parent is None or nodes[node.parent].fate == "kept"
    for step in {node.step for node in nodes}:
        assert sum(node.step == step and node.fate == "kept" for node in nodes) <= size

    finished = {
        tuple(path(tree, n)[:-1]): node.score for n, node in enumerate(nodes) if node.fate == "finished"
    }
    for tokens, score in found:  # a search may finish more than it returns
        assert finished[tokens] == pytest.approx(score, abs=1e-4)

    best = [n for n, node in enumerate(nodes) if node.best]
    assert path(tree, best[-1])[:-1] == list(found[0][0])
    assert [nodes[n].step for n in best] == list(range(len(best)))


def test_ties_in_a_large_vocabulary() -> None:
    """Every candidate is as good as any other, and which are taken is the search's choice."""
    pair = bundle(transformer(), beam=5)
    model: Any = pair.model
    wide = build_model(replace(model.config, source_vocab=3000, target_vocab=3000))
    for weight in wide.parameters():
        torch.nn.init.zeros_(weight)
    spelt = SimpleNamespace(
        config=pair.tokenizer.config,
        normalise=lambda lines, side: lines,
        placeholders=(),
        source_pieces=lambda ids: ["a"] * len(ids),
        target_pieces=lambda ids: [str(i) for i in ids],
        vocabularies=[SimpleNamespace(encode=lambda lines: [[5, 6]], surfaces=lambda line: [line, ""])],
        target_spans=lambda ids: [(0, 1)] * len(ids),
        decode=lambda ids: "x" * len(ids),
    )
    trace = inspect(replace(pair, model=wide, tokenizer=cast(Any, spelt)), "a", max_extra_tokens=2)
    assert trace.beam is not None
    assert sum(node.step == 0 and node.fate == "kept" for node in trace.beam.nodes) == 5


@pytest.mark.parametrize("seed", [1, 4])
def test_those_kept_are_the_best_that_go_on(seed: int) -> None:
    tree, _ = tree_of(3, seed)
    end = 2
    for step in {node.step for node in tree.nodes}:
        going = [node for node in tree.nodes if node.step == step and node.token != end]
        kept = [node.total for node in going if node.fate == "kept"]
        pruned = [node.total for node in going if node.fate == "pruned"]
        if kept and pruned:
            assert min(kept) >= max(pruned) - 1e-5
