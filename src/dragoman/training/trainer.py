"""The training loop: which batches make the next update, and what comes between updates.

Validation, checkpoints, reports, stopping; `update.py` has the update itself.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from dragoman.base.errors import ConfigError, DataError, Elsewhere, Interrupted, TrainingError
from dragoman.base.files import write_whole
from dragoman.folder.weights import average, put_weights, read_weights, weights_of, write_weights
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.training import checkpoint
from dragoman.training.batches import Batch, collate, plan
from dragoman.training.distributed import World
from dragoman.training.options import Observer, TrainingConfig
from dragoman.training.profile import Profile
from dragoman.training.tokenised import Ragged, TokenisedCorpus
from dragoman.training.update import Learner

log = logging.getLogger(__name__)


Translate = Callable[[AnySeq2Seq], dict[str, Any]]  # a model -> bleu, chrf and samples on the validation text
Stop = Callable[[], int]  # the signal that asked to stop, 0 for none


@dataclass
class Window:
    """Sums over the updates since the last report."""

    loss: float = 0.0
    nll: float = 0.0
    tokens: int = 0
    real: int = 0  # source and target positions that hold a token
    slots: int = 0  # positions, padding included
    seconds: float = 0.0
    gradient_norm: float = 0.0


@dataclass
class Trainer:
    """One run. `train` goes from wherever the run stands to its end."""

    model: AnySeq2Seq
    corpus: TokenisedCorpus
    valid: TokenisedCorpus | None
    config: TrainingConfig
    folder: Path
    seed: int
    world: World
    observer: Observer
    translate: Translate | None = None
    stop: Stop = lambda: 0
    profile: Profile | None = None
    progress: checkpoint.Progress = field(default_factory=checkpoint.Progress)
    outcome: dict[str, Any] = field(default_factory=dict)  # which weights were kept, and their scores

    def __post_init__(self) -> None:
        if self.config.stop_on == "bleu" and self.translate is None:
            raise ConfigError(
                'training.stop_on = "bleu" needs validation text', hint="pass --valid FILE FILE"
            )
        self.learner = Learner(self.model, self.config, self.world)
        self.checkpoints = self.folder / "checkpoints"
        self.window = Window()

    @property
    def module(self) -> nn.Module:
        """The model as PyTorch sees it."""
        return cast(nn.Module, self.model)

    @property
    def final(self) -> Path:
        """The file of the weights that training ended with."""
        return self.checkpoints / "final.safetensors"

    def resume(self) -> bool:
        """Takes up the run in the folder, if there is one."""
        progress = checkpoint.restore(self.checkpoints / "latest", self.module, self.learner.optimizers)
        if progress is None:
            self.progress.corpus, self.progress.processes = self.corpus.fingerprint, self.world.size
            return False
        if progress.corpus != self.corpus.fingerprint:
            raise DataError(
                f"{self.folder}: the training text is not what this run began with",
                hint="restore the text, or choose another folder with -o",
            )
        if progress.processes != self.world.size:
            raise ConfigError(
                f"{self.folder}: this run began in {progress.processes} processes, not {self.world.size}",
                hint="start as many as before, or choose another folder with -o",
            )
        self.progress, self.window = progress, Window(**progress.window)
        return True

    def train(self) -> Path:
        """Trains to the end and returns the file of the final weights.

        Raises Interrupted, after saving, when asked to stop; TrainingError when updates keep
        failing.
        """
        clock = time.monotonic()
        self._trim_metrics()
        if not self.done():  # a run that had ended may have been given longer
            self.progress.finished, self.progress.history = False, self._regular()
        while not self.done():
            for batches in self._epoch():
                began = time.monotonic()
                with nullcontext() if self.profile is None else self.profile.around():
                    self._update(batches)
                now = time.monotonic()
                self.window.seconds += now - began
                self.progress.seconds, clock = self.progress.seconds + now - clock, now
                if self.progress.step % self.config.log_every == 0:
                    self._report()
                if self.progress.step % self.config.validate_every == 0:
                    self._validate()
                if signal := self._asked_to_stop():
                    self._save()
                    raise Interrupted(
                        f"stopped at update {self.progress.step}; all of it is saved in {self.folder}",
                        signal=signal,
                        hint="repeat the command to go on",
                    )
                if self.done():
                    break
            else:
                self.progress.epoch, self.progress.cursor = self.progress.epoch + 1, 0
        if not self.progress.history or self.progress.history[-1]["step"] != self.progress.step:
            self._validate()
        return self._finish()

    # ---- one update ------------------------------------------------------------------------------

    def _epoch(self) -> Iterator[list[Batch]]:
        """What is left of this epoch: for each update, this rank's batches."""
        source, target = self.corpus.epoch(self.progress.epoch, seed=self.seed)
        config, world = self.config, self.world
        each = config.accumulate * world.size
        groups = plan(
            source.lengths,
            target.lengths,
            batch_tokens=config.batch_tokens,
            seed=self.seed,
            epoch=self.progress.epoch,
            multiple_of=each,
        )
        for update in range(self.progress.cursor, len(groups) // each):
            mine = groups[update * each + world.rank : (update + 1) * each : world.size]
            yield [self._collate(source, target, group) for group in mine if len(group)]

    def _collate(self, source: Ragged, target: Ragged, rows: Any) -> Batch:
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
        progress, window = self.progress, self.window
        step = progress.step + 1
        update = self.learner.update(batches, step, seed=self.seed)
        if update.made:
            progress.skipped = 0
        else:
            self._skip(step)
        progress.step, progress.cursor = step, progress.cursor + 1
        progress.tokens += update.tokens
        window.loss, window.nll = window.loss + update.loss, window.nll + update.nll
        window.slots, window.real = window.slots + update.slots, window.real + update.real
        window.tokens, window.gradient_norm = window.tokens + update.tokens, update.gradient_norm

    def _skip(self, step: int) -> None:
        self.progress.skipped += 1
        self.observer.on_message(f"update {step} left out: its gradient is not finite")
        if self.progress.skipped >= 10:
            if not self.world.leads:
                raise Elsewhere("the gradient is not finite, as the first process says")
            raise TrainingError(
                f"update {step}: the gradient has not been finite for 10 updates in a row",
                hint="lower the learning rate, set training.clip=1.0, or training.precision=fp32",
            )

    # ---- between updates -------------------------------------------------------------------------

    def done(self) -> bool:
        """Whether the run has come to its end."""
        config, progress = self.config, self.progress
        if progress.step >= config.max_updates:
            return True
        if config.max_epochs is not None and progress.epoch >= config.max_epochs:
            return True
        minutes_up = config.max_minutes is not None and progress.seconds >= 60 * config.max_minutes
        if self.world.size > 1 and config.max_minutes is not None:
            minutes_up = bool(self.world.share(minutes_up))  # clocks differ, the decision may not
        return minutes_up or self._out_of_patience()

    def _out_of_patience(self) -> bool:
        scores = [entry["score"] for entry in self._regular()]
        if not self.config.patience or not scores:
            return False
        return len(scores) - 1 - scores.index(max(scores)) >= self.config.patience

    def _asked_to_stop(self) -> int:
        signal = self.stop()
        if self.world.size == 1:
            return signal
        return int(self.world.greatest(torch.tensor(signal, device=self.world.device)))

    def _report(self) -> None:
        window, progress = self.window, self.progress
        self.window = Window()
        metrics = {
            "step": progress.step,
            "epoch": progress.epoch,
            "loss": window.loss / window.tokens,
            "nll": window.nll / window.tokens,
            "perplexity": math.exp(min(window.nll / window.tokens, 700)),
            "learning_rate": self.config.rate(progress.step, self.model.config.d_model),
            "tokens_per_second": window.tokens / window.seconds,
            "padding": 1 - window.real / window.slots,
            "gradient_norm": window.gradient_norm,
            "tokens": progress.tokens,
            "seconds": progress.seconds,
            "eta_seconds": self._eta(),
        }
        self._write_metrics("train", metrics)
        self.observer.on_step(metrics)

    def _eta(self) -> float:
        progress, config = self.progress, self.config
        eta = progress.seconds * (config.max_updates - progress.step) / progress.step
        return eta if config.max_minutes is None else min(eta, 60 * config.max_minutes - progress.seconds)

    def _validate(self) -> None:
        began = time.monotonic()
        entry: dict[str, Any] = {}
        if self.world.leads:
            entry, shown = self.examine()
            entry["score"] = self._score(entry)
            best = all(entry["score"] > earlier["score"] for earlier in self.progress.history)
            shown |= entry | {"best": best, "seconds": time.monotonic() - began}
            shown["elapsed"] = self.progress.seconds
            self._write_metrics("valid", {key: value for key, value in shown.items() if key != "samples"})
            self.observer.on_validation(shown)
        self.progress.history.append(self.world.share(entry))
        if self.world.leads:
            write_weights(self._step_file(self.progress.step), weights_of(self.module))
        self._save()
        if self.world.leads:
            self._prune()  # now that no checkpoint asks for more

    def examine(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Scores of the model as it is (step, loss, perplexity, bleu) and what else there is to show.

        A score is None where there is no text to take it on.
        """
        self.module.eval()
        entry: dict[str, Any] = {"step": self.progress.step, "bleu": None, "chrf": None}
        shown: dict[str, Any] = {"samples": []}
        with torch.inference_mode():
            entry["loss"] = self._validation_loss()
            if self.translate is not None:
                shown |= self.translate(self.model)
        entry |= {key: shown[key] for key in ("bleu", "chrf") if key in shown}
        entry["perplexity"] = None if entry["loss"] is None else math.exp(min(entry["loss"], 700))
        return entry, shown

    def _score(self, entry: dict[str, Any]) -> float:
        """What makes one validation better than another: the greater the better."""
        if entry["loss"] is None:
            return float(entry["step"])  # with nothing to compare them by, the last is the best
        score = float(entry["bleu"] if self.config.stop_on == "bleu" else -entry["loss"])
        return -math.inf if math.isnan(score) else score

    def _validation_loss(self) -> float | None:
        """Negative log-likelihood in nats a token, without smoothing."""
        if self.valid is None:
            return None
        source, target = self.valid.source, self.valid.target
        groups = plan(source.lengths, target.lengths, batch_tokens=self.config.batch_tokens, seed=0, epoch=0)
        total, tokens = 0.0, 0
        for group in groups:
            batch = self._collate(source, target, group)
            total += float(self.learner.objective(batch)[1])
            tokens += batch.tokens
        return total / tokens

    # ---- files -----------------------------------------------------------------------------------

    def _step_file(self, step: int) -> Path:
        return self.checkpoints / f"step-{step:07d}.safetensors"

    def _save(self) -> None:
        self.progress.window = dict(vars(self.window))
        if self.world.leads:
            checkpoint.save(self.checkpoints / "latest", self.module, self.learner.optimizers, self.progress)
        self.world.wait()

    def _regular(self) -> list[dict[str, Any]]:
        """The validations that came by themselves: all but one at the end of a run."""
        return [entry for entry in self.progress.history if entry["step"] % self.config.validate_every == 0]

    def _chosen(self, entries: list[dict[str, Any]] | None = None) -> list[int]:
        """The steps whose checkpoints the final average takes."""
        entries = self.progress.history if entries is None else entries
        if self.config.average_of == "best":
            entries = sorted(entries, key=lambda entry: entry["score"])
        return [entry["step"] for entry in entries[-self.config.average :]]

    def _best_step(self, entries: list[dict[str, Any]] | None = None) -> int:
        best = max(entries or self.progress.history, key=lambda entry: entry["score"])
        return int(best["step"])

    def _prune(self) -> None:
        """Keeps what the final average may take, and the best; here, or in a run given longer."""
        steps = {*self._chosen(), self._best_step()}
        if regular := self._regular():
            steps |= {*self._chosen(regular), self._best_step(regular)}
        kept = {self._step_file(step) for step in steps}
        for path in self.checkpoints.glob("step-*.safetensors"):
            if path not in kept:
                path.unlink()

    def _finish(self) -> Path:
        """Averages, and keeps the average unless the best single checkpoint does better on validation."""
        # Before the weights become the average: a longer run is to go on from where training stood.
        self.progress.finished = True
        self._save()
        if self.world.leads:
            steps = self._chosen()
            put_weights(self.module, average([self._step_file(step) for step in steps]), "the average")
            outcome = f"the average of {len(steps)} checkpoints" if len(steps) > 1 else f"update {steps[0]}"
            best = max(self.progress.history, key=lambda entry: entry["score"])
            entry = best
            if self.valid is not None:
                entry, shown = self.examine()
                self._write_metrics("average", entry)
                if self._score(entry) < best["score"]:
                    path = self._step_file(best["step"])
                    put_weights(self.module, read_weights(path), path)
                    outcome = f"update {best['step']}, which validates better than the average"
                    entry = best
                self.outcome |= {"signature": shown.get("signature", "")}
            self.outcome |= {"outcome": outcome, "loss": entry["loss"], "bleu": entry["bleu"]}
            write_weights(self.final, weights_of(self.module))
            self.observer.on_end(
                {
                    "step": self.progress.step,
                    "seconds": self.progress.seconds,
                    "tokens": self.progress.tokens,
                    "best_step": self._best_step(),
                    **self.outcome,
                }
            )
        return self.final

    def _write_metrics(self, kind: str, metrics: dict[str, Any]) -> None:
        if self.world.leads:
            path = self.folder / "metrics.jsonl"
            try:
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"kind": kind, **metrics}, ensure_ascii=False) + "\n")
            except OSError as error:
                raise TrainingError(
                    f"{path}: cannot be written ({error.strerror or error})",
                    hint="free some space and repeat the command: it goes on from the last checkpoint",
                ) from error

    def _trim_metrics(self) -> None:
        """Drops lines written after the checkpoint a run resumes from, which will be written again."""
        path = self.folder / "metrics.jsonl"
        if self.world.leads and path.exists():
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            kept = [line for line in lines if _written_at(line) <= self.progress.step]
            if len(kept) < len(lines):
                write_whole(path, "".join(kept))


def _written_at(line: str) -> float:
    """The update after which a line of metrics was written; never, for one that will be written again."""
    try:
        entry = json.loads(line)
        return math.inf if entry["kind"] == "average" else float(entry["step"])
    except (ValueError, KeyError, TypeError):
        return math.inf  # cut short when the run was
