"""Search: from a model and an encoded source to translations.

One search drives every architecture. It starts a decoding state, feeds it tokens, and reorders its
rows; it never asks what kind of model it has. Greedy search is `Beam(size=1)`.

Each search is a loop over frozen states. A step takes `Live` rows and the log-probabilities of their
next token, and gives the rows that finish and the `Live` rows that go on.

B sentences, R rows of a sentence, Q rows it goes on with, N rows (B x R), T tokens so far,
V vocabulary, K candidates a row, C candidates of a sentence (R x K), M rows that finish.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from dragoman.base.errors import ConfigError, ModelError
from dragoman.decoding.best import best
from dragoman.decoding.rules import Rule
from dragoman.decoding.sampling import draw, uniforms
from dragoman.models.memory import Memory
from dragoman.models.seq2seq import AnySeq2Seq, State
from dragoman.models.shapes import ModelConfig


@dataclass(frozen=True, kw_only=True)
class Beam:
    """Beam search. The defaults are the paper's, section 6.1."""

    size: int = 4
    length_penalty: float = 0.6
    normalization: Literal["gnmt", "power"] = "gnmt"
    n_best: int = 1

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ConfigError(f"beam size {self.size}", hint="it is at least 1, which is greedy search")
        if not math.isfinite(self.length_penalty):
            raise ConfigError(f"length penalty {self.length_penalty}", hint="a number such as 0.6 is needed")
        if self.normalization not in ("gnmt", "power"):
            raise ConfigError(f"normalization {self.normalization!r}", hint='"gnmt" or "power" is needed')
        if not 1 <= self.n_best <= self.size:
            raise ConfigError(
                f"{self.n_best} best of a beam of {self.size}", hint="1 <= n_best <= beam size is needed"
            )

    def normalise(self, logp: float, length: int) -> float:
        """A log-probability divided by the length penalty; `length` counts the end token.

        "gnmt" divides by ((5 + length) / 6)^alpha (Wu et al. 2016, eq. 14), "power" by length^alpha.
        """
        base = (5 + length) / 6 if self.normalization == "gnmt" else length
        return float(logp / base**self.length_penalty)


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Ancestral sampling: `n_best` independent draws. Their score is their log-probability."""

    temperature: float = 1.0
    top_k: int = 0  # 0: no limit
    top_p: float = 1.0
    seed: int = 1
    n_best: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.temperature < math.inf:
            raise ConfigError(
                f"sampling temperature {self.temperature}",
                hint="it is above 0; for greedy search use a beam of 1",
            )
        if self.top_k < 0:
            raise ConfigError(f"top_k {self.top_k}", hint="a number of tokens, or 0 for no limit")
        if not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p {self.top_p}", hint="0 < top_p <= 1 is needed")
        if self.seed < 0:
            raise ConfigError(f"sampling seed {self.seed}", hint="it is at least 0")
        if self.n_best < 1:
            raise ConfigError(f"{self.n_best} samples", hint="it is at least 1")

    def normalise(self, logp: float, length: int) -> float:
        """Draws are not ranked against each other by length."""
        return logp


@dataclass(frozen=True)
class Hypothesis:
    """A finished translation, as tokens."""

    tokens: tuple[int, ...]  # without start and end
    score: float  # logp, normalised for length
    logp: float  # natural logarithm of the probability, the end token's included
    token_logp: tuple[float, ...]  # one a token, then the end token's
    truncated: bool  # the limit ended it; the search would have gone on


@dataclass(frozen=True)
class Live:
    """Translations that may still grow: N rows, those of a sentence side by side."""

    state: State
    token_NT: Tensor  # what each row has said
    logp_NT: Tensor  # at what log-probability
    total_N: Tensor  # the sum of logp_NT; -inf in a row that holds no translation
    sentence_N: Tensor  # which sentence of the memory a row translates

    def select(self, rows_N: Tensor) -> Live:
        """Those rows, in that order."""
        return Live(
            self.state.select(rows_N),
            self.token_NT[rows_N],
            self.logp_NT[rows_N],
            self.total_N[rows_N],
            self.sentence_N[rows_N],
        )

    def say(self, token_N: Tensor, logp_N: Tensor, total_N: Tensor) -> Live:
        """Each row, one token longer."""
        return Live(
            self.state,
            torch.cat((self.token_NT, token_N[:, None]), 1),
            torch.cat((self.logp_NT, logp_N[:, None]), 1),
            total_N,
            self.sentence_N,
        )


@dataclass(frozen=True)
class Choice:
    """What one step of a beam search had before it, and what it took: for those who watch."""

    live: Live
    logits_NV: Tensor  # as the model gave them
    logp_NV: Tensor  # of every token but the end, as the rules left them
    logp_NK: Tensor  # of the best of these in each row,
    token_NK: Tensor  # and which they are
    end_N: Tensor  # log-probability of the end
    finish_N: Tensor  # bool: the rows that end here
    token_BQ: Tensor  # the tokens that go on,
    row_BQ: Tensor  # which row of its sentence each goes on from,
    total_BQ: Tensor  # and the sum; -inf where no translation goes on
    going_B: Tensor  # the sentences that are not done


Watch = Callable[[Choice], None]


def search(
    model: AnySeq2Seq,
    memory: Memory,
    how: Beam | Sample,
    *,
    limit_B: Tensor,
    rules: Sequence[Rule] = (),
    keys: Sequence[int] | None = None,
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """The best translations of each sentence in `memory`, best first: `how.n_best`, or as many as exist.

    Sentence b gets at most `limit_B[b]` tokens. There the end token is forced, at its own
    log-probability. Padding and start are never said. Beam search gives a sentence up when as many
    translations have finished as the beam is wide. `keys` name the sentences to `Sample`, by default
    by number: draws are a function of the seed, the key and the model. `watch` is told every step of a
    beam search.

    The model should be in evaluation mode. Raises ConfigError for a negative limit, ModelError where
    the model gives no probabilities.
    """
    if bool((limit_B < 0).any()):
        raise ConfigError(f"a limit of {int(limit_B.min())} tokens", hint="a limit is at least 0")
    found: list[list[Hypothesis]] = [[] for _ in limit_B]
    if not found:
        return found
    with torch.no_grad():
        match how:
            case Beam():
                finished = _beam(model, memory, how, limit_B, rules, watch)
            case Sample():
                finished = _sample(model, memory, how, limit_B, rules, keys or range(len(found)))
        for sentence, hypothesis in finished:
            found[sentence].append(hypothesis)
    if not all(found):
        raise ModelError(
            "search: the model gives every translation of a sentence probability 0",
            hint="are its weights damaged, or do the rules forbid what they force?",
        )
    return [sorted(each, key=lambda one: -one.score)[: how.n_best] for each in found]


def _beam(
    model: AnySeq2Seq,
    memory: Memory,
    how: Beam,
    limit_B: Tensor,
    rules: Sequence[Rule],
    watch: Watch | None,
) -> Iterator[tuple[int, Hypothesis]]:
    end = model.config.end_id
    live, logits_NV = _start(model, memory, limit_B)
    count_B = torch.zeros_like(limit_B)  # of each live sentence, how many have finished
    while True:
        logp_NV, own_end_N = _choices(logits_NV, live, rules, model.config)

        # The end is kept apart from the rest: a sentence goes on with `size` rows, however many
        # others end.
        end_N = logp_NV[:, end].clone()
        logp_NV[:, end] = -math.inf
        logp_NK, token_NK = best(logp_NV, min(how.size, logp_NV.shape[1]))
        b, k = len(limit_B), logp_NK.shape[1]
        rows = len(end_N) // b  # 1 at first; `size` as soon as so many differ
        total_BR = live.total_N.view(b, rows)
        total_BC = (live.total_N[:, None] + logp_NK).view(b, rows * k)
        next_BQ, candidate_BQ = total_BC.topk(min(how.size, rows * k))

        # An end among the first `size` candidates finishes; at the limit, the end of every row does.
        end_BR = end_N.view(b, rows)
        chosen_BR = _among_first(how.size, total_BR + end_BR, next_BQ)
        at_limit_B = limit_B == live.token_NT.shape[1]
        end_BR = torch.where(at_limit_B[:, None] & (end_BR == -math.inf), own_end_N.view(b, rows), end_BR)
        cut_BR = at_limit_B[:, None] & ~chosen_BR & (total_BR + end_BR > -math.inf)
        finish_BR = chosen_BR | cut_BR
        yield from _finished(live, end_BR.flatten(), finish_BR.flatten(), cut_BR.flatten(), how)

        count_B = count_B + finish_BR.sum(1)
        going_B = ~at_limit_B & (count_B < how.size) & (next_BQ[:, 0] > -math.inf)
        going_B = going_B.nonzero()[:, 0]  # from a mask to numbers; the other sentences leave the batch
        token_BQ = token_NK.view(b, rows * k).gather(1, candidate_BQ)
        logp_BQ = logp_NK.view(b, rows * k).gather(1, candidate_BQ)
        row_BQ = candidate_BQ // k
        if watch is not None:
            end_N, finish_N = end_BR.flatten(), finish_BR.flatten()
            watch(
                Choice(
                    live,
                    logits_NV,
                    logp_NV,
                    logp_NK,
                    token_NK,
                    end_N,
                    finish_N,
                    token_BQ,
                    row_BQ,
                    next_BQ,
                    going_B,
                )
            )
        if not len(going_B):
            return
        limit_B, count_B = limit_B[going_B], count_B[going_B]
        if how.size > 1 or len(going_B) < b:  # else every row goes on in its place
            live = live.select((going_B[:, None] * rows + row_BQ[going_B]).flatten())
        token_N, logp_N, total_N = (x_BQ[going_B].flatten() for x_BQ in (token_BQ, logp_BQ, next_BQ))
        live, logits_NV = _step(model, live.say(token_N, logp_N, total_N))


def _among_first(size: int, ended_BR: Tensor, next_BQ: Tensor) -> Tensor:
    """chosen_BR: which of the translations that would end are among the `size` best of all candidates."""
    better_BR = (next_BQ[:, None] > ended_BR[:, :, None]).sum(-1)
    better_BR += (ended_BR[:, None] > ended_BR[:, :, None]).sum(-1)
    return (better_BR < size) & (ended_BR > -math.inf)


def _sample(
    model: AnySeq2Seq,
    memory: Memory,
    how: Sample,
    limit_B: Tensor,
    rules: Sequence[Rule],
    keys: Sequence[int],
) -> Iterator[tuple[int, Hypothesis]]:
    end = model.config.end_id
    live, logits_NV = _start(model, memory, limit_B)
    if how.n_best > 1:
        rows_N = torch.arange(len(limit_B), device=limit_B.device).repeat_interleave(how.n_best)
        live, logits_NV = live.select(rows_N), logits_NV[rows_N]
    limit_N = limit_B[live.sentence_N]
    draws = [(key, sample) for key in keys for sample in range(how.n_best)]
    uniform_NT = uniforms(how.seed, draws, int(limit_B.max()) + 1).to(logits_NV.device)
    while True:
        logp_NV, own_end_N = _choices(logits_NV, live, rules, model.config)
        uniform_N = uniform_NT[:, live.token_NT.shape[1]]
        token_N = draw(logp_NV, uniform_N, temperature=how.temperature, top_k=how.top_k, top_p=how.top_p)
        at_limit_N = limit_N == live.token_NT.shape[1]
        cut_N = at_limit_N & (token_N != end)
        token_N = torch.where(at_limit_N, end, token_N)
        logp_N = logp_NV.gather(1, token_N[:, None])[:, 0]
        logp_N = torch.where(at_limit_N & (logp_N == -math.inf), own_end_N, logp_N)
        finish_N = (token_N == end) & (logp_N > -math.inf)
        yield from _finished(live, logp_N, finish_N, cut_N, how)

        going_N = (token_N != end).nonzero()[:, 0]
        if not len(going_N):
            return
        if len(going_N) < len(token_N):
            live, token_N, logp_N = live.select(going_N), token_N[going_N], logp_N[going_N]
            limit_N, uniform_NT = limit_N[going_N], uniform_NT[going_N]
        live, logits_NV = _step(model, live.say(token_N, logp_N, live.total_N + logp_N))


def _start(model: AnySeq2Seq, memory: Memory, limit_B: Tensor) -> tuple[Live, Tensor]:
    """One row a sentence that has said nothing, and the logits of its first token."""
    state = model.start(memory, int(limit_B.max()) + 1)
    start_B = torch.full_like(limit_B, model.config.start_id)
    logits_BV, state = model.step(start_B, state)
    nothing_B0 = limit_B.new_empty((len(limit_B), 0))
    live = Live(
        state,
        token_NT=nothing_B0,
        logp_NT=nothing_B0.to(logits_BV.dtype),
        total_N=logits_BV.new_zeros(len(limit_B)),
        sentence_N=torch.arange(len(limit_B), device=limit_B.device),
    )
    return live, logits_BV


def _step(model: AnySeq2Seq, live: Live) -> tuple[Live, Tensor]:
    """Has the model hear the last token of each row; gives the logits of the next."""
    logits_NV, state = model.step(live.token_NT[:, -1], live.state)
    return Live(state, live.token_NT, live.logp_NT, live.total_N, live.sentence_N), logits_NV


def _choices(
    logits_NV: Tensor, live: Live, rules: Sequence[Rule], config: ModelConfig
) -> tuple[Tensor, Tensor]:
    """(logp_NV, own_end_N): what may be said next, -inf where nothing may, and the end without rules."""
    end = config.end_id
    logp_NV = logits_NV.log_softmax(-1)  # a tensor of our own: what follows writes into it
    own_end_N = logp_NV[:, end].clone()
    if bool(own_end_N.isnan().any()):  # one bad logit makes its whole row NaN
        raise ModelError(
            f"search: the model gives no probabilities after {live.token_NT.shape[1]} tokens "
            "(its logits are NaN, infinite, or all -inf)",
            hint="are its weights damaged? Train again, or load another checkpoint",
        )
    for rule in rules:
        logp_NV = rule(live.token_NT, logp_NV, live.sentence_N)
    for never in {config.pad_id, config.start_id} - {end}:
        logp_NV[:, never] = -math.inf
    if rules:
        stuck_N = logp_NV.amax(-1) == -math.inf
        logp_NV[:, end] = torch.where(stuck_N, own_end_N, logp_NV[:, end])
    return logp_NV, own_end_N


def _finished(
    live: Live, end_N: Tensor, finish_N: Tensor, cut_N: Tensor, how: Beam | Sample
) -> Iterator[tuple[int, Hypothesis]]:
    """The rows marked in `finish_N`, each with the number of its sentence."""
    row_M = finish_N.nonzero()[:, 0]
    if not len(row_M):
        return
    logp_MT = torch.cat((live.logp_NT[row_M], end_N[row_M, None]), 1).tolist()
    sentences, tokens = live.sentence_N[row_M].tolist(), live.token_NT[row_M].tolist()
    for sentence, said, logps, cut in zip(sentences, tokens, logp_MT, cut_N[row_M].tolist(), strict=True):
        logp = math.fsum(logps)
        score = how.normalise(logp, len(logps))
        yield sentence, Hypothesis(tuple(said), score, logp, tuple(logps), cut)
