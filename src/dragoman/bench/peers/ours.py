"""dragoman: the updates that `dragoman train` makes. Under torchrun each process has a part of each batch."""

from __future__ import annotations

import torch
from timing import arguments, batches, measure

from dragoman import native
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.training import distributed
from dragoman.training.batches import collate
from dragoman.training.malloc import keep_freed_memory
from dragoman.training.options import TrainingConfig
from dragoman.training.precision import send_to_onednn
from dragoman.training.update import Learner
from dragoman.version import __version__


def main() -> None:
    options, shape = arguments()
    keep_freed_memory()
    native.enable()
    if options.precision == "fp32":
        send_to_onednn()
    torch.set_num_threads(options.threads)
    world = distributed.join()
    torch.manual_seed(1)
    sizes = {key: value for key, value in vars(shape).items() if key != "vocab"}
    model = build_model(TransformerConfig(source_vocab=shape.vocab, target_vocab=shape.vocab, **sizes))
    config = TrainingConfig(
        schedule="inverse-sqrt", learning_rate=1e-4, warmup=10, precision=options.precision
    )
    learner = Learner(model, config, world)
    given = [
        collate(
            [row[: (row != 0).sum() - 1] for row in source[world.rank :: world.size]],
            [row[: (row != 0).sum() - 1] for row in target[world.rank :: world.size]],
            pad_id=0, start_id=1, end_id=2,
        ).to(world.device)
        for source, target in batches(options)
    ]  # fmt: skip
    steps = iter(range(1, len(given) + 1))
    if world.leads:
        parameters = sum(p.numel() for p in learner.model.parameters())
        about = {"version": f"dragoman {__version__}", "parameters": parameters}
        measure(options, lambda batch: learner.update([batch], next(steps), seed=1), given, **about)
    else:
        for batch in given:
            learner.update([batch], next(steps), seed=1)
    distributed.leave()


if __name__ == "__main__":
    main()
