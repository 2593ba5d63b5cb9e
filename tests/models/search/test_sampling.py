from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from dragoman.models.search.sampling import Uniforms, draw


def reference(logits: np.ndarray, temperature: float, top_k: int, top_p: float) -> np.ndarray:
    """The probabilities to draw from, in float64, token by token."""
    p = np.exp((logits - logits.max()) / temperature)
    p /= p.sum()
    order = np.argsort(-p, kind="stable")
    if top_k:
        order = order[:top_k]
    share = p[order].sum() if top_k else 1.0
    kept, held = np.zeros_like(p), 0.0
    for token in order:
        if held >= top_p:
            break
        kept[token] = p[token]
        held += p[token] / share
    return np.asarray(kept / kept.sum())


@pytest.mark.parametrize("vocab", [12, 700])
@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [
        (1.0, 0, 1.0),
        (0.7, 0, 1.0),
        (1.0, 5, 1.0),
        (1.0, 0, 0.8),
        (2.0, 7, 0.6),
        (1.0, 0, 0.999),
        (1.0, 999, 1.0),
    ],
)
def test_drawing_follows_the_reference(vocab: int, temperature: float, top_k: int, top_p: float) -> None:
    """Every draw over a fine grid of uniform numbers: frequencies are the probabilities, to the grid."""
    generator = torch.Generator().manual_seed(4)
    logits_V = 0.5 * torch.randn(vocab, generator=generator, dtype=torch.float64)
    logits_V[3] = -math.inf
    expected = reference(logits_V.numpy(), temperature, top_k, top_p)
    grid = 4_000
    uniform_N = (torch.arange(grid, dtype=torch.float64) + 0.5) / grid
    logp_NV = logits_V.log_softmax(-1).expand(grid, -1)
    token_N = torch.cat(
        [
            draw(logp_NV[part], uniform_N[part], temperature=temperature, top_k=top_k, top_p=top_p)
            for part in torch.arange(grid).split(2000)
        ]
    )
    drawn = np.bincount(token_N.numpy(), minlength=vocab)

    assert set(np.flatnonzero(drawn)) <= set(np.flatnonzero(expected))
    assert set(np.flatnonzero(expected > 1.5 / grid)) <= set(np.flatnonzero(drawn))
    assert np.abs(drawn / grid - expected).max() <= 1.01 / grid


@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (3, 1.0), (0, 0.9), (4, 0.9)])
def test_the_ends_of_the_interval_draw_tokens_that_are_possible(top_k: int, top_p: float) -> None:
    logp_NV = torch.tensor([[-math.inf, 0.0, -1.0, -2.0, -math.inf]]).log_softmax(-1).expand(2, -1)
    uniform_N = torch.tensor([0.0, 1 - 2**-53], dtype=torch.float64)
    token_N = draw(logp_NV, uniform_N, top_k=top_k, top_p=top_p)

    assert set(token_N.tolist()) <= {1, 2, 3}


@pytest.mark.parametrize("temperature", [1e-4, 1e-300, 5e-324])
def test_a_temperature_near_zero_is_the_argmax(temperature: float) -> None:
    logp_NV = torch.randn(20, 50, generator=torch.Generator().manual_seed(1)).log_softmax(-1)
    uniform_N = torch.linspace(0.001, 0.999, 20, dtype=torch.float64)

    assert torch.equal(draw(logp_NV, uniform_N, temperature=temperature), logp_NV.argmax(-1))


def test_uniforms_depend_on_seed_and_key_alone() -> None:
    keys = [(5, 0), (2**64 - 1, 3), (5, 1)]

    def drawn(seed: int, keys: list[tuple[int, ...]]) -> torch.Tensor:
        uniforms = Uniforms(seed, keys)
        return torch.stack([uniforms.next() for _ in range(100)], dim=1)

    uniform_NT = drawn(7, keys)
    assert torch.equal(drawn(7, keys[1:2])[0], uniform_NT[1])
    assert torch.equal(uniform_NT[2], torch.from_numpy(np.random.default_rng((7, 5, 1)).random(100)))
    assert len(set(uniform_NT.flatten().tolist())) == 300
    assert not torch.equal(drawn(8, keys), uniform_NT)


def test_rows_that_end_take_their_random_numbers_along() -> None:
    keys = [(1, 0), (1, 1), (1, 2)]
    whole, uniforms = Uniforms(3, keys), Uniforms(3, keys)
    for step in range(100):
        expected = whole.next()
        if step == 40:
            uniforms.select(torch.tensor([2, 0]))
        assert torch.equal(uniforms.next(), expected if step < 40 else expected[[2, 0]])
