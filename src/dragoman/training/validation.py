"""Validation: the loss and the scores of the current weights. Each process takes a share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean

import torch

from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.text.corpora.languages import Direction, direction_name
from dragoman.training.checkpoints import selection
from dragoman.training.checkpoints.progress import Candidate
from dragoman.training.data.batches import batch_of, plan
from dragoman.training.data.mixture import TrainingText
from dragoman.training.events import SampleTranslation
from dragoman.training.processes.distributed import World
from dragoman.training.step.update import Learner


@dataclass(frozen=True, kw_only=True)
class Scored:
    """Translations of the validation text: their scores and a few of them."""

    bleu: float | None
    chrf: float | None
    chrf_words: float | None = None  # chrF++, if the run goes by it
    signature: str = ""  # of BLEU
    search: str = "greedy"  # of the translations
    samples: tuple[SampleTranslation, ...] = ()
    directions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # of several: scores by name


NOT_SCORED = Scored(bleu=None, chrf=None, search="")
Translate = Callable[[AnySeq2Seq], Scored]


@dataclass(frozen=True, kw_only=True)
class Examiner:
    """Validates the model of a learner, with rounded weights if the run rounds them."""

    learner: Learner
    valid: Mapping[Direction, TrainingText]  # the text of each direction; nothing without
    translate: Translate | None  # called in every process, and returns the same in each

    def examine(self, step: int) -> tuple[Candidate, Scored]:
        """Validate the current weights, on every process."""
        model = self.learner.model
        losses = self._losses(self.learner.world)
        model.eval()
        with self.learner.rounded(), torch.inference_mode():
            scored = self.translate(model) if self.translate is not None else NOT_SCORED
        loss = self._counting(losses)
        candidate = Candidate(
            step=step,
            score=0.0,
            loss=loss,
            perplexity=None if loss is None else perplexity(loss),
            bleu=scored.bleu,
            chrf=scored.chrf,
            chrf_words=scored.chrf_words,
            directions={name: {"loss": losses[name], **scores} for name, scores in scored.directions.items()},
        )
        score = selection.validation_score(candidate, self.learner.config.stop_on)
        return replace(candidate, score=score), scored

    def validation_loss(self, *, alone: bool = False) -> float | None:
        """Nats a token of the validation text; None without the text.

        All processes compute it, or `alone` this one. Of several directions it is the mean of their losses,
        or with `stop_direction` the worst.
        """
        return self._counting(self._losses(self._alone if alone else self.learner.world))

    @property
    def _alone(self) -> World:
        return World(0, 1, self.learner.world.device)

    def _losses(self, world: World) -> dict[str, float]:
        return {direction_name(direction): self._loss(text, world) for direction, text in self.valid.items()}

    def _counting(self, losses: Mapping[str, float]) -> float | None:
        if not losses:
            return None
        return (
            max(losses.values()) if self.learner.config.stop_direction == "worst" else fmean(losses.values())
        )

    def loss_of(self, corpus: TrainingText) -> float:
        """Negative log-likelihood of a text in nats a token, without smoothing, by this process alone."""
        return self._loss(corpus, self._alone)

    def _loss(self, corpus: TrainingText, world: World) -> float:
        self.learner.model.eval()
        source, target = corpus.epoch(0, seed=0)
        size = self.learner.config.batch_tokens
        groups = plan(source.lengths, target.lengths, batch_tokens=size, seed=0, epoch=0)
        sums = torch.zeros(len(groups), 2, dtype=torch.float64)
        with self.learner.rounded(), torch.inference_mode():
            for number in range(world.rank, len(groups), world.size):
                batch = batch_of(source, target, groups[number], self.learner.model.config).to(world.device)
                sums[number, 0] = float(self.learner.objective(batch)[1])
                sums[number, 1] = batch.tokens
        # Summed in the order of the groups, so that the loss does not depend on the number of processes.
        total, tokens = world.sum(sums.to(world.device)).cpu().cumsum(0)[-1].tolist()
        return float(total / tokens)


def perplexity(loss: float) -> float:
    """The exponential of a loss in nats."""
    return math.exp(min(loss, 700))  # beyond 700 it would overflow
