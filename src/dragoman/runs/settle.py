"""The end of a tuning run: the mean of the tuned weights and the base's, and what tuning changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from dragoman.base.errors import Interrupted
from dragoman.folder.bundle import Bundle
from dragoman.folder.merge import write_adapter
from dragoman.folder.weights import put_weights, weights_of, write_weights
from dragoman.models.lora import lora_shape, lora_weights, merge_lora
from dragoman.runs.effect import GENERAL, IN_DOMAIN, Effect, effect_of
from dragoman.runs.prepare import Prepared
from dragoman.training.trainer import Trainer

_SHARES = tuple(tenths / 10 for tenths in range(1, 11))
_COST = 0.022  # nats a token of general text
_WITHOUT_TEXT = 0.5  # Wortsman et al. 2022, section 3: close to the best on many texts
_ENOUGH = 0.95  # of the gain in domain, if general text is unknown
Weights = Mapping[str, Tensor]


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """What a tuning run ended with."""

    base: str  # name of the model it started from
    share: float  # of the tuned weights in the mean
    effect: Effect


def settle(
    trainer: Trainer,
    prepared: Prepared,
    *,
    base: Bundle,
    tuned: Bundle,
    adapter: Path,
    say: Callable[[str], None],
) -> Tuned:
    """Give `tuned` its final weights, write them as the run's final ones, and compare it with the base.

    An adapter is added to the weights. It is also written into the folder `adapter`, if the base is a model
    folder that it can be used with.
    """
    learnt = {name: weight.detach().clone() for name, weight in lora_weights(tuned.model).items()}
    shape = lora_shape(tuned.model) if learnt else None
    merge_lora(tuned.model)
    first = weights_of(base.model)
    last = {name: weight.clone() for name, weight in weights_of(tuned.model).items()}

    def put(share: float) -> None:
        put_weights(tuned.model, mean(first, last, share), "the mean with the base")

    wanted = prepared.recipe.tuning.interpolate
    if wanted == "auto":
        share, losses = _choose(trainer, prepared, put)
        for row in losses:
            trainer.metrics.add({"kind": "interpolation", **row})
    else:
        share = wanted
    put(share)
    say(f"weights: {share:.0%} tuned, {1 - share:.0%} of the base")
    write_weights(trainer.checkpoints.final, weights_of(tuned.model))
    if signal := trainer.stop():
        raise Interrupted(
            "stopped after training, which is saved", signal=signal, hint="repeat the command to finish"
        )
    folder = prepared.base.folder if prepared.base is not None else None
    if shape is not None and share and folder is not None:
        # The mean of the base and the base with the adapter is the base with a weaker one.
        weaker, name = replace(shape, alpha=shape.alpha * share), adapter.absolute().parent.name
        write_adapter(learnt, weaker, adapter, base=folder, name=name)
        say(f"the adapter alone is in {adapter}: use it with the base and --adapter")
    say("translating with the base and with the tuned model")
    effect = effect_of(base, tuned, {IN_DOMAIN: prepared.validation_pairs, GENERAL: prepared.general_pairs})
    for row in effect.to_table():
        trainer.metrics.add(row)
    for line in effect.lines():
        say(line)
    return Tuned(base=prepared.base.name if prepared.base is not None else "", share=share, effect=effect)


def mean(first: Weights, last: Weights, share: float) -> dict[str, Tensor]:
    """Return (1 - share) * first + share * last: WiSE-FT, Wortsman et al. 2022, eq. 1."""
    return {name: torch.lerp(weight.to(last[name]), last[name], share) for name, weight in first.items()}


def _choose(
    trainer: Trainer, prepared: Prepared, put: Callable[[float], None]
) -> tuple[float, list[dict[str, float]]]:
    """Return the share of the tuned weights, and the losses of every share that was tried.

    It is the best in domain of those that lose little on general text. Without general text, it is the
    smallest with nearly the whole gain in domain. Without held-out pairs it is at most one half. If every
    share loses, it is the smallest.
    """
    if prepared.validation is None and prepared.general is None:
        return _WITHOUT_TEXT, []
    rows: list[dict[str, float]] = []
    for share in (0.0, *_SHARES):
        put(share)
        row = {"share": share}
        if prepared.validation is not None:
            row["loss"] = trainer.examiner.loss_of(prepared.validation)
        if prepared.general is not None:
            row["general_loss"] = trainer.examiner.loss_of(prepared.general)
        rows.append(row)
    return chosen_share(rows), rows


def chosen_share(rows: list[dict[str, float]]) -> float:
    """Return the share that `_choose` describes, from the losses of all shares in ascending order."""
    smallest = rows[1]["share"]
    if "general_loss" in rows[0]:
        most = rows[0]["general_loss"] + _COST
        cheap = [row for row in rows[1:] if row["general_loss"] <= most]
        if "loss" not in rows[0]:
            return max((row["share"] for row in cheap if row["share"] <= _WITHOUT_TEXT), default=smallest)
        return min(cheap or rows[1:2], key=lambda row: row["loss"])["share"]
    gain = rows[0]["loss"] - min(row["loss"] for row in rows)
    enough = rows[0]["loss"] - _ENOUGH * gain
    return next((row["share"] for row in rows[1:] if row["loss"] <= enough), smallest)
