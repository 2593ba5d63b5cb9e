"""Search: from a model and an encoded source to translations.

One search drives every architecture. It starts a decoding state, feeds it tokens and reorders its
rows, and does not depend on the kind of model. Greedy search is `Beam(size=1)`.

Each search is a loop over frozen states. A step takes the `LiveRows` and the log-probabilities of their next
token. It returns the rows that finish and the `LiveRows` that continue.

B sentences, R rows of a sentence, Q rows that continue, N rows (B x R), T tokens so far,
V vocabulary, K candidates a row, C candidates of a sentence (R x K), M rows that finish.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from dragoman.base.errors import ConfigError, ModelError
from dragoman.decoding.best import best
from dragoman.decoding.engine import Hypothesis
from dragoman.decoding.masks import Mask, never_generated
from dragoman.decoding.options import Beam, Sample
from dragoman.decoding.sampling import draw, uniforms
from dragoman.models.memory import Memory
from dragoman.models.seq2seq import AnySeq2Seq, State
from dragoman.models.shapes import ModelConfig


@dataclass(frozen=True)
class LiveRows:
    """Unfinished translations: N rows, those of a sentence side by side."""

    state: State
    token_NT: Tensor  # the tokens of each row so far
    logp_NT: Tensor  # their log-probabilities
    total_N: Tensor  # the sum of logp_NT; -inf in a row without a translation
    sentence_N: Tensor  # the sentence of the memory that a row translates

    def select(self, rows_N: Tensor) -> LiveRows:
        """Return those rows, in that order."""
        return LiveRows(
            self.state.select(rows_N),
            self.token_NT[rows_N],
            self.logp_NT[rows_N],
            self.total_N[rows_N],
            self.sentence_N[rows_N],
        )

    def extend(self, token_N: Tensor, logp_N: Tensor, total_N: Tensor) -> LiveRows:
        """Return the rows, each one token longer."""
        return LiveRows(
            self.state,
            torch.cat((self.token_NT, token_N[:, None]), 1),
            torch.cat((self.logp_NT, logp_N[:, None]), 1),
            total_N,
            self.sentence_N,
        )


@dataclass(frozen=True)
class Choice:
    """One step of a beam search, passed to `watch`: the candidates and the chosen ones."""

    live: LiveRows
    logits_NV: Tensor  # of the model
    logp_NV: Tensor  # of every token but the end, after the rules
    logp_NK: Tensor  # of the best of these in each row
    token_NK: Tensor  # the tokens of logp_NK
    end_N: Tensor  # log-probability of the end
    finish_N: Tensor  # bool: the rows that end here
    token_BQ: Tensor  # the tokens that continue a translation
    row_BQ: Tensor  # the row of its sentence that each of them continues
    total_BQ: Tensor  # their sums; -inf where no translation continues
    going_B: Tensor  # the sentences that are not done


Watch = Callable[[Choice], None]


def search(
    model: AnySeq2Seq,
    memory: Memory,
    how: Beam | Sample,
    *,
    limit_B: Tensor,
    mask: Mask | None = None,
    allowed_BV: Tensor | None = None,
    keys: Sequence[int] | None = None,
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """Return the best translations of each sentence in `memory`: `how.n_best`, or as many as exist.

    Sentence b gets at most `limit_B[b]` tokens. At the limit the end token is forced, at its own
    log-probability. Padding, start and `how.banned` are never generated. `how.stop` says when a beam search
    ends for a sentence. `mask` forbids tokens (see `masks.py`). `allowed_BV` is true for the tokens that a
    sentence may use, the end among them; the probabilities are normalised over these alone.
    `keys` identify the sentences for `Sample`, by default by number: draws are a function of the seed,
    the key and the model. `watch` is called with every step of a beam search.

    The model should be in evaluation mode. Raises ConfigError for a negative limit, ModelError if the
    model gives no probabilities.
    """
    if bool((limit_B < 0).any()):
        raise ConfigError(f"a limit of {int(limit_B.min())} tokens", hint="use at least 0")
    hypotheses: list[list[Hypothesis]] = [[] for _ in limit_B]
    if not hypotheses:
        return hypotheses
    with torch.no_grad():
        match how:
            case Beam():
                finished = _beam(model, memory, how, limit_B, mask, allowed_BV, watch)
            case Sample():
                finished = _sample(
                    model, memory, how, limit_B, mask, allowed_BV, keys or range(len(hypotheses))
                )
        for sentence, hypothesis in finished:
            hypotheses[sentence].append(hypothesis)
    if not all(hypotheses):
        raise ModelError(
            "search: the model gives every translation of a sentence probability 0",
            hint="are its weights damaged, or do the rules forbid what they force?",
        )
    return [sorted(each, key=lambda one: -one.score)[: how.n_best] for each in hypotheses]


def _beam(
    model: AnySeq2Seq,
    memory: Memory,
    how: Beam,
    limit_B: Tensor,
    mask: Mask | None,
    allowed_BV: Tensor | None,
    watch: Watch | None,
) -> Iterator[tuple[int, Hypothesis]]:
    end = model.config.end_id
    live, logits_NV = _start(model, memory, limit_B)
    count_B = torch.zeros_like(limit_B)  # finished translations of each live sentence
    best_BR = live.total_N.new_full((len(limit_B), how.size), -math.inf)  # the scores of the best of them
    longest_B = live.total_N.new_tensor([how.penalty(limit + 1) for limit in limit_B.tolist()])
    # A beam of 1 that looks beyond its first end would not be greedy search.
    compared = how.stop == "patient" or (how.stop == "exact" and how.size > 1)
    while True:
        logp_NV, own_end_N = _choices(logits_NV, live, mask, allowed_BV, model.config, how)

        # Treat the end separately: a sentence continues with `size` rows, however many others end.
        end_N = logp_NV[:, end].clone()
        logp_NV[:, end] = -math.inf
        logp_NK, token_NK = best(logp_NV, min(how.size, logp_NV.shape[1]))
        b, k = len(limit_B), logp_NK.shape[1]
        rows = len(end_N) // b  # 1 at first; `size` once that many translations exist
        total_BR = live.total_N.view(b, rows)
        total_BC = (live.total_N[:, None] + logp_NK).view(b, rows * k)
        next_BQ, candidate_BQ = total_BC.topk(min(how.size, rows * k))

        # An end among the best candidates finishes. At the limit every row finishes.
        end_BR = end_N.view(b, rows)
        places_B = how.size - count_B if how.stop == "shrinking" else torch.full_like(count_B, how.size)
        chosen_BR = _among_first(places_B, total_BR + end_BR, next_BQ)
        if how.stop == "shrinking":
            next_BQ = _within(places_B, total_BR + end_BR, next_BQ)
        at_limit_B = limit_B == live.token_NT.shape[1]
        end_BR = torch.where(at_limit_B[:, None] & (end_BR == -math.inf), own_end_N.view(b, rows), end_BR)
        cut_BR = at_limit_B[:, None] & ~chosen_BR & (total_BR + end_BR > -math.inf)
        finish_BR = chosen_BR | cut_BR
        yield from _finished(live, end_BR.flatten(), finish_BR.flatten(), cut_BR.flatten(), how)

        count_B = count_B + finish_BR.sum(1)
        open_B = count_B < how.size
        if compared:
            length = live.token_NT.shape[1] + 1
            score_BR = ((total_BR + end_BR) / how.penalty(length)).masked_fill(~finish_BR, -math.inf)
            best_BR = torch.cat((best_BR, score_BR), 1).topk(how.size).values
            if how.stop == "patient":
                open_B |= next_BQ[:, 0] / how.penalty(length) > best_BR[:, -1]
            else:
                # A row scores best if it loses nothing more and the penalty divides by the most: that of
                # the longest translation, or of the next length if it falls (Huang et al. 2017).
                most = longest_B if how.length_penalty > 0 else how.penalty(length + 1)
                open_B = next_BQ[:, 0] / most > best_BR[:, how.n_best - 1]
        going_B = ~at_limit_B & open_B & (next_BQ[:, 0] > -math.inf)
        going_B = going_B.nonzero()[:, 0]  # as indices; the other sentences leave the batch
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
        limit_B, count_B, best_BR = limit_B[going_B], count_B[going_B], best_BR[going_B]
        longest_B = longest_B[going_B]
        if how.size > 1 or len(going_B) < b:  # otherwise every row continues in its place
            live = live.select((going_B[:, None] * rows + row_BQ[going_B]).flatten())
        token_N, logp_N, total_N = (x_BQ[going_B].flatten() for x_BQ in (token_BQ, logp_BQ, next_BQ))
        live, logits_NV = _step(model, live.extend(token_N, logp_N, total_N))


def _among_first(places_B: Tensor, ended_BR: Tensor, next_BQ: Tensor) -> Tensor:
    """Return chosen_BR: whether the end of each row is among the `places_B` best of all candidates."""
    better_BR = (next_BQ[:, None] > ended_BR[:, :, None]).sum(-1)
    better_BR += (ended_BR[:, None] > ended_BR[:, :, None]).sum(-1)
    return (better_BR < places_B[:, None]) & (ended_BR > -math.inf)


def _within(places_B: Tensor, ended_BR: Tensor, next_BQ: Tensor) -> Tensor:
    """Return next_BQ with -inf for what is not among the `places_B` best of all candidates."""
    better_BQ = torch.arange(next_BQ.shape[1], device=next_BQ.device)  # because next_BQ is sorted
    better_BQ = better_BQ + (ended_BR[:, None] >= next_BQ[:, :, None]).sum(-1)
    return next_BQ.masked_fill(better_BQ >= places_B[:, None], -math.inf)


def _sample(
    model: AnySeq2Seq,
    memory: Memory,
    how: Sample,
    limit_B: Tensor,
    mask: Mask | None,
    allowed_BV: Tensor | None,
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
        logp_NV, own_end_N = _choices(logits_NV, live, mask, allowed_BV, model.config, how)
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
        live, logits_NV = _step(model, live.extend(token_N, logp_N, live.total_N + logp_N))


def _start(model: AnySeq2Seq, memory: Memory, limit_B: Tensor) -> tuple[LiveRows, Tensor]:
    """Return one empty row for each sentence, and the logits of its first token."""
    state = model.start(memory, int(limit_B.max()) + 1)
    start_B = torch.full_like(limit_B, model.config.start_id)
    logits_BV, state = model.step(start_B, state)
    empty_B0 = limit_B.new_empty((len(limit_B), 0))
    live = LiveRows(
        state,
        token_NT=empty_B0,
        logp_NT=empty_B0.to(logits_BV.dtype),
        total_N=logits_BV.new_zeros(len(limit_B)),
        sentence_N=torch.arange(len(limit_B), device=limit_B.device),
    )
    return live, logits_BV


def _step(model: AnySeq2Seq, live: LiveRows) -> tuple[LiveRows, Tensor]:
    """Feed the last token of each row to the model. Return the logits of the next."""
    logits_NV, state = model.step(live.token_NT[:, -1], live.state)
    return replace(live, state=state), logits_NV


def _choices(
    logits_NV: Tensor,
    live: LiveRows,
    mask: Mask | None,
    allowed_BV: Tensor | None,
    config: ModelConfig,
    how: Beam | Sample,
) -> tuple[Tensor, Tensor]:
    """Return logp_NV of the next token, -inf where forbidden, and own_end_N of the end before the mask."""
    end = config.end_id
    never = never_generated(config, how, logits_NV.device)
    if allowed_BV is not None:
        logits_NV = logits_NV.masked_fill(~allowed_BV[live.sentence_N], -math.inf)
    if how.renormalize:
        logits_NV = logits_NV.index_fill(1, never, -math.inf)
    logp_NV = logits_NV.log_softmax(-1)  # a new tensor, because the following code changes it
    own_end_N = logp_NV[:, end].clone()
    if bool(own_end_N.isnan().any()):  # one bad logit makes its whole row NaN
        raise ModelError(
            f"search: the model gives no probabilities after {live.token_NT.shape[1]} tokens "
            "(its logits are NaN, infinite, or all -inf)",
            hint="are its weights damaged? Train again, or load another checkpoint",
        )
    if mask is not None:
        logp_NV = mask(live.token_NT, logp_NV, live.sentence_N)
    logp_NV.index_fill_(1, never, -math.inf)
    if mask is not None:
        stuck_N = logp_NV.amax(-1) == -math.inf
        logp_NV[:, end] = torch.where(stuck_N, own_end_N, logp_NV[:, end])
    return logp_NV, own_end_N


def _finished(
    live: LiveRows, end_N: Tensor, finish_N: Tensor, cut_N: Tensor, how: Beam | Sample
) -> Iterator[tuple[int, Hypothesis]]:
    """Yield the rows marked in `finish_N`, each with the number of its sentence."""
    row_M = finish_N.nonzero()[:, 0]
    if not len(row_M):
        return
    logp_MT = torch.cat((live.logp_NT[row_M], end_N[row_M, None]), 1).tolist()
    sentences, tokens = live.sentence_N[row_M].tolist(), live.token_NT[row_M].tolist()
    for sentence, row, logps, cut in zip(sentences, tokens, logp_MT, cut_N[row_M].tolist(), strict=True):
        logp = math.fsum(logps)
        score = how.normalise(logp, len(logps))
        yield sentence, Hypothesis(tuple(row), score, logp, tuple(logps), cut)
