"""Many sentences: sorted by length, searched in batches of a bounded size, given back in order.

B sentences, S source length.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from dragoman.decoding.rules import Rule, forced_prefix
from dragoman.decoding.scoring import score
from dragoman.decoding.search import Beam, Hypothesis, Sample, search
from dragoman.models.seq2seq import AnySeq2Seq

Tokens = Sequence[int]


def search_all(
    model: AnySeq2Seq,
    sources: Sequence[Tokens],
    how: Beam | Sample,
    *,
    max_extra_tokens: int = 50,
    batch_tokens: int = 4096,
    prefixes: Sequence[Tokens] | None = None,
    rules: Sequence[Rule] = (),
    device: torch.device | str = "cpu",
) -> list[list[Hypothesis]]:
    """`search` for each of `sources` (tokens without the end), in their order.

    A translation has at most as many tokens as its source and `max_extra_tokens` more, and room for
    its prefix. A batch holds at most `batch_tokens` source tokens, padding and the rows of the search
    counted, but at least one sentence. `rules` must not depend on the number of a sentence. A draw of
    `Sample` depends on the seed and the source's tokens, not on the other sources.
    """
    rows = how.size if isinstance(how, Beam) else how.n_best
    found: list[list[Hypothesis]] = [[] for _ in sources]
    for group in groups([len(source) + 1 for source in sources], batch_tokens // rows):
        chosen = [sources[i] for i in group]
        source_BS, source_len_B = pad(chosen, model.config.pad_id, model.config.end_id, device)
        limits = [len(source) + max_extra_tokens for source in chosen]
        all_rules = list(rules)
        if prefixes is not None:
            begins = [prefixes[i] for i in group]
            limits = [max(limit, len(begin)) for limit, begin in zip(limits, begins, strict=True)]
            if any(begins):
                all_rules = [forced_prefix(begins, then=rules)]
        with torch.no_grad():
            memory = model.encode(source_BS, source_len_B)
        hypotheses = search(
            model,
            memory,
            how,
            limit_B=torch.tensor(limits, device=device),
            rules=all_rules,
            keys=[_key(source) for source in chosen],
        )
        for i, each in zip(group, hypotheses, strict=True):
            found[i] = each
    return found


def score_all(
    model: AnySeq2Seq,
    sources: Sequence[Tokens],
    targets: Sequence[Tokens],
    how: Beam | None = None,
    *,
    batch_tokens: int = 2048,
    device: torch.device | str = "cpu",
) -> list[Hypothesis]:
    """`score` for each pair of token sequences (without the end), in their order.

    A batch holds at most `batch_tokens` tokens a side, padding counted, but at least one pair.
    """
    found: dict[int, Hypothesis] = {}
    lengths = [max(len(s), len(t)) + 1 for s, t in zip(sources, targets, strict=True)]
    for group in groups(lengths, batch_tokens):
        source_BS, source_len_B = pad(
            [sources[i] for i in group], model.config.pad_id, model.config.end_id, device
        )
        scored = score(model, source_BS, source_len_B, [targets[i] for i in group], how)
        found.update(zip(group, scored, strict=True))
    return [found[i] for i in range(len(sources))]


def groups(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Every index once, the longest first: as many of like length as fit `budget` once padded.

    The longest come first so that a batch too large for the machine fails at once.
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
    """source_BS, each sentence with `end_id` behind it, and source_len_B, the end counted."""
    longest = max(map(len, sources)) + 1
    rows = [[*source, end_id, *[pad_id] * (longest - 1 - len(source))] for source in sources]
    lengths = [len(source) + 1 for source in sources]
    return torch.tensor(rows, device=device), torch.tensor(lengths, device=device)


def _key(source: Tokens) -> int:
    """A number that stands for a sentence, the same in every process."""
    text = ",".join(map(str, source)).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
