"""Beam search with phrases: dynamic beam allocation (Post and Vilar 2018, https://arxiv.org/abs/1804.06609).

The candidates of a sentence are the best tokens of each row and, at any cost, the tokens that continue a
phrase. They are divided into banks by the tokens of phrases that they have, and the rows of the
beam are dealt to the banks in turn, so that no bank crowds out another. For this a sentence has as many
rows as there are banks, at most `MOST_ROWS`, even if its beam is narrower.

Only rows with all phrases may end. As the other rows still have to pay for their phrases, an end competes
only with rows that have them all. The search ends when no row scores better so far than the `n_best` best
translations; with `patient` than `size` of them, and with `exact` when no row can become one of the
`n_best`.

B sentences, R rows of a sentence, N rows (B x R), V vocabulary, K candidates a row, W of them wanted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

from dragoman.models.layers.memory import Memory
from dragoman.models.search.rows import Choice, Watch, best, choices, finished_rows, start_rows, step_rows
from dragoman.models.search.rule_masks import Mask
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.translation.search.engine import Hypothesis
from dragoman.translation.search.options import Beam
from dragoman.translation.search.phrases import PhrasePlace, Tracker


class _Candidate(NamedTuple):
    total: float
    number: int  # among the candidates of all rows of its sentence
    place: PhrasePlace


class _Step(NamedTuple):
    """The outcome of a sentence."""

    going: list[_Candidate]  # its next rows, best first
    finish_R: list[bool]
    cut_R: list[bool]  # the rows that the limit ends
    goes_on: bool


@dataclass
class _Sentence:
    """The state of an unfinished sentence apart from its rows."""

    how: Beam
    tracker: Tracker
    limit: int
    scores: list[float] = field(default_factory=list)  # of finished translations with all phrases

    def advance(
        self,
        places: Sequence[PhrasePlace],
        total_C: Sequence[float],
        token_C: Sequence[int],
        ended_R: Sequence[float],
        cut_R: Sequence[float],
        length: int,
    ) -> _Step:
        """Choose the next rows and the ends. The rows have `length` tokens and are at these `places`.

        `total_C` are sums of log-probabilities with each of `token_C`, as many for each row; `ended_R` with
        the end, and `cut_R` if the limit forces it.
        """
        k = len(total_C) // len(places)
        candidates = [
            _Candidate(total, index, places[index // k].step(token))
            for index, (total, token) in enumerate(zip(total_C, token_C, strict=True))
            if total > -math.inf
        ]
        rows = self.tracker.rows(self.how.size)
        going = _dealt(candidates, rows)
        full = [one.total for one in going if one.place.done]
        ends = [ended for ended, place in zip(ended_R, places, strict=True) if place.done]
        room = max(1, min(self.how.size, rows - len(going) + len(full)))
        at_limit = length == self.limit
        finish, cut = [], []
        for place, ended, forced in zip(places, ended_R, cut_R, strict=True):
            ahead = sum(other > ended for other in (*full, *ends)) if place.done else 0
            chosen = ended > -math.inf and ahead < room
            cut.append(at_limit and not chosen and forced > -math.inf)
            finish.append(chosen or cut[-1])
            if finish[-1] and place.done:
                self.scores.append(self.how.normalise(forced if cut[-1] else ended, length + 1))
        goes_on = bool(going) and not at_limit and self._may_win(going[0].total, length + 1)
        return _Step(going, finish, cut, goes_on)

    def _may_win(self, total: float, length: int) -> bool:
        """Whether an unfinished translation, with this sum at most, can still change the answer."""
        how = self.how
        wanted = how.size if how.stop == "patient" else how.n_best
        if len(self.scores) < wanted:
            return True
        if how.stop == "exact" and how.size > 1:
            # The most favourable length that is still possible (Huang et al. 2017).
            length = self.limit + 1 if how.length_penalty > 0 else length + 1
        return how.normalise(total, length) > sorted(self.scores)[-wanted]


def _dealt(candidates: list[_Candidate], rows: int) -> list[_Candidate]:
    """Return the candidates that get a row: the best of each bank, from the fullest on, then the second."""
    candidates.sort(key=lambda one: -one.total)
    before: Counter[int] = Counter()
    turns = []
    for one in candidates:
        bank = one.place.progress
        turns.append((before[bank], -bank, one))
        before[bank] += 1
    turns.sort(key=lambda turn: turn[:2])
    return sorted((one for _, _, one in turns[:rows]), key=lambda one: -one.total)


def constrained_beam(
    model: AnySeq2Seq,
    memory: Memory,
    how: Beam,
    limit_B: Tensor,
    mask: Mask | None,
    allowed_BV: Tensor | None,
    trackers_B: Sequence[Tracker],
    watch: Watch | None,
) -> Iterator[tuple[int, Hypothesis]]:
    """Yield translations as they finish, each with the number of its sentence."""
    end, device = model.config.end_id, limit_B.device
    live, logits_NV = start_rows(model, memory, limit_B)
    sentences = [_Sentence(how, *each) for each in zip(trackers_B, limit_B.tolist(), strict=True)]
    most = max(tracker.rows(how.size) for tracker in trackers_B)
    while True:
        logp_NV, own_end_N = choices(logits_NV, live, mask, allowed_BV, model.config, how)
        end_N = logp_NV[:, end].clone()
        logp_NV[:, end] = -math.inf
        b, length = len(sentences), live.token_NT.shape[1]
        rows = len(end_N) // b  # 1 at first, then `most`
        place_N = [
            sentences[row // rows].tracker.after(tuple(prefix))
            for row, prefix in enumerate(live.token_NT.tolist())
        ]
        logp_NK, token_NK = _candidates(logp_NV, [place.wanted for place in place_N], most)
        k = token_NK.shape[1]
        cut_N = torch.where(end_N == -math.inf, own_end_N, end_N)
        total_BC = (live.total_N[:, None] + logp_NK).view(b, rows * k)
        lists = (
            x_N.view(b, -1).tolist()
            for x_N in (total_BC, token_NK, live.total_N + end_N, live.total_N + cut_N)
        )
        steps = [
            one.advance(place_N[number * rows :][:rows], *each, length)
            for number, (one, *each) in enumerate(zip(sentences, *lists, strict=True))
        ]

        finish_N = torch.tensor([finish for step in steps for finish in step.finish_R], device=device)
        is_cut_N = torch.tensor([cut for step in steps for cut in step.cut_R], device=device)
        end_N = torch.where(is_cut_N, cut_N, end_N)
        yield from finished_rows(live, end_N, finish_N, is_cut_N, how)

        chosen = [[one.number for one in step.going] for step in steps]
        index_BQ = torch.tensor([each + [0] * (most - len(each)) for each in chosen], device=device)
        empty_BQ = torch.tensor([[q >= len(each) for q in range(most)] for each in chosen], device=device)
        going = [number for number, step in enumerate(steps) if step.goes_on]
        choice = Choice(
            live=live,
            logits_NV=logits_NV,
            logp_NV=logp_NV,
            logp_NK=logp_NK,
            token_NK=token_NK,
            end_N=end_N,
            finish_N=finish_N,
            index_BQ=index_BQ,
            total_BQ=total_BC.gather(1, index_BQ).masked_fill(empty_BQ, -math.inf),
            going_B=torch.tensor(going, dtype=torch.int64, device=device),
        )
        if watch is not None:
            watch(choice)
        if not going:
            return
        sentences = [sentences[number] for number in going]
        live = choice.continued()
        del choice  # it holds the rows before, whose keys and values are large
        live, logits_NV = step_rows(model, live)


def _candidates(logp_NV: Tensor, wanted: Sequence[tuple[int, ...]], count: int) -> tuple[Tensor, Tensor]:
    """Return (logp_NK, token_NK): the `count` best tokens of each row, then its wanted tokens.

    Where a wanted token is among the best, and in the rest of shorter lists, the second part has -inf.
    """
    logp_NK, token_NK = best(logp_NV, min(count, logp_NV.shape[1]))
    longest = max(map(len, wanted))
    wanted_NW = torch.tensor([[*tokens, *[-1] * (longest - len(tokens))] for tokens in wanted])
    wanted_NW = wanted_NW.to(logp_NV.device, torch.int64)
    twice_NW = (wanted_NW[:, :, None] == token_NK[:, None]).any(-1) | (wanted_NW < 0)
    wanted_NW = wanted_NW.clamp(min=0)
    own_NW = logp_NV.gather(1, wanted_NW).masked_fill(twice_NW, -math.inf)
    return torch.cat((logp_NK, own_NW), 1), torch.cat((token_NK, wanted_NW), 1)
