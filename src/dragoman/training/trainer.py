"""The training loop: the batches of each update; between updates reports, validation and checkpoints.

`update.py` computes an update, and `selection.py` decides which checkpoints stay.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from itertools import islice

import torch

from dragoman.base.errors import ConfigError, DataError, Elsewhere, Interrupted, TrainingError
from dragoman.folder.weights import average, put_weights, read_weights, weights_of, write_weights
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.training import checkpoint, selection
from dragoman.training.anchor import Anchor
from dragoman.training.batches import Batch, Ints, collate, plan, updates_of
from dragoman.training.checkpoints import Checkpoints
from dragoman.training.distributed import World
from dragoman.training.events import Finished, Observer, Report, SampleTranslation, Stop, Validation
from dragoman.training.metrics import Metrics
from dragoman.training.mixture import Rows, TrainingText
from dragoman.training.options import TrainingConfig
from dragoman.training.profile import Profile
from dragoman.training.progress import Candidate, Progress, Totals
from dragoman.training.tokenised import TokenisedCorpus
from dragoman.training.update import Learner

_OTHER_FOLDER = "or choose another folder with -o"


@dataclass(frozen=True, kw_only=True)
class Scored:
    """Translations of the validation text: their scores and a few of them."""

    bleu: float
    chrf: float
    signature: str = ""  # of BLEU
    samples: tuple[SampleTranslation, ...] = ()


Translate = Callable[[AnySeq2Seq], Scored]


@dataclass(kw_only=True)
class Trainer:
    """One training run. `train` continues it to its end."""

    model: AnySeq2Seq
    corpus: TrainingText
    valid: TokenisedCorpus | None
    config: TrainingConfig
    checkpoints: Checkpoints
    metrics: Metrics
    seed: int
    world: World
    observer: Observer
    translate: Translate | None = None
    stop: Stop = lambda: 0
    profile: Profile | None = None
    anchor: Anchor | None = None
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        if self.config.stop_on == "bleu" and self.translate is None:
            raise ConfigError(
                'training.stop_on = "bleu" needs validation text', hint="pass --valid FILE FILE"
            )
        self.learner = Learner(self.model, self.config, self.world, self.anchor)

    def resume(self) -> bool:
        """Restore the latest checkpoint. Return whether the folder has one.

        Raises DataError for other training text, ConfigError for another number of processes.
        """
        progress = checkpoint.restore(self.checkpoints.latest, self.model, self.learner.optimizers)
        if progress is None:
            self.progress.corpus, self.progress.processes = self.corpus.fingerprint, self.world.size
            return False
        folder = self.checkpoints.folder
        if progress.corpus != self.corpus.fingerprint:
            raise DataError(
                f"{folder}: this run began with other training text",
                hint=f"restore the text, {_OTHER_FOLDER}",
            )
        if progress.processes != self.world.size:
            raise ConfigError(
                f"{folder}: this run began in {progress.processes} processes, not {self.world.size}",
                hint=f"start {progress.processes} processes, {_OTHER_FOLDER}",
            )
        self.progress = progress
        return True

    def train(self) -> Finished:
        """Train to the end and write the final weights.

        Raises Interrupted, after saving, if asked to stop; TrainingError if updates keep failing.
        """
        clock = time.monotonic()
        if self.world.leads:
            self.metrics.trim(self.progress.step)
        if not self.done():  # a finished run may have got a higher limit
            self.progress.finished = False
            self.progress.history = selection.regular(self.progress.history, self.config)
        while not self.done():
            for batches in self._epoch():
                began = time.monotonic()
                with nullcontext() if self.profile is None else self.profile.around():
                    self._update(batches)
                now = time.monotonic()
                self.progress.totals.seconds += now - began
                self.progress.seconds, clock = self._agreed(self.progress.seconds + now - clock), now
                if self.progress.step % self.config.log_every == 0:
                    self._report()
                if self.progress.step % self.config.validate_every == 0:
                    self._validate()
                self._stop_if_asked()
                if self.done():
                    break
            else:
                self.progress.epoch, self.progress.cursor = self.progress.epoch + 1, 0
        if not self.progress.history or self.progress.history[-1].step != self.progress.step:
            self._validate()
        # Save before averaging, so that a longer run resumes from the last update and not from the average.
        self.progress.finished = True
        self._save()
        return self.world.lead(self._finish)

    # ---- one update ------------------------------------------------------------------------------

    def _epoch(self) -> Iterator[list[Batch]]:
        """The rest of this epoch: for each update, the batches of this process."""
        source, target = self.corpus.epoch(self.progress.epoch, seed=self.seed)
        config, world = self.config, self.world
        each = config.accumulate * world.size
        updates = updates_of(
            source,
            target,
            batch_tokens=config.batch_tokens,
            seed=self.seed,
            epoch=self.progress.epoch,
            each=each,
        )
        for groups in islice(updates, self.progress.cursor, None):
            mine = groups[world.rank :: world.size]
            yield [self._collate(source, target, group) for group in mine if len(group)]

    def _collate(self, source: Rows, target: Rows, rows: Ints) -> Batch:
        config = self.model.config
        batch = collate(
            [source[row] for row in rows],
            [target[row] for row in rows],
            pad_id=config.pad_id,
            start_id=config.start_id,
            end_id=config.end_id,
        )
        return batch.to(self.world.device)

    def _update(self, batches: list[Batch]) -> None:
        progress, totals = self.progress, self.progress.totals
        step = progress.step + 1
        update = self.learner.update(batches, step, seed=self.seed, seconds=progress.seconds)
        if update.made:
            progress.skipped = 0
        else:
            self._skip(step)
        progress.step, progress.cursor = step, progress.cursor + 1
        progress.tokens += update.tokens
        totals.loss, totals.nll = totals.loss + update.loss, totals.nll + update.nll
        totals.slots, totals.real = totals.slots + update.slots, totals.real + update.real
        totals.tokens, totals.gradient_norm = totals.tokens + update.tokens, update.gradient_norm

    def _skip(self, step: int) -> None:
        self.progress.skipped += 1
        self.observer.on_message(f"update {step} skipped: its gradient is not finite")
        if self.progress.skipped >= 10:
            if not self.world.leads:
                raise Elsewhere("the gradient is not finite, as the first process reports")
            raise TrainingError(
                f"update {step}: the gradient has not been finite for 10 updates in a row",
                hint="lower the learning rate, set training.clip=1.0, or training.precision=fp32",
            )

    # ---- between updates -------------------------------------------------------------------------

    def done(self) -> bool:
        """Whether the run has reached its end."""
        config, progress = self.config, self.progress
        if progress.step >= config.max_updates:
            return True
        if config.max_epochs is not None and progress.epoch >= config.max_epochs:
            return True
        minutes_up = config.max_minutes is not None and progress.seconds >= 60 * config.max_minutes
        return minutes_up or selection.out_of_patience(progress.history, config)

    def _agreed(self, seconds: float) -> float:
        """The time spent, the same in all processes if the learning rate or the end depends on it."""
        if self.world.size == 1 or self.config.max_minutes is None:
            return seconds
        return float(self.world.share(seconds))

    def _stop_if_asked(self) -> None:
        signal = self.stop()
        if self.world.size > 1:
            signal = int(self.world.greatest(torch.tensor(signal, device=self.world.device)))
        if signal:
            self._save()
            raise Interrupted(
                f"stopped at update {self.progress.step}; everything is saved in {self.checkpoints.folder}",
                signal=signal,
                hint="repeat the command to resume",
            )

    def _report(self) -> None:
        progress, totals = self.progress, self.progress.totals
        progress.totals = Totals()
        report = Report(
            step=progress.step,
            epoch=progress.epoch,
            loss=totals.loss / totals.tokens,
            nll=totals.nll / totals.tokens,
            perplexity=_perplexity(totals.nll / totals.tokens),
            learning_rate=self.config.rate(progress.step, self.model.config.d_model, progress.seconds),
            tokens_per_second=totals.tokens / totals.seconds,
            padding=1 - totals.real / totals.slots,
            gradient_norm=totals.gradient_norm,
            tokens=progress.tokens,
            seconds=progress.seconds,
            eta_seconds=self._eta(),
        )
        if self.world.leads:
            self.metrics.append(report)
        self.observer.on_report(report)

    def _eta(self) -> float:
        progress, config = self.progress, self.config
        eta = progress.seconds * (config.max_updates - progress.step) / progress.step
        return eta if config.max_minutes is None else min(eta, 60 * config.max_minutes - progress.seconds)

    def _validate(self) -> None:
        self.progress.history.append(self.world.lead(self._report_validation))
        self._save(with_step=True)

    def _save(self, *, with_step: bool = False) -> None:
        """Write the latest checkpoint; `with_step`, also the weights of this update, for the average."""
        self.world.lead(lambda: self._write_checkpoint(with_step))

    def _write_checkpoint(self, with_step: bool) -> None:
        if with_step:
            write_weights(self.checkpoints.step(self.progress.step), weights_of(self.model))
        checkpoint.save(self.checkpoints.latest, self.model, self.learner.optimizers, self.progress)
        # Not earlier: the previous checkpoint may need more of them. And not only with a step: a run that
        # was killed before this has left one too many.
        self.checkpoints.prune(selection.kept(self.progress.history, self.config))

    # ---- validation, on the leader ---------------------------------------------------------------

    def _report_validation(self) -> Candidate:
        began = time.monotonic()
        candidate, scored = self._examine()
        validation = Validation(
            step=candidate.step,
            loss=candidate.loss,
            perplexity=candidate.perplexity,
            bleu=candidate.bleu,
            chrf=candidate.chrf,
            signature=scored.signature if scored is not None else "",
            score=candidate.score,
            best=all(candidate.score > earlier.score for earlier in self.progress.history),
            seconds=time.monotonic() - began,
            elapsed=self.progress.seconds,
            samples=scored.samples if scored is not None else (),
        )
        self.metrics.append(validation)
        self.observer.on_validation(validation)
        return candidate

    def _examine(self) -> tuple[Candidate, Scored | None]:
        """Validate the current weights. Without text to translate the Scored is None."""
        self.model.eval()
        with torch.inference_mode():
            loss = None if self.valid is None else self._loss_of(self.valid)
            scored = self.translate(self.model) if self.translate is not None else None
        bleu = scored.bleu if scored is not None else None
        candidate = Candidate(
            step=self.progress.step,
            score=selection.validation_score(self.progress.step, loss, bleu, self.config),
            loss=loss,
            perplexity=None if loss is None else _perplexity(loss),
            bleu=bleu,
            chrf=scored.chrf if scored is not None else None,
        )
        return candidate, scored

    def loss_of(self, corpus: TokenisedCorpus) -> float:
        """Negative log-likelihood of a text under the current weights, in nats a token, without smoothing."""
        self.model.eval()
        with torch.inference_mode():
            return self._loss_of(corpus)

    def _loss_of(self, corpus: TokenisedCorpus) -> float:
        source, target = corpus.source, corpus.target
        groups = plan(source.lengths, target.lengths, batch_tokens=self.config.batch_tokens, seed=0, epoch=0)
        total, tokens = 0.0, 0
        for group in groups:
            batch = self._collate(source, target, group)
            total += float(self.learner.objective(batch)[1])
            tokens += batch.tokens
        return total / tokens

    def _finish(self) -> Finished:
        """Write the average, or the best single checkpoint if that validates better."""
        steps = selection.averaged(self.progress.history, self.config)
        put_weights(self.model, average([self.checkpoints.step(step) for step in steps]), "the average")
        outcome = f"the average of {len(steps)} checkpoints" if len(steps) > 1 else f"update {steps[0]}"
        best = selection.best_candidate(self.progress.history)
        final, signature = best, ""
        if self.valid is not None:
            final, scored = self._examine()
            signature = scored.signature if scored is not None else ""
            self.metrics.append(final)
            if final.score < best.score:
                path = self.checkpoints.step(best.step)
                put_weights(self.model, read_weights(path), path)
                outcome, final = f"update {best.step}, which validates better than the average", best
        write_weights(self.checkpoints.final, weights_of(self.model))
        finished = Finished(
            step=self.progress.step,
            seconds=self.progress.seconds,
            tokens=self.progress.tokens,
            best_step=best.step,
            outcome=outcome,
            loss=final.loss,
            bleu=final.bleu,
            signature=signature,
        )
        self.observer.on_finish(finished)
        return finished


def _perplexity(loss: float) -> float:
    return math.exp(min(loss, 700))  # beyond 700 it would overflow
