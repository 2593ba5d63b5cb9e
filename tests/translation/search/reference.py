"""A model small enough to know everything about, and searches written as plainly as can be.

`History` meets the AnySeq2Seq protocol in float64. Its next token depends on the source and on every token
said so far, in order, so a row that is reordered, padded or pruned wrongly gives other probabilities.
The searches below read the same probabilities one prefix at a time, in Python, without a batch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from dragoman.models.layers.memory import Memory

Tokens = tuple[int, ...]
Next = Callable[[Tokens], np.ndarray]  # log-probabilities of what follows a prefix

PLACES = 1009


@dataclass(frozen=True)
class HistoryConfig:
    source_vocab: int
    target_vocab: int
    pad_id: int = 0
    start_id: int = 1
    end_id: int = 2


@dataclass(frozen=True)
class HistoryState:
    place_N: Tensor

    def select(self, rows_N: Tensor) -> HistoryState:
        return HistoryState(self.place_N[rows_N])


class History(nn.Module):
    """The tokens read and said lead from place to place; each place has its logits."""

    def __init__(self, vocab: int = 7, *, seed: int = 1, spread: float = 2.0, end: float = 0.0, **ids: int):
        super().__init__()
        self.config = HistoryConfig(vocab, vocab, **ids)
        generator = torch.Generator().manual_seed(seed)
        self.logits_PV = spread * torch.randn(PLACES, vocab, generator=generator, dtype=torch.float64)
        self.logits_PV[:, self.config.end_id] += end
        self.rows: list[int] = []  # how many rows each step had
        self.encoded: list[tuple[int, ...]] = []  # the shapes of the sources

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def encode(self, source_BS: Tensor, source_len_B: Tensor) -> Memory:
        self.encoded.append(tuple(source_BS.shape))
        visible_BS = torch.arange(source_BS.shape[1]) < source_len_B[:, None]
        place_B = torch.zeros(len(source_BS), dtype=torch.int64)
        for s in range(source_BS.shape[1]):
            place_B = torch.where(visible_BS[:, s], _go(place_B, source_BS[:, s]), place_B)
        return Memory(place_B.double()[:, None, None].expand(-1, source_BS.shape[1], 1), visible_BS)

    def decode(self, target_BT: Tensor, memory: Memory) -> Tensor:
        state, logits = self.start(memory, target_BT.shape[1]), []
        for t in range(target_BT.shape[1]):
            state = HistoryState(_go(state.place_N, target_BT[:, t]))
            logits.append(self.logits_PV[state.place_N])
        return torch.stack(logits, 1)

    def start(self, memory: Memory, max_len: int) -> HistoryState:
        return HistoryState(memory.states_BSE[:, 0, 0].long())

    def step(self, token_N: Tensor, state: HistoryState) -> tuple[Tensor, HistoryState]:
        self.rows.append(len(token_N))
        state = HistoryState(_go(state.place_N, token_N))
        return self.logits_PV[state.place_N], state


def _go(place: Tensor, token: Tensor) -> Tensor:
    return (place * 31 + token + 7) % PLACES


def sources(lengths: Sequence[int], vocab: int, seed: int = 1) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    return [rng.integers(3, vocab, length).tolist() for length in lengths]


def memory_of(model: History, lines: Sequence[Sequence[int]], padding: int = 0) -> Memory:
    """The encoded lines, with `padding` columns more than they need."""
    longest = max(map(len, lines)) + padding
    rows = [[*line, *[model.config.pad_id] * (longest - len(line))] for line in lines]
    return model.encode(torch.tensor(rows), torch.tensor([len(line) for line in lines]))


def next_of(model: History, line: Sequence[int]) -> Next:
    """What `model` says after a prefix, computed in numpy."""
    logits = model.logits_PV.numpy()
    read = 0
    for token in line:
        read = (read * 31 + token + 7) % PLACES

    def following(prefix: Tokens) -> np.ndarray:
        place = read
        for token in (model.config.start_id, *prefix):
            place = (place * 31 + token + 7) % PLACES
        row = logits[place]
        return np.asarray(row - row.max() - math.log(np.exp(row - row.max()).sum()))

    return following


@dataclass(frozen=True)
class Found:
    tokens: Tokens
    score: float
    token_logp: tuple[float, ...]
    truncated: bool


def penalty(length: int, alpha: float, normalization: str) -> float:
    return ((5 + length) / 6) ** alpha if normalization == "gnmt" else float(length**alpha)


def every_translation(
    following: Next, words: Sequence[int], end: int, limit: int, alpha: float, normalization: str
) -> list[tuple[Tokens, float]]:
    """All token sequences up to the limit with their scores, best first."""
    found = []
    for length in range(limit + 1):
        for tokens in itertools.product(words, repeat=length):
            said = [following(tokens[:i])[token] for i, token in enumerate((*tokens, end))]
            found.append((tokens, math.fsum(said) / penalty(length + 1, alpha, normalization)))
    return sorted(found, key=lambda one: -one[1])


def plain_beam(
    following: Next,
    words: Sequence[int],
    end: int,
    limit: int,
    size: int,
    alpha: float,
    normalization: str,
    allow: Callable[[Tokens, np.ndarray], np.ndarray] = lambda prefix, logp: logp,
    stop: str = "full",
    n_best: int = 1,
) -> list[Found]:
    """Beam search over Python lists."""
    live: list[tuple[Tokens, tuple[float, ...]]] = [((), ())]
    done: list[Found] = []

    def finish(tokens: Tokens, logps: tuple[float, ...], truncated: bool) -> None:
        score = sum(logps) / penalty(len(logps), alpha, normalization)
        done.append(Found(tokens, score, logps, truncated))

    for length in range(limit + 1):
        options = []
        for tokens, logps in live:
            logp = allow(tokens, following(tokens).copy())
            stuck = not any(logp[token] > -math.inf for token in (*words, end))
            if stuck:
                logp[end] = following(tokens)[end]
            options += [
                (tokens, (*logps, float(logp[token])), token)
                for token in (*words, end)
                if logp[token] > -math.inf
            ]
        options.sort(key=lambda option: -sum(option[1]))
        places = size - len(done) if stop == "shrinking" else size
        ending = [(tokens, logps) for tokens, logps, token in options[:places] if token == end]
        for tokens, logps in ending:
            finish(tokens, logps, truncated=False)
        if length == limit:
            for tokens, logps in live:
                if tokens not in [other for other, _ in ending]:
                    finish(tokens, (*logps, float(following(tokens)[end])), truncated=True)
            break
        going = options[:places] if stop == "shrinking" else options
        live = [((*tokens, token), logps) for tokens, logps, token in going if token != end][:size]
        if stop == "exact" and size > 1:
            # What a live row scores at most, at any length that it may still have.
            lengths = range(length + 2, limit + 2)
            hopes = [
                sum(logps) / penalty(longer, alpha, normalization) for _, logps in live for longer in lengths
            ]
            ranked = sorted((one.score for one in done), reverse=True)
            if len(done) >= n_best and max(hopes, default=-math.inf) <= ranked[n_best - 1]:
                break
        elif len(done) >= size:
            worst = sorted(one.score for one in done)[-size]
            hopes = [sum(logps) / penalty(len(logps), alpha, normalization) for _, logps in live]
            if stop != "patient" or max(hopes, default=worst) <= worst:
                break
        if not live:
            break
    return sorted(done, key=lambda one: -one.score)


def permutations_of(count: int, seed: int, repeats: int) -> Iterator[list[int]]:
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        yield rng.permutation(count).tolist()
