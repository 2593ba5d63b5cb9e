"""What each process does in tests of several: `python -m tests.training.ranks FOLDER`, as torchrun would."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from tests.training.small_runs import Corpora, config, model, moments, tokenizer, trainer, weights

from dragoman.base.errors import Interrupted
from dragoman.models.folder.weights import write_weights
from dragoman.training.data.tokenised import TokenisedCorpus
from dragoman.training.processes import distributed
from dragoman.training.processes.distributed import World
from dragoman.training.processes.sharded import local_part
from dragoman.training.trainer import Trainer

OPTIONS: dict[str, Any] = {"max_updates": 8, "validate_every": 4, "clip": 0.5, "alignment_weight": 0.5}
MUON: dict[str, Any] = {"optimizer": "muon", "weight_decay": 0.1, "consistency": 0.5}
AVERAGED: dict[str, Any] = {"ema": 0.8, "average_of": "soup", "average": 3, "validate_every": 2}
# Four batches in an update of two processes.
LONG: dict[str, Any] = {"accumulate": 2, "batch_tokens": 16, "ema": 0.8}


def exchange(world: World) -> dict[str, Any]:
    """Results of everything that processes exchange."""
    mine = [torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(3, dtype=torch.float64))]
    if world.rank == 0:  # the other has had no batch
        mine[0].grad, mine[1].grad = torch.tensor([1.0, 2.0]), torch.ones(3, dtype=torch.float64)
    world.sum_gradients(mine)
    return {
        "rank": world.rank,
        "leads": world.leads,
        "sum": world.sum(torch.tensor([1, 10 * world.rank])).tolist(),
        "greatest": world.greatest(2 + world.rank)[0],
        "shared": world.share({"from": world.rank, "text": "é\udc80", "nan": float("nan")}),
        "gathered": world.gather("x" * world.rank),
        "led": world.lead(lambda: world.rank),
        "own": world.leader_first(lambda: world.rank),
        "gradients": [parameter.grad.tolist() for parameter in mine if parameter.grad is not None],
    }


def no_pickles(*_: object) -> None:
    raise AssertionError("something was pickled")


def run_of(folder: Path, corpora: Corpora, world: World, **options: Any) -> Trainer:
    """A run in double precision, with dropout."""
    net = model(corpora[0].tokenizer).double()
    return trainer(folder, corpora, options=config(**(OPTIONS | options)), net=net, world=world)


def finish(folder: Path, name: str, corpora: Corpora, world: World, **options: Any) -> Trainer:
    """Continue a run to its end, and write what this process then has beside it."""
    run = run_of(folder / name, corpora, world, **options)
    run.resume()
    run.train()
    write_weights(folder / f"{name}-weights-{world.rank}", weights(run))
    write_weights(folder / f"{name}-moments-{world.rank}", moments(run))
    return run


def main(folder: Path, task: str) -> None:
    for name in ("_object_to_tensor", "_tensor_to_object"):  # torch pickles objects for others by these
        assert hasattr(torch.distributed.distributed_c10d, name)
        setattr(torch.distributed.distributed_c10d, name, no_pickles)
    world = distributed.join()
    cut = tokenizer()
    corpora = TokenisedCorpus(folder / "train", cut), TokenisedCorpus(folder / "valid", cut)
    if task == "two":
        two(folder, corpora, world)
    else:
        four(folder, corpora, world)
    distributed.leave(world)


def four(folder: Path, corpora: Corpora, world: World) -> None:
    """Finish what other numbers of processes began: weights that are shared, and weights that are not."""
    for name in ("second", "first"):
        finish(folder, name, corpora, world, **LONG, parallel="sharded")


def stop_at(run: Trainer, step: int) -> None:
    run.stop = lambda: 2 if run.progress.step == step else 0
    try:
        run.train()
    except Interrupted:
        return
    raise AssertionError("it did not stop")


def two(folder: Path, corpora: Corpora, world: World) -> None:
    report = exchange(world)
    finish(folder, "replicated", corpora, world)
    run = finish(folder, "sharded", corpora, world, parallel="sharded", recompute=True)
    report["rows"] = sum(local_part(parameter).numel() for parameter in run.learner.trained.parameters())
    finish(folder, "muon", corpora, world, parallel="sharded", **MUON)
    finish(folder, "muon-replicated", corpora, world, **MUON)
    for parallel in ("replicated", "sharded"):
        finish(folder, f"averaged-{parallel}", corpora, world, parallel=parallel, **AVERAGED)
    for name, parallel in (("first", "replicated"), ("second", "sharded")):
        begun = run_of(folder / name, corpora, world, **LONG, parallel=parallel)
        begun.resume()
        stop_at(begun, 3)
        report[name] = sorted(path.name for path in begun.checkpoints.latest.iterdir())

    # Both were sent Ctrl-C, but only the second has noticed.
    stopped = trainer(folder / "stopped", corpora, options=config(**OPTIONS), world=world)
    stopped.stop = lambda: 2 if world.rank == 1 and stopped.progress.step == 3 else 0
    try:
        stopped.train()
    except Interrupted as interrupted:
        report |= {"stopped": stopped.progress.step, "exit_code": interrupted.exit_code}

    # Masks differ between the batches of an update, or two would be no more than one.
    torch.manual_seed(world.rank)
    drawn = trainer(folder / "drawn", corpora, options=config(max_updates=1), world=world)
    drawn.train()
    report["mask"] = torch.rand(1).item()

    (folder / f"report-{world.rank}.json").write_text(json.dumps(report))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
