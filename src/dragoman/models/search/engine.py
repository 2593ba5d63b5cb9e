"""The PyTorch engine: requests sorted by length and searched in batches of a bounded size.

It is the reference for every other engine. B sentences, S source length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import torch
from torch import Tensor

from dragoman.base.errors import ConfigError
from dragoman.models.mode import evaluating
from dragoman.models.search.attention import with_attention
from dragoman.models.search.beam import search
from dragoman.models.search.rule_masks import allowed_of, mask_of
from dragoman.models.search.scoring import score
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.translation.search.engine import NOTHING, Hypothesis, Request, Tokens
from dragoman.translation.search.options import AttentionOf, Beam, Sample
from dragoman.translation.search.requests import (
    beam_rows,
    check_ids,
    check_phrases,
    check_required,
    draw_key,
    limit_of,
    phrases_of,
    trackers_of,
)


class PyTorchEngine:
    """An `Engine` that runs a model with PyTorch, on the device the model is on.

    The model runs in evaluation mode; afterwards it gets back its own mode.
    """

    def __init__(self, model: AnySeq2Seq) -> None:
        self.model = model

    def search(
        self, requests: Iterable[Request], *, batch_tokens: int = 4096, lookahead: int = 4096
    ) -> Iterator[tuple[int, list[Hypothesis]]]:
        """See `Engine.search`. Draws of `Sample` depend only on the seed and the source."""
        if lookahead < 1:
            raise ConfigError(f"lookahead = {lookahead} cannot be used", hint="it must be at least 1")
        numbered = enumerate(requests)
        while ahead := list(islice(numbered, lookahead)):
            work: dict[tuple[Beam | Sample, bool, int], list[tuple[int, Request]]] = {}
            for number, request in ahead:
                if request.source:
                    kind = request.how, phrases_of(request.rules) is not None, beam_rows(request)
                    work.setdefault(kind, []).append((number, request))
                else:
                    yield number, [NOTHING]
            for (how, _, rows), chosen in work.items():
                lengths = [len(request.source) + 1 for _, request in chosen]
                for group in groups(lengths, batch_tokens // rows):
                    batch = [chosen[i][1] for i in group]
                    yield from zip((chosen[i][0] for i in group), self._search(how, batch), strict=True)

    def score(
        self,
        pairs: Iterable[tuple[Tokens, Tokens]],
        how: Beam,
        *,
        attention: AttentionOf | None = None,
        batch_tokens: int = 2048,
    ) -> Iterator[tuple[int, Hypothesis]]:
        """See `Engine.score`. A batch holds at most `batch_tokens` tokens a side, or one pair."""
        pairs = list(pairs)
        yield from ((number, NOTHING) for number, pair in enumerate(pairs) if not any(pair))
        scorable = [number for number, pair in enumerate(pairs) if any(pair)]
        for group in groups([max(map(len, pairs[number])) + 1 for number in scorable], batch_tokens):
            numbers = [scorable[i] for i in group]
            with evaluating(self.model):
                targets = [pairs[number][1] for number in numbers]
                check_ids("target", targets, self.model.config.target_vocab)
                source = self._pad([pairs[number][0] for number in numbers])
                scored = score(self.model, *source, targets, how, attention=attention)
            yield from zip(numbers, scored, strict=True)

    def _search(self, how: Beam | Sample, batch: Sequence[Request]) -> list[list[Hypothesis]]:
        with torch.no_grad(), evaluating(self.model):
            for request in batch:
                check_required(request, self.model.config)
                check_phrases(request, self.model.config)
            rules_B, limits = [one.rules for one in batch], [limit_of(one) for one in batch]
            shortlists_B = [request.shortlist for request in batch]
            allowed_BV = allowed_of(shortlists_B, rules_B, self.model.config)
            trackers_B = trackers_of(rules_B)
            memory = self.model.encode(*self._pad([request.source for request in batch]))
            found = search(
                self.model,
                memory,
                how,
                limit_B=torch.tensor(limits, device=self.model.device),
                mask=mask_of(
                    rules_B,
                    self.model.config.end_id,
                    limits,
                    trackers_B,
                    [request.unscored for request in batch],
                ),
                allowed_BV=None if allowed_BV is None else allowed_BV.to(self.model.device),
                keys=[draw_key(request.source) for request in batch],
                trackers_B=trackers_B,
            )
            return with_attention(self.model, memory, found, [request.attention for request in batch])

    def _pad(self, sources: Sequence[Tokens]) -> tuple[Tensor, Tensor]:
        config = self.model.config
        check_ids("source", sources, config.source_vocab)
        return pad(sources, config.pad_id, config.end_id, self.model.device)


def groups(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Yield groups of indices of similar length. A padded group fits `budget` or is a single index.

    The longest come first, so that a batch too large for the machine fails at once.
    """
    group: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if group and lengths[group[0]] * (len(group) + 1) > budget:
            yield group
            group = []
        group.append(i)
    if group:
        yield group


def pad(
    sources: Sequence[Tokens], pad_id: int, end_id: int, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Return source_BS, each sentence followed by `end_id`, and source_len_B, which counts the end."""
    longest = max(map(len, sources)) + 1
    rows = [[*source, end_id, *[pad_id] * (longest - 1 - len(source))] for source in sources]
    lengths = [len(source) + 1 for source in sources]
    return torch.tensor(rows, device=device), torch.tensor(lengths, device=device)
