"""The training loop: the batches of each update; between updates reports, validation and checkpoints.

`update.py` computes an update, and `selection.py` decides which checkpoints stay.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import accumulate, chain, islice
from pathlib import Path

from torch import Tensor

from dragoman.base.errors import ConfigError, DataError, Elsewhere, Interrupted, TrainingError
from dragoman.base.machine import peak_memory
from dragoman.models.folder.weights import average, put_weights, read_weights, weights_of, write_weights
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.text.corpora.languages import Direction
from dragoman.training.checkpoints import selection
from dragoman.training.checkpoints.paths import Checkpoints
from dragoman.training.checkpoints.progress import Candidate, Progress, Totals
from dragoman.training.checkpoints.saving import MENDING, Saver
from dragoman.training.checkpoints.whole import check_space, checkpoint_bytes
from dragoman.training.data.batches import Batch, batch_of, updates_of
from dragoman.training.data.mixture import Stages, TrainingText
from dragoman.training.events import Finished, Observer, Report, Stop, Validation
from dragoman.training.metrics import Metrics
from dragoman.training.options import TrainingConfig
from dragoman.training.processes.distributed import World
from dragoman.training.step.update import Learner, Update
from dragoman.training.validation import Examiner, Scored, Translate, perplexity

MOST_SKIPPED = 10  # updates in a row
_OTHER_FOLDER = "or choose another folder with -o"


@dataclass(kw_only=True)
class Trainer:
    """One training run. `train` continues it to its end."""

    model: AnySeq2Seq
    corpus: TrainingText  # after the stages
    stages: Stages = ()
    valid: Mapping[Direction, TrainingText]
    config: TrainingConfig
    checkpoints: Checkpoints
    metrics: Metrics
    seed: int
    world: World
    observer: Observer
    translate: Translate | None = None
    stop: Stop = lambda: 0
    progress: Progress = field(default_factory=Progress)
    _clock: float = field(default=0.0, init=False)  # up to when time is counted

    def __post_init__(self) -> None:
        self.config.check_validated(loss=bool(self.valid), translated=self.translate is not None)
        self.learner = Learner(self.model, self.config, self.world)
        self.examiner = Examiner(learner=self.learner, valid=self.valid, translate=self.translate)
        self.saver = Saver(checkpoints=self.checkpoints, learner=self.learner)
        self.progress.processes = self.world.size

    def resume(self) -> bool:
        """Restore the latest checkpoint. Return whether the folder has one.

        Raises DataError for other training text, ConfigError for a number of processes that cannot share
        the batches of an update equally, ModelError for a damaged checkpoint.
        """
        progress = self.saver.restore()
        if progress is None:
            self.progress.corpus = self._fingerprint
            return False
        folder = self.checkpoints.folder
        if progress.corpus != self._fingerprint:
            raise DataError(
                f"{folder}: this run began with other training text",
                hint=f"restore the text, {_OTHER_FOLDER}",
            )
        batches, size = self.config.accumulate * progress.processes, self.world.size
        if batches % size:
            fitting = [str(count) for count in range(1, batches + 1) if batches % count == 0]
            raise ConfigError(
                f"{folder}: an update of this run has {batches} batches, which {size} processes cannot share "
                "equally",
                hint=f"the number of processes may be {', '.join(fitting)}, {_OTHER_FOLDER}",
            )
        self.progress = progress
        return True

    @property
    def _fingerprint(self) -> str:
        """A digest of the training text of all stages."""
        stages = [f"{size}: {text.fingerprint}; " for size, text in self.stages]
        return "".join(stages) + self.corpus.fingerprint

    def check_space(self) -> None:
        """Raise TrainingError unless a checkpoint fits on the disk."""
        check_space(self.checkpoints.folder, checkpoint_bytes(self.learner.trained, self.config))

    def _look_for_weights(self, *, read: bool) -> None:
        """Leave out the checkpoints whose weights are missing, or with `read` damaged, in every process.

        Raises TrainingError if none of several is left at the end.
        """
        progress = self.progress
        if not progress.history:
            return
        steps = [candidate.step for candidate in progress.candidates]
        needed = selection.kept(progress.candidates, self.config)
        usable = self.world.lead(lambda: self.saver.usable(steps, needed, read=read))
        progress.lost += [step for step in steps if step not in usable]
        if not progress.candidates and self.done():
            raise TrainingError(
                f"{self.checkpoints.folder}: no weights are left to write a model of",
                hint="raise training.max_updates to train on from the last checkpoint, or remove the folder",
            )

    def train(self) -> Finished:
        """Train to the end and write the final weights.

        Raises Interrupted, after saving, if asked to stop; TrainingError if updates keep failing.
        """
        self._clock = time.monotonic()
        self.world.watch()
        if self.world.leads:
            self.metrics.trim(self.progress.step)
        self._look_for_weights(read=True)
        if not self.done():  # a finished run may have got a higher limit
            self.progress.finished = False
            self.progress.history = selection.regular(self.progress.history, self.config)
        while not self.done():
            for batches in self._epoch():
                began = time.monotonic()
                self._update(batches)
                self.progress.totals.seconds += self._count_time() - began
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
        self.saver.save(self.progress)
        self.saver.finish()
        self.learner.gather()
        return self._finish()

    # ---- one update ------------------------------------------------------------------------------

    def _epoch(self) -> Iterator[list[Batch]]:
        """The rest of this epoch: for each update, the batches of this process."""
        corpus, end = self._stage()
        source, target = corpus.epoch(self.progress.epoch, seed=self.seed)
        lessons = corpus.lessons_of(self.progress.epoch, seed=self.seed)
        config, world = self.config, self.world
        each = config.accumulate * self.progress.processes  # in whichever number of processes it is resumed
        updates = updates_of(
            source,
            target,
            batch_tokens=config.batch_tokens,
            seed=self.seed,
            epoch=self.progress.epoch,
            each=each,
        )
        for groups in islice(updates, self.progress.cursor, end):
            batches = []
            for group in groups[world.rank :: world.size]:
                self._stop_within_update()
                batch = batch_of(source, target, group, self.learner.model.config, lessons)
                batches.append(batch.to(world.device))
            yield batches

    def _stage(self) -> tuple[TrainingText, int | None]:
        """The text of this epoch, and the updates after which the epoch ends early, because a stage does.

        Both depend on the update that the epoch began with, so they are the same when the run is resumed.
        """
        left = self.progress.step - self.progress.cursor
        for size, text in self.stages:
            if left < size:
                return text, size - left
            left -= size
        return self.corpus, None

    def _update(self, batches: list[Batch]) -> None:
        progress, totals = self.progress, self.progress.totals
        step = progress.step + 1
        with self.learner.together():
            update = self.learner.update(
                batches, step, seed=self.seed, seconds=progress.seconds, between=self._stop_within_update
            )
        if update.notes:
            for line in "\n".join(filter(None, self.world.gather(update.note))).split("\n"):
                self.observer.on_message(line)
        if update.made:
            progress.skipped = 0
            totals.loss, totals.nll = totals.loss + update.loss, totals.nll + update.nll
            totals.tokens, totals.gradient_norm = totals.tokens + update.tokens, update.gradient_norm
        else:
            self._skip(step, update, batches)
        progress.step, progress.cursor = step, progress.cursor + 1
        progress.tokens += update.tokens
        totals.slots, totals.real = totals.slots + update.slots, totals.real + update.real

    def _skip(self, step: int, update: Update, batches: list[Batch]) -> None:
        """Report an update whose loss or gradient is not finite. It has changed nothing."""
        progress = self.progress
        progress.skipped += 1
        where = self._blamed_lines(batches, update.blamed)
        what = f"the {update.fault} is not finite" + (f" ({where})" if where else "")
        if progress.skipped < MOST_SKIPPED:
            self.observer.on_message(f"update {step} skipped: {what}")
            return
        if not self.world.leads:
            raise Elsewhere(f"update {step}: {what}, as the first process reports")
        raise TrainingError(
            f"update {step}: {what}. {MOST_SKIPPED} updates in a row were skipped, so training stops. "
            f"{self.checkpoints.last_saved()}",
            hint=(f"{MENDING}; or begin" if self.checkpoints.resumable else "begin")
            + " again without these lines, or with a lower learning rate",
        )

    def _blamed_lines(self, batches: list[Batch], blamed: Sequence[int]) -> str:
        """As in "batch 2 of 4, lines 3, 14, 159 and 29 more of train.en". Every process must call it.

        `blamed` are numbers of this process's batches, from 0. The text counts those of all processes.
        """
        progress, world, (corpus, _) = self.progress, self.world, self._stage()
        places: list[tuple[int, str]] = []
        for own in blamed:
            number = own * world.size + world.rank + 1
            rows = batches[own].rows.tolist()
            lines = f", {corpus.whereabouts(rows, epoch=progress.epoch, seed=self.seed)}" if rows else ""
            places.append((number, f"batch {number} of {self.config.accumulate * progress.processes}{lines}"))
        every = dict(chain.from_iterable(world.gather(places)))
        return "; ".join(every[number] for number in sorted(every))

    # ---- between updates -------------------------------------------------------------------------

    def done(self) -> bool:
        """Whether the run has reached its end."""
        config, progress = self.config, self.progress
        if progress.step >= config.max_updates:
            return True
        if config.max_epochs is not None and self._passes() >= config.max_epochs:
            return True
        minutes_up = config.max_minutes is not None and progress.seconds >= 60 * config.max_minutes
        return minutes_up or selection.out_of_patience(progress.history, config)

    def _passes(self) -> int:
        """The epochs so far, without those that a stage ended."""
        ends = accumulate(size for size, _ in self.stages)
        return self.progress.epoch - sum(end <= self.progress.step for end in ends)

    def _count_time(self) -> float:
        """Add the time since the last call to the progress, and return the time of this process's clock.

        All processes agree on the progress if the learning rate or the end depends on it.
        """
        now = time.monotonic()
        seconds = self.progress.seconds + now - self._clock
        if self.world.size > 1 and self.config.max_minutes is not None:
            seconds = float(self.world.share(seconds))
        self.progress.seconds, self._clock = seconds, now
        return now

    def _stop_within_update(self) -> None:
        """Stop before the next batch: an update of many may take minutes. The next run begins it anew."""
        if self.world.size == 1 and self.stop():  # several processes agree after an update
            self._stop_if_asked()

    def _stop_if_asked(self) -> None:
        signal = self.stop()
        if self.world.size > 1:
            signal, state = self.world.greatest(signal, self.saver.state)
            self.saver.complete(state)
        if signal:
            self.saver.save(self.progress)
            self.saver.finish()
            raise Interrupted(
                f"stopped at update {self.progress.step}; everything is saved in {self.checkpoints.folder}",
                signal=signal,
                hint="repeat the command to resume",
            )

    def _report(self) -> None:
        config, progress, totals = self.config, self.progress, self.progress.totals
        if not totals.tokens:
            return  # all updates since the last report were skipped
        progress.totals = Totals()
        end: float = config.max_updates
        if config.max_epochs is not None and (passes := self._passes()) > 0:
            end = min(end, (progress.step - progress.cursor) * config.max_epochs / passes)
        eta = progress.seconds * max(end - progress.step, 0) / progress.step
        if config.max_minutes is not None:
            eta = min(eta, 60 * config.max_minutes - progress.seconds)
        report = Report(
            step=progress.step,
            epoch=progress.epoch,
            loss=totals.loss / totals.tokens,
            nll=totals.nll / totals.tokens,
            perplexity=perplexity(totals.nll / totals.tokens),
            learning_rate=config.rate(progress.step, self.model.config.d_model, progress.seconds),
            tokens_per_second=totals.tokens / max(totals.seconds, 1e-9),
            padding=1 - totals.real / totals.slots,
            gradient_norm=totals.gradient_norm,
            tokens=progress.tokens,
            seconds=progress.seconds,
            eta_seconds=eta,
            peak_memory=peak_memory(),
        )
        if self.world.leads:
            self.metrics.append(report)
        self.observer.on_report(report)

    def _validate(self) -> None:
        self.saver.check_finite(self.progress.step)
        began = time.monotonic()
        with self.learner.whole():
            candidate, scored = self.examiner.examine(self.progress.step)
            # The model gets others when the block ends, but these tensors stay as they are.
            weights = weights_of(self.model) if self.world.leads else None
        self.world.lead(lambda: self._report_validation(candidate, scored, time.monotonic() - began))
        self.progress.history.append(candidate)
        self._count_time()  # before saving, so that a resumed run knows of it
        self.saver.save(self.progress, weights=weights)

    def _report_validation(self, candidate: Candidate, scored: Scored, seconds: float) -> None:
        validation = Validation(
            **asdict(candidate),
            signature=scored.signature,
            search=scored.search,
            best=candidate.measured
            and all(candidate.score > earlier.score for earlier in self.progress.history),
            seconds=seconds,
            elapsed=self.progress.seconds,
            samples=scored.samples,
        )
        if candidate.loss is not None and not math.isfinite(candidate.loss):
            self.observer.on_message(f"update {candidate.step}: the validation loss is not finite")
        self.metrics.append(validation)
        self.observer.on_validation(validation)

    # ---- the end ---------------------------------------------------------------------------------

    def _finish(self) -> Finished:
        """Write the average, or the best single checkpoint if that validates better."""
        self._look_for_weights(read=False)
        config, history = self.config, self.progress.candidates
        steps = selection.averaged(history, config)
        if config.average_of == "soup":
            steps = selection.greedy_soup(
                steps, read=lambda step: read_weights(self.checkpoints.step(step)), loss_of=self._loss_of_mean
            )
        self._put(lambda: average([self.checkpoints.step(step) for step in steps]), "the average")
        outcome = f"the average of {len(steps)} checkpoints" if len(steps) > 1 else f"update {steps[0]}"
        best = selection.best_single(history, config)
        final, signature, search = best, "", ""
        if self.valid:
            final, scored = self.examiner.examine(self.progress.step)
            signature, search = scored.signature, scored.search
            self.world.lead(lambda: self.metrics.append(final))
            if selection.rank(final, config) < selection.rank(best, config):
                path = self.checkpoints.step(best.step)
                self._put(lambda: read_weights(path), path)
                outcome, final = f"update {best.step}, which validates better than the average", best
        self.world.lead(lambda: write_weights(self.checkpoints.final, weights_of(self.model)))
        finished = Finished(
            step=self.progress.step,
            seconds=self.progress.seconds + time.monotonic() - self._clock,
            tokens=self.progress.tokens,
            best_step=best.step if best.measured else None,
            outcome=outcome,
            loss=final.loss,
            bleu=final.bleu,
            signature=signature,
            search=search,
            directions=final.directions,
            peak_memory=self.world.greatest(peak_memory() or 0)[0] or None,
        )
        if self.world.leads:
            self.observer.on_finish(finished)
        return finished

    def _loss_of_mean(self, steps: list[int], mean: Callable[[], Mapping[str, Tensor]]) -> float:
        """The validation loss of the mean of the weights of these updates, which the leader computes."""
        self._put(mean, "the average")
        loss = self.examiner.validation_loss()
        row = {"kind": "soup", "step": self.progress.step, "of": steps, "loss": loss}
        self.world.lead(lambda: self.metrics.add(row))
        return math.nan if loss is None else loss

    def _put(self, read: Callable[[], Mapping[str, Tensor]], where: Path | str) -> None:
        """Give the model of every process the weights that the leader reads."""
        self.world.lead(lambda: put_weights(self.model, read(), where))
        self.world.spread(parameter for _, parameter in self.model.named_parameters())
