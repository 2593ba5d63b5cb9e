"""Search: from a model and an encoded source to translations.

One search drives every architecture. It starts a decoding state, feeds it tokens and reorders its
rows, and does not depend on the kind of model. Greedy search is `Beam(size=1)`.

B sentences, R rows of a sentence, Q rows that continue, N rows (B x R), T tokens so far,
V vocabulary, K candidates a row, C candidates of a sentence (R x K), M rows that finish.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from dragoman.base.errors import ConfigError
from dragoman.models.layers.memory import Memory
from dragoman.models.search.constrained import constrained_beam
from dragoman.models.search.rows import Choice, Watch, best, choices, finished_rows, start_rows, step_rows
from dragoman.models.search.rule_masks import Mask
from dragoman.models.search.sampling import Uniforms, draw
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.translation.search.engine import Hypothesis, no_translation
from dragoman.translation.search.options import Beam, Sample
from dragoman.translation.search.phrases import Tracker


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
    trackers_B: Sequence[Tracker] | None = None,
) -> list[list[Hypothesis]]:
    """Return the best translations of each sentence in `memory`: `how.n_best`, or as many as exist.

    Sentence b gets at most `limit_B[b]` tokens. At the limit the end token is forced, at its own
    log-probability. Padding, start and `how.banned` are never generated. `how.stop` says when a beam search
    ends for a sentence. `mask` forbids tokens (see `masks.py`). `allowed_BV` is true for the tokens that a
    sentence may use, the end among them; the probabilities are normalised over these alone.
    `keys` identify the sentences for `Sample`, by default by number: draws are a function of the seed,
    the key and the model. `watch` is called with every step of a beam search. `trackers_B` follow the
    phrases of the sentences, which `mask` then knows (see `constrained.py`).

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
            case Beam() if trackers_B is not None:
                finished = constrained_beam(model, memory, how, limit_B, mask, allowed_BV, trackers_B, watch)
            case Beam():
                finished = _beam(model, memory, how, limit_B, mask, allowed_BV, watch)
            case Sample():
                finished = _sample(
                    model, memory, how, limit_B, mask, allowed_BV, keys or range(len(hypotheses))
                )
        for sentence, hypothesis in finished:
            hypotheses[sentence].append(hypothesis)
    if not all(hypotheses):
        raise no_translation()
    for sentence, each in enumerate(hypotheses):
        each.sort(key=lambda one: -one.score)
        if trackers_B is not None:
            each.sort(key=lambda one: -trackers_B[sentence].after(one.tokens).met)
    return [each[: how.n_best] for each in hypotheses]


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
    live, logits_NV = start_rows(model, memory, limit_B)
    count_B = torch.zeros_like(limit_B)  # finished translations of each live sentence
    best_BR = live.total_N.new_full((len(limit_B), how.size), -math.inf)  # the scores of the best of them
    longest_B = live.total_N.new_tensor([how.penalty(limit + 1) for limit in limit_B.tolist()])
    # A beam of 1 that looks beyond its first end would not be greedy search.
    compared = how.stop == "patient" or (how.stop == "exact" and how.size > 1)
    while True:
        logp_NV, own_end_N = choices(logits_NV, live, mask, allowed_BV, model.config, how)

        # Treat the end separately: a sentence continues with `size` rows, however many others end.
        end_N = logp_NV[:, end].clone()
        logp_NV[:, end] = -math.inf
        logp_NK, token_NK = best(logp_NV, min(how.size, logp_NV.shape[1]))
        b, k = len(limit_B), logp_NK.shape[1]
        rows = len(end_N) // b  # 1 at first; `size` once that many translations exist
        total_BR = live.total_N.view(b, rows)
        total_BC = (live.total_N[:, None] + logp_NK).view(b, rows * k)
        next_BQ, index_BQ = total_BC.topk(min(how.size, rows * k))

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
        yield from finished_rows(live, end_BR.flatten(), finish_BR.flatten(), cut_BR.flatten(), how)

        count_B = count_B + finish_BR.sum(1)
        open_B = count_B < how.size
        if compared:
            length = live.token_NT.shape[1] + 1
            score_BR = ((total_BR + end_BR) / how.penalty(length)).masked_fill(~finish_BR, -math.inf)
            best_BR = torch.cat((best_BR, score_BR), 1).topk(how.size).values
            if how.stop == "patient":
                open_B |= next_BQ[:, 0] / how.penalty(length) > best_BR[:, -1]
            else:
                # A row scores best if it loses nothing more and the penalty divides by the most: at the
                # longest translation, or at the next length if it falls (Huang et al. 2017).
                most = longest_B if how.length_penalty > 0 else how.penalty(length + 1)
                open_B = next_BQ[:, 0] / most > best_BR[:, how.n_best - 1]
        going_B = ~at_limit_B & open_B & (next_BQ[:, 0] > -math.inf)
        going_B = going_B.nonzero()[:, 0]  # as indices; the other sentences leave the batch
        choice = Choice(
            live=live,
            logits_NV=logits_NV,
            logp_NV=logp_NV,
            logp_NK=logp_NK,
            token_NK=token_NK,
            end_N=end_BR.flatten(),
            finish_N=finish_BR.flatten(),
            index_BQ=index_BQ,
            total_BQ=next_BQ,
            going_B=going_B,
        )
        if watch is not None:
            watch(choice)
        if not len(going_B):
            return
        limit_B, count_B, best_BR = limit_B[going_B], count_B[going_B], best_BR[going_B]
        longest_B = longest_B[going_B]
        live = choice.continued()
        del choice  # it holds the rows before, whose keys and values are large
        live, logits_NV = step_rows(model, live)


def _among_first(places_B: Tensor, ended_BR: Tensor, next_BQ: Tensor) -> Tensor:
    """Return chosen_BR: whether the end of each row is among the `places_B` best of all candidates."""
    better_BR = (next_BQ[:, None] > ended_BR[:, :, None]).sum(-1)
    better_BR += (ended_BR[:, None] > ended_BR[:, :, None]).sum(-1)
    return (better_BR < places_B[:, None]) & (ended_BR > -math.inf)


def _within(places_B: Tensor, ended_BR: Tensor, next_BQ: Tensor) -> Tensor:
    """Return next_BQ with -inf for rows that are not among the `places_B` best of all candidates."""
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
    live, logits_NV = start_rows(model, memory, limit_B)
    if how.n_best > 1:
        rows_N = torch.arange(len(limit_B), device=limit_B.device).repeat_interleave(how.n_best)
        live, logits_NV = live.select(rows_N), logits_NV[rows_N]
    limit_N = limit_B[live.sentence_N]
    draws = [(key, sample) for key in keys for sample in range(how.n_best)]
    uniforms = Uniforms(how.seed, draws)
    while True:
        logp_NV, own_end_N = choices(logits_NV, live, mask, allowed_BV, model.config, how)
        uniform_N = uniforms.next().to(logits_NV.device)
        token_N = draw(logp_NV, uniform_N, temperature=how.temperature, top_k=how.top_k, top_p=how.top_p)
        at_limit_N = limit_N == live.token_NT.shape[1]
        cut_N = at_limit_N & (token_N != end)
        token_N = torch.where(at_limit_N, end, token_N)
        logp_N = logp_NV.gather(1, token_N[:, None])[:, 0]
        logp_N = torch.where(at_limit_N & (logp_N == -math.inf), own_end_N, logp_N)
        finish_N = (token_N == end) & (logp_N > -math.inf)
        yield from finished_rows(live, logp_N, finish_N, cut_N, how)

        going_N = (token_N != end).nonzero()[:, 0]
        if not len(going_N):
            return
        if len(going_N) < len(token_N):
            live, token_N, logp_N = live.select(going_N), token_N[going_N], logp_N[going_N]
            limit_N = limit_N[going_N]
            uniforms.select(going_N)
        live, logits_NV = step_rows(model, live.extend(token_N, logp_N, live.total_N + logp_N))
