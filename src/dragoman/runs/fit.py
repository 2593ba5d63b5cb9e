"""The part of a run that needs torch: build the model, train it, write the model folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from dragoman import native
from dragoman.base.errors import DataError, DragomanError, ModelError
from dragoman.base.tables import count, listing
from dragoman.evaluation.risk.folder import calibrate_folder
from dragoman.folder import bundle as model_folder
from dragoman.folder.bundle import Bundle
from dragoman.folder.risk import RISK
from dragoman.folder.weights import not_finite, put_weights, read_weights, weights_of
from dragoman.models.embeddings import close, open_tokens, reopen
from dragoman.models.lora import add_lora
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.runs import card
from dragoman.runs.effect import AFTER, IN_DOMAIN
from dragoman.runs.folder import RunFolder
from dragoman.runs.prepare import Prepared
from dragoman.runs.settle import Tuned, settle
from dragoman.runs.validation import search_name, translate_and_score
from dragoman.training.distributed import World
from dragoman.training.events import Finished, Observer, Started, Stop
from dragoman.training.precision import precision_for, send_to_onednn
from dragoman.training.profile import Profile
from dragoman.training.room import check_room, checkpoint_bytes
from dragoman.training.trainer import Trainer


def fit(
    prepared: Prepared, folder: RunFolder, world: World, *, observer: Observer, stop: Stop, profile: bool
) -> None:
    """Continue the run to its end and write the model folder.

    Raises ModelError for a base that is not finite or a damaged checkpoint, DataError and ConfigError for
    text or processes that do not fit the run, TrainingError if the disk is too small, and what
    `Trainer.train` raises.
    """
    recipe, tokenizer = prepared.recipe, prepared.tokenizer
    torch.manual_seed(recipe.seed)
    native.enable()
    if precision_for(recipe.training.precision, world.device) == "fp32":
        send_to_onednn()
    say = observer.on_message if world.leads else lambda _: None
    model, base = _initial_model(prepared, say)
    bundle = Bundle(
        model=model,
        tokenizer=tokenizer,
        source_language=prepared.source_language,
        target_language=prepared.target_language,
        generation=recipe.generation,
        alignment=recipe.training.aligning(model.config) or (None if base is None else base.alignment),
        guidance=recipe.data.annotating.names,
    )
    trainer = Trainer(
        model=model,
        corpus=prepared.training,
        valid=prepared.validation,
        config=recipe.training,
        checkpoints=folder.checkpoints,
        metrics=folder.metrics,
        seed=recipe.seed,
        world=world,
        observer=observer,
        translate=(
            None
            if prepared.validation is None
            else lambda _: translate_and_score(
                bundle,
                prepared.validation_pairs,
                seed=recipe.seed,
                world=world,
                greedy=recipe.training.validation_search == "greedy",
            )
        ),
        stop=stop,
        penalty=recipe.tuning.penalty,
    )
    if profile and world.leads:
        trainer.profile = Profile(folder.profile, trainer.learner.precision, world.device, say)

    world.leader_first(trainer.resume)

    def calibrate() -> None:
        if recipe.training.calibrate and not stop():
            _calibrate(prepared, folder, say)

    def calibrate_late() -> None:  # the run may have been stopped while it did that
        if not (folder.path / RISK).exists():
            calibrate()

    if world.share(trainer.progress.finished and trainer.done() and folder.complete):
        world.lead(calibrate_late)
        observer.on_message(f"{folder.path}: this run is complete; nothing to do")
        return

    room = checkpoint_bytes(trainer.learner.trained, recipe.training)
    world.lead(lambda: check_room(folder.checkpoints.folder, room))
    started = _started(trainer, prepared, folder, world)
    observer.on_start(started)  # on every process: from here on the trainer handles signals
    if world.leads:
        folder.metrics.begin(started)

    def write(finished: Finished) -> None:
        _write(trainer, prepared, folder, bundle, base, started, finished, say)
        calibrate()

    try:
        finished = trainer.train()
        if trainer.profile is not None:
            trainer.profile.end()
        world.lead(lambda: write(finished))
    except DragomanError as error:
        if world.leads:
            folder.metrics.end(error, trainer.progress.step)
        raise
    if world.leads:
        folder.metrics.end(finished, finished.step)


def _initial_model(prepared: Prepared, say: Callable[[str], None]) -> tuple[AnySeq2Seq, Bundle | None]:
    """Return the model before its first update, and in tuning the base that it starts from."""
    recipe, tokenizer = prepared.recipe, prepared.tokenizer
    config = replace(
        recipe.model,
        source_vocab=tokenizer.source_size,
        target_vocab=tokenizer.target_size,
        pad_id=tokenizer.pad_id,
        start_id=tokenizer.start_id,
        end_id=tokenizer.end_id,
    )
    model = build_model(config)
    base = None if prepared.base is None else prepared.base.load()
    if base is not None:
        if names := not_finite(weights_of(base.model)):
            raise ModelError(
                f"{recipe.tuning.base}: NaN or infinite in {listing(names, most=3)}",
                hint="choose another base",
            )
        if open_tokens(base.model.logits.bias) is not None:
            seen_V = torch.from_numpy(prepared.training.in_targets(config.target_vocab))
            # In the base, too: the tuned weights are averaged with its weights at the end.
            if opened := reopen(base.model.logits, seen_V):
                alone = "; an adapter alone does not open them" if recipe.tuning.adapter is not None else ""
                say(f"opened {count(opened, 'token')} of this text that the base never predicts{alone}")
        put_weights(model, weights_of(base.model), recipe.tuning.base)
        if (adapter := recipe.tuning.adapter) is not None:
            add_lora(model, rank=adapter.rank, alpha=adapter.alpha, on=adapter.on)
    if recipe.training.close_unseen:
        close(model.logits, torch.from_numpy(~prepared.training.in_targets(config.target_vocab)))
    return model, base


def _started(trainer: Trainer, prepared: Prepared, folder: RunFolder, world: World) -> Started:
    """The figures of the run as it starts."""
    config, training = trainer.model.config, prepared.recipe.training
    return Started(
        output=str(folder.path),
        parameters=sum(parameter.numel() for parameter in trainer.learner.trained.parameters()),
        source_vocab=config.source_vocab,
        target_vocab=config.target_vocab,
        train_pairs=len(prepared.training),
        valid_pairs=len(prepared.validation) if prepared.validation is not None else 0,
        precision=trainer.learner.precision,
        threads=torch.get_num_threads(),
        processes=world.size,
        resumed_from=trainer.progress.step,
        max_updates=training.max_updates,
        max_seconds=60 * training.max_minutes if training.max_minutes else None,
        batch_tokens=training.batch_tokens,
    )


def _write(
    trainer: Trainer,
    prepared: Prepared,
    folder: RunFolder,
    bundle: Bundle,
    base: Bundle | None,
    started: Started,
    finished: Finished,
    say: Callable[[str], None],
) -> None:
    """Put the final weights into the bundle, and write the model folder with its card and scores."""
    final = folder.checkpoints.final
    put_weights(bundle.model, read_weights(final), final)
    tuned = None
    if base is not None:
        adapted = folder.path / "adapter"
        tuned = settle(trainer, prepared, base=base, tuned=bundle, adapter=adapted, say=say)
    row = _result(finished, tuned, bundle)
    if tuned is not None and prepared.validation is not None:
        row["loss"] = trainer.examiner.loss_of(prepared.validation)
    folder.metrics.add({"kind": "result", "step": finished.step, **row})
    card.write(folder.card, prepared, started=started, finished=finished, tuned=tuned)
    model_folder.save(bundle, folder.path)  # writes the weights last: if they exist, all files do


def _result(finished: Finished, tuned: Tuned | None, bundle: Bundle) -> dict[str, Any]:
    """The scores of the final model on the validation text."""
    row = {name: getattr(finished, name) for name in ("loss", "bleu", "signature", "search")}
    if tuned is not None and (comparison := tuned.effect.comparisons.get(IN_DOMAIN)) is not None:
        bleu = comparison.scores[AFTER].bleu
        row |= {"bleu": bleu.value, "signature": bleu.signature, "search": search_name(bundle.generation)}
    return row


def _calibrate(prepared: Prepared, folder: RunFolder, say: Callable[[str], None]) -> None:
    """Learn the risk of translations from the validation text, if it has enough pairs."""
    try:
        report = calibrate_folder(
            folder.path, prepared.validation_pairs, most=prepared.recipe.training.calibrate
        )
    except DataError as error:
        say(f"the risk of translations is not calibrated: {error}")
    else:
        say(f"calibrated the risk of translations: error {report.ece:.3f} on {report.lines:,} others")
