"""The tree of a beam search, recorded during the search."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dragoman.inspection.record import Fate, Node, Tree
from dragoman.models.search.rows import Choice
from dragoman.translation.search.engine import Hypothesis
from dragoman.translation.search.options import Beam

Spell = Callable[[int], tuple[str, str]]  # a token's piece and text


@dataclass
class Recorder:
    """Records the search for one sentence: `search(..., watch=recorder.watch)`."""

    how: Beam
    end_id: int
    spell: Spell

    def __post_init__(self) -> None:
        self.nodes: list[Node] = []
        self._of_prefix: dict[tuple[int, ...], int | None] = {(): None}

    def watch(self, choice: Choice) -> None:
        """Record one step: for each live row its best tokens, the end, and the tokens that rules ban."""
        rows = choice.live.token_NT.tolist()
        kept: set[tuple[int, int]] = set()
        if len(choice.going_B):
            chosen = zip(
                *(x[0].tolist() for x in (choice.row_BQ, choice.token_BQ, choice.total_BQ)), strict=True
            )
            kept = {(row, token) for row, token, total in chosen if total > -math.inf}
        free_NV = choice.logits_NV.log_softmax(-1)
        for row, prefix in enumerate(rows):
            total = float(choice.live.total_N[row])
            if total == -math.inf:
                continue  # an empty row: there are fewer hypotheses than rows
            best = zip(choice.token_NK[row].tolist(), choice.logp_NK[row].tolist(), strict=True)
            for token, logp in best:
                if logp == -math.inf:
                    continue  # the rules allow fewer tokens than the beam is wide
                fate: Fate = "kept" if (row, token) in kept else "pruned"
                self._add(prefix, token, logp, total, fate)
            end = float(choice.end_N[row])
            if end > -math.inf:
                self._add(prefix, self.end_id, end, total, "finished" if choice.finish_N[row] else "pruned")
            allowed_V = choice.logp_NV[row].clone()
            allowed_V[self.end_id] = end
            for logp, token in zip(
                *(x.tolist() for x in free_NV[row].topk(choice.token_NK.shape[1])), strict=True
            ):
                if float(allowed_V[token]) == -math.inf:
                    self._add(prefix, token, logp, total, "banned")

    def tree(self, best: Hypothesis) -> Tree:
        """Return the whole tree, with the path to `best` marked."""
        path = set()
        prefix = best.tokens
        at = self._of_prefix.get((*prefix, self.end_id))
        while at is not None:
            path.add(at)
            at = self.nodes[at].parent
        nodes = tuple(replace(node, best=number in path) for number, node in enumerate(self.nodes))
        return Tree(size=self.how.size, nodes=nodes)

    def _add(self, prefix: Sequence[int], token: int, logp: float, total: float, fate: Fate) -> None:
        piece, text = self.spell(token)
        if fate in ("kept", "finished"):
            self._of_prefix[(*prefix, token)] = len(self.nodes)
        self.nodes.append(
            Node(
                parent=self._of_prefix[tuple(prefix)],
                step=len(prefix),
                token=token,
                piece=piece,
                text=text,
                logp=logp,
                total=total + logp,
                score=self.how.normalise(total + logp, len(prefix) + 1),
                fate=fate,
                best=False,
            )
        )
