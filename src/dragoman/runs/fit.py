"""The part of a run that needs torch: build the model, train it, write the model folder."""

from __future__ import annotations

import platform
import sys
from dataclasses import replace
from pathlib import Path

import torch

from dragoman import native
from dragoman.base.files import write_whole
from dragoman.folder import bundle as model_folder
from dragoman.folder.bundle import Bundle
from dragoman.folder.weights import put_weights, read_weights
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.runs import card, word_vectors
from dragoman.runs.folder import RunFolder
from dragoman.runs.prepare import Prepared
from dragoman.runs.validation import translate_and_score
from dragoman.training.distributed import World
from dragoman.training.events import Finished, Observer, Started
from dragoman.training.precision import precision_for, send_to_onednn
from dragoman.training.profile import Profile
from dragoman.training.trainer import Stop, Trainer
from dragoman.version import __version__


def fit(
    prepared: Prepared, folder: RunFolder, world: World, *, observer: Observer, stop: Stop, profile: bool
) -> None:
    """Train from where the run stands to its end and write the model folder.

    Raises what `Trainer.train` raises.
    """
    recipe = prepared.recipe
    torch.manual_seed(recipe.seed)
    native.enable()
    if precision_for(recipe.training.precision, world.device) == "fp32":
        send_to_onednn()
    model = _model(prepared)
    bundle = Bundle(
        model=model,
        tokenizer=prepared.tokenizer,
        source_language=prepared.source_language,
        target_language=prepared.target_language,
        generation=recipe.generation,
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
            else lambda _: translate_and_score(bundle, prepared.validation_pairs, seed=recipe.seed)
        ),
        stop=stop,
    )
    say = observer.on_message if world.leads else lambda _: None
    if profile and world.leads:
        trainer.profile = Profile(folder.profile, trainer.learner.precision, world.device, say)

    resumed = world.leader_first(trainer.resume)
    if not resumed:
        world.leader_first(lambda: word_vectors.fill(model, prepared.tokenizer, prepared.vectors, say=say))
    if world.share(trainer.progress.finished and trainer.done() and folder.complete):
        observer.on_message(f"{folder.path}: this run is complete; nothing to do")
        return

    started = _started(prepared, trainer, folder)
    observer.on_start(started)  # on every process: from here on the trainer handles signals
    finished = trainer.train()
    if world.leads:
        final = folder.checkpoints.final
        put_weights(model, read_weights(final), final)
        _write_card(prepared, started, finished, folder)
        model_folder.save(bundle, folder.path)  # writes the weights last: where they are, all is
    world.wait()


def _model(prepared: Prepared) -> AnySeq2Seq:
    """A fresh model of the recipe's shape, for the vocabularies of the tokenizer."""
    tokenizer = prepared.tokenizer
    config = replace(
        prepared.recipe.model,
        source_vocab=tokenizer.source_size,
        target_vocab=tokenizer.target_size,
        pad_id=tokenizer.pad_id,
        start_id=tokenizer.start_id,
        end_id=tokenizer.end_id,
    )
    model = build_model(config)
    word_vectors.freeze(model, prepared.vectors)
    return model


def _started(prepared: Prepared, trainer: Trainer, folder: RunFolder) -> Started:
    training = prepared.recipe.training
    return Started(
        output=str(folder.path),
        parameters=sum(parameter.numel() for parameter in trainer.model.parameters()),
        source_vocab=prepared.tokenizer.source_size,
        target_vocab=prepared.tokenizer.target_size,
        train_pairs=len(prepared.training),
        valid_pairs=len(prepared.validation) if prepared.validation is not None else 0,
        precision=trainer.learner.precision,
        threads=torch.get_num_threads(),
        processes=trainer.world.size,
        resumed_from=trainer.progress.step,
        max_updates=training.max_updates,
        max_seconds=60 * training.max_minutes if training.max_minutes else None,
        batch_tokens=training.batch_tokens,
    )


def _write_card(prepared: Prepared, started: Started, finished: Finished, folder: RunFolder) -> None:
    texts = {"training": prepared.training}
    if prepared.validation is not None:
        texts["validation"] = prepared.validation
    text = card.render(
        prepared.recipe,
        started=started,
        finished=finished,
        texts={
            name: card.Text(pairs=len(corpus), fingerprint=corpus.fingerprint, report=corpus.report)
            for name, corpus in texts.items()
        },
        command=_command(),
        versions=card.Versions(
            dragoman=__version__, torch=torch.__version__, python=platform.python_version()
        ),
    )
    write_whole(folder.card, text)


def _command() -> list[str]:
    """The command line, or an empty list if the run was started from Python."""
    program = Path(sys.argv[0])
    ours = program.stem == "dragoman" or (program.stem, program.parent.name) == ("__main__", "dragoman")
    return ["dragoman", *sys.argv[1:]] if ours else []
