"""The part of a run that needs torch: build the model, train it, write the model folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, cast

import torch
from torch import Tensor, nn

from dragoman.base.errors import DataError, DragomanError
from dragoman.base.tables import count
from dragoman.evaluation.risk.calibrate import calibrate_folder
from dragoman.models import loops as native
from dragoman.models.folder import bundle as model_folder
from dragoman.models.folder.bundle import Bundle
from dragoman.models.folder.weights import check_finite, put_weights, read_weights, weights_of
from dragoman.models.layers.embeddings import close, open_tokens, reopen
from dragoman.models.lora import add_lora, learn_rows
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.training.events import Finished, Observer, Started, Stop
from dragoman.training.runs import card
from dragoman.training.runs.doubts import doubts_after, doubts_before
from dragoman.training.runs.prepare import Prepared
from dragoman.training.runs.tuning.outcome import finish_tuning
from dragoman.training.runs.validation_scores import search_name, translate_and_score
from dragoman.training.step.precision import send_to_onednn
from dragoman.training.trainer import Trainer
from dragoman.training.validation import Scored
from dragoman.translation.folder.config import RISK, write_config
from dragoman.translation.translator import Translator


def fit(prepared: Prepared, *, observer: Observer, stop: Stop) -> None:
    """Continue the run to its end and write the model folder.

    Raises ModelError for a base that is not finite or a damaged checkpoint, DataError and ConfigError for
    text or processes that do not fit the run, TrainingError if the disk is too small, and what
    `Trainer.train` raises.
    """
    recipe, folder, world = prepared.recipe, prepared.folder, prepared.world
    torch.manual_seed(recipe.seed)
    native.enable()
    say = observer.on_message if world.leads else lambda _: None
    model, base = initial_model(prepared, say)
    bundle = Bundle(
        model=model,
        tokenizer=prepared.tokenizer,
        source_language=prepared.languages[0],
        target_language=prepared.languages[1],
        directions=prepared.directions,
        generation=recipe.generation,
        alignment=recipe.training.aligning(model.config) or (None if base is None else base.alignment),
        guidance=recipe.data.annotating.names,
    )

    def translate(_: AnySeq2Seq) -> Scored:
        return translate_and_score(
            bundle,
            prepared.validation_pairs,
            seed=recipe.seed,
            world=world,
            greedy=recipe.training.validation_search == "greedy",
            worst=recipe.training.stop_direction == "worst",
            words="chrf++" in (recipe.training.stop_on, recipe.training.chosen_by),
        )

    trainer = Trainer(
        model=model,
        corpus=prepared.training,
        stages=prepared.stages,
        valid=prepared.validation,
        config=recipe.training,
        checkpoints=folder.checkpoints,
        metrics=folder.metrics,
        seed=recipe.seed,
        world=world,
        observer=observer,
        translate=translate if prepared.validation else None,
        stop=stop,
    )
    tokenizer = prepared.tokenizer
    vocabulary = tokenizer.source_size + (
        tokenizer.target_size if tokenizer.vocabularies[0] is not tokenizer.vocabularies[1] else 0
    )
    before = doubts_before(recipe, prepared.training, vocabulary=vocabulary, processes=world.size)
    world.lead(lambda: write_config(bundle.config, folder.checkpoints.folder))
    if trainer.learner.precision == "fp32":
        send_to_onednn()
    world.leader_first(trainer.resume)

    def calibrate() -> None:
        """Learn the risk of translations from the validation text, if it has enough pairs."""
        if not recipe.training.calibrate or stop():
            return
        # Of several directions into one language, the one with most text.
        by_size = sorted(prepared.validation_pairs.items(), key=lambda item: len(item[1]))
        most = {target: (source, pairs) for (source, target), pairs in by_size}
        for target, (source, pairs) in most.items():
            source_language, to = (source, target) if bundle.several else (None, None)
            into = f" into {target}" if len(most) > 1 else ""
            try:
                report = calibrate_folder(
                    folder.path, pairs, source=source_language, to=to, most=recipe.training.calibrate
                )
            except DataError as error:
                observer.on_message(f"the risk of translations{into} is not calibrated: {error}")
            else:
                text = f"error {report.ece:.3f} on {report.lines:,} others"
                observer.on_message(f"calibrated the risk of translations{into}: {text}")

    if world.share(trainer.progress.finished and trainer.done() and folder.complete):
        # The run may have been stopped while it calibrated.
        world.lead(lambda: None if (folder.path / RISK).exists() else calibrate())
        observer.on_message(f"{folder.path}: this run is complete; nothing to do")
        return

    world.lead(trainer.check_space)
    started = _started(trainer, prepared)
    observer.on_start(started)  # on every process: from here on the trainer handles signals
    if world.leads:
        folder.metrics.begin(started)
        for line in before:
            say(f"warning: {line}")

    try:
        trained = trainer.train()
        scores = world.lead(lambda: _write(trainer, prepared, bundle, base, started, trained, before, say))
        world.lead(calibrate)
    except DragomanError as error:
        if world.leads:
            folder.metrics.end(error, trainer.progress.step)
        raise
    if world.leads:
        folder.metrics.end(replace(trained, **scores), trained.step)


def _started(trainer: Trainer, prepared: Prepared) -> Started:
    """The figures of the run as it starts."""
    config, training = trainer.model.config, trainer.config
    return Started(
        output=str(prepared.folder.path),
        parameters=sum(parameter.numel() for parameter in trainer.learner.trained.parameters()),
        source_vocab=config.source_vocab,
        target_vocab=config.target_vocab,
        train_pairs=len(trainer.corpus),
        valid_pairs=sum(map(len, trainer.valid.values())),
        precision=trainer.learner.precision,
        threads=torch.get_num_threads(),
        processes=trainer.world.size,
        resumed_from=trainer.progress.step,
        max_updates=training.max_updates,
        max_epochs=training.max_epochs,
        max_seconds=60 * training.max_minutes if training.max_minutes else None,
        batch_tokens=training.batch_tokens,
    )


def _write(
    trainer: Trainer,
    prepared: Prepared,
    bundle: Bundle,
    base: Bundle | None,
    started: Started,
    finished: Finished,
    before: Sequence[str],
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Put the final weights into the bundle, write the model folder with its card, and return the scores."""
    folder = prepared.folder
    final = folder.checkpoints.final
    put_weights(bundle.model, read_weights(final), final)
    row = {name: getattr(finished, name) for name in ("loss", "bleu", "signature", "search")}
    tuned = None
    if base is not None:
        tuned = finish_tuning(trainer, prepared, base=base, tuned=bundle)
        row["directions"] = {}  # those of the final weights are in `tuned`
        if bleus := tuned.bleus:
            signature = " ".join(dict.fromkeys(one.signature for one in bleus))
            search = search_name(bundle.generation)
            row |= {"bleu": fmean(one.value for one in bleus), "signature": signature, "search": search}
        if prepared.validation:
            row["loss"] = trainer.examiner.validation_loss(alone=True)
    doubted = doubts_after(before, prepared.recipe, updates=finished.step, bleu=row["bleu"])
    for line in doubted:
        say(f"warning: {line}")
    folder.metrics.add({"kind": "result", "step": finished.step, **row, "doubts": doubted})
    card.write(prepared, started=started, finished=replace(finished, **row), tuned=tuned)
    model_folder.save(bundle, folder.path)  # writes the weights last: if they exist, all files do
    return row


def initial_model(prepared: Prepared, say: Callable[[str], None]) -> tuple[AnySeq2Seq, Bundle | None]:
    """Return the model before its first update, and in tuning the base that it starts from.

    Raises ModelError for a base that is not finite.
    """
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
        _start_from(base, model, prepared, say)
    if prepared.teacher is not None:
        _start_from_teacher(prepared.teacher, model, prepared, say)
    if recipe.training.zero_start and base is None:
        with torch.no_grad():
            model.target_embedding.weight[config.start_id] = 0.0
    if recipe.training.close_unseen:
        close(model.logits, torch.from_numpy(~prepared.training.in_targets(config.target_vocab)))
    return model, base


def _start_from_teacher(
    place: str, model: AnySeq2Seq, prepared: Prepared, say: Callable[[str], None]
) -> None:
    """Give the model those weights of the teacher that have the names and shapes of its own."""
    teacher, own = Translator.load(place, download=True).bundle.model, weights_of(model)
    check_finite(weights_of(teacher), f"{place}:", hint="choose another teacher", most=3)
    # Tied weights by each of their names: the student may have them apart.
    weights = dict(cast(nn.Module, teacher).named_parameters(remove_duplicate=False))
    same = {name: weights[name] for name in own if name in weights and weights[name].shape == own[name].shape}
    put_weights(model, {name: weight.detach() for name, weight in (own | same).items()}, place)
    reopen(model.logits, _possible_targets(prepared, model.config.target_vocab))
    say(f"started from {count(sum(map(Tensor.numel, same.values())), 'parameter')} of {place}")


def _possible_targets(prepared: Prepared, vocab: int) -> Tensor:
    """For each token whether a target may have it: any may, if targets change in every epoch."""
    return torch.from_numpy(prepared.training.in_targets(vocab)) | bool(prepared.recipe.changing("noise"))


def _start_from(base: Bundle, model: AnySeq2Seq, prepared: Prepared, say: Callable[[str], None]) -> None:
    """Give the model the weights of the base, and adapters if the recipe trains some."""
    tuning = prepared.recipe.tuning
    extended = prepared.base.config.extended if prepared.base is not None else None
    check_finite(weights_of(base.model), f"{tuning.base}:", hint="choose another base", most=3)
    if open_tokens(base.model.logits.bias) is not None:
        possible_V = _possible_targets(prepared, model.config.target_vocab)
        # In the base, too: the tuned weights are averaged with its weights at the end.
        if opened := reopen(base.model.logits, possible_V):
            lost = tuning.adapter is not None and extended is None
            alone = "; an adapter alone does not open them" if lost else ""
            say(f"opened {count(opened, 'token')} of this text that the base never predicts{alone}")
    put_weights(model, weights_of(base.model), tuning.base)
    if tuning.adapter is not None:
        add_lora(model, rank=tuning.adapter.rank, alpha=tuning.adapter.alpha, on=tuning.adapter.on)
        if extended is not None:
            learn_rows(model, extended)
