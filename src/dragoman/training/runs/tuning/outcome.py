"""The end of a tuning run: the mean of the tuned weights and the base's, and what tuning changed.

Both models translate each text, and their scores are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from dragoman.base.errors import Interrupted
from dragoman.base.tables import count, markdown
from dragoman.evaluation.metrics import compare
from dragoman.evaluation.results import Comparison, Difference, Score
from dragoman.models.folder.bundle import Bundle
from dragoman.models.folder.int8 import rounded_to_int8
from dragoman.models.folder.merge import merge_lora, rows_of_new, write_adapter
from dragoman.models.folder.weights import put_weights, weights_of, write_weights
from dragoman.models.lora import lora_shape, lora_weights
from dragoman.text.corpora.languages import Direction, direction_name
from dragoman.training.runs.prepare import Prepared
from dragoman.training.runs.text.texts import Pairs
from dragoman.training.runs.tuning.held_out import Pair
from dragoman.training.trainer import Trainer
from dragoman.translation.translator import Translator

BEFORE, AFTER = "before", "after"
IN_DOMAIN, GENERAL = "in domain", "general"
_NO_GENERAL = "general: not measured, because no general text was given; what the model forgot is unknown"
_NO_TEXT = "in domain: not measured, because no text was held out"
_SHARES = tuple(tenths / 10 for tenths in range(1, 11))
_COST = 0.022  # nats a token of general text
_WITHOUT_TEXT = 0.5  # Wortsman et al. 2022, section 3: close to the best on many texts
_ENOUGH = 0.95  # of the gain in domain, if general text is unknown
Weights = Mapping[str, Tensor]


def finish_tuning(trainer: Trainer, prepared: Prepared, *, base: Bundle, tuned: Bundle) -> Tuned:
    """Give `tuned` its final weights, write them as the run's final ones, and compare it with the base.

    An adapter is added to the weights. It is also written into the folder `adapter` of the run, if the base
    is a model folder that it can be used with.
    """
    say = trainer.observer.on_message
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
        weaker, adapter = replace(shape, alpha=shape.alpha * share), prepared.folder.path / "adapter"
        name, new = adapter.absolute().parent.name, None
        if prepared.base is not None and (extended := prepared.base.config.extended) is not None:
            learnt, new = learnt | rows_of_new(weights_of(tuned.model), extended), tuned
        reads = prepared.recipe.data.annotating.names
        ways = prepared.directions
        write_adapter(
            learnt, weaker, adapter, base=folder, name=name, guidance=reads, directions=ways, extended=new
        )
        say(f"the adapter alone is in {adapter}: use it with the base and --adapter")
    say("translating with the base and with the tuned model")
    texts: dict[str, tuple[Direction | None, Pairs]] = {
        f"{IN_DOMAIN}, {direction_name(one)}" if len(prepared.validation_pairs) > 1 else IN_DOMAIN: (
            one if tuned.several else None,
            pairs,
        )
        for one, pairs in prepared.validation_pairs.items()
    }
    texts[GENERAL] = None, prepared.general_pairs
    rounding = rounded_to_int8 if prepared.recipe.training.quantise else nullcontext
    with rounding(base.model), rounding(tuned.model):  # as they are translated with in the end
        comparisons = compared(base, tuned, texts)
    outcome = Tuned(
        base=prepared.base.name if prepared.base is not None else "", share=share, comparisons=comparisons
    )
    for row in outcome.to_table():
        trainer.metrics.add(row)
    for line in outcome.lines():
        say(line)
    return outcome


def mean(first: Weights, last: Weights, share: float) -> dict[str, Tensor]:
    """Return (1 - share) * first + share * last: WiSE-FT, Wortsman et al. 2022, eq. 1."""
    return {name: torch.lerp(weight.to(last[name]), last[name], share) for name, weight in first.items()}


def _choose(
    trainer: Trainer, prepared: Prepared, put: Callable[[float], None]
) -> tuple[float, list[dict[str, float]]]:
    """Return the share of the tuned weights, and the losses of every share that was tried.

    It is the best in domain among the shares that lose little on general text. Without general text, it is
    the smallest with nearly the whole gain in domain. Without held-out pairs it is at most one half. If every
    share loses, it is the smallest.
    """
    if not prepared.validation and prepared.general is None:
        return _WITHOUT_TEXT, []
    rows: list[dict[str, float]] = []
    for share in (0.0, *_SHARES):
        put(share)
        row = {"share": share}
        if (loss := trainer.examiner.validation_loss(alone=True)) is not None:
            row["loss"] = loss
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


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The result of a tuning run."""

    base: str  # name of the model it started from
    share: float  # of the tuned weights in the mean
    comparisons: dict[str, Comparison]  # the scores of each text before and after, by its name

    @property
    def bleus(self) -> list[Score]:
        """BLEU of the tuned model in domain, if there is text, in each direction."""
        in_domain = [one for name, one in self.comparisons.items() if name.startswith(IN_DOMAIN)]
        return [one.scores[AFTER].bleu for one in in_domain]

    def lines(self) -> Iterator[str]:
        """Yield the scores as lines of at most 100 columns."""
        for name, comparison in self.comparisons.items():
            yield f"{name}, {count(_lines(comparison), 'line')}:"
            for before, after, difference in _rows(comparison):
                yield (
                    f"  {before.name:<6} {before.value:.2f} {before.interval} -> {after.value:.2f} "
                    f"{after.interval}, {difference.difference:+.2f}, {_verdict(difference)}"
                )
        yield from self.unknown()

    def unknown(self) -> Iterator[str]:
        """Yield notes about missing measurements."""
        if not any(name.startswith(IN_DOMAIN) for name in self.comparisons):
            yield _NO_TEXT
        if GENERAL not in self.comparisons:
            yield _NO_GENERAL

    def to_markdown(self) -> list[str]:
        """Return the section of the model card."""
        head = ["text", "lines", "score", BEFORE, AFTER, "difference", "p", "signature"]
        rows = [
            [
                name,
                f"{_lines(comparison):,}",
                before.name,
                f"{before.value:.2f} {before.interval}",
                f"{after.value:.2f} {after.interval}",
                f"{difference.difference:+.2f}",
                difference.p_text.removeprefix("p ").removeprefix("= "),
                f"`{before.signature}`",
            ]
            for name, comparison in self.comparisons.items()
            for before, after, difference in _rows(comparison)
        ]
        table = [*markdown(head, rows), ""] if rows else []
        notes = [f"- {note[0].upper()}{note[1:]}." for note in (*self.unknown(), *(_NOTES if rows else ()))]
        return [*table, *notes, ""]

    def to_table(self) -> list[dict[str, Any]]:
        """Return a row of metrics.jsonl for each text."""
        return [
            {"kind": "comparison", "text": name, **comparison.to_table()}
            for name, comparison in self.comparisons.items()
        ]


_NOTES = (
    "in brackets the 95 % interval of a bootstrap; p comes from paired bootstrap resampling",
    "the text in domain also chose the weights, so its score is slightly too high",
)


def compared(
    base: Bundle, tuned: Bundle, texts: Mapping[str, tuple[Direction | None, Sequence[Pair]]]
) -> dict[str, Comparison]:
    """Translate and score each text that has pairs with both models, with the default search.

    A text has its direction if the models have several. In one that the base was not trained on, it reads
    the marks that the tuned model reads.
    """
    able = replace(base, directions=tuned.directions)
    before, able_before, after = (Translator.of(one, engine=None) for one in (base, able, tuned))
    comparisons = {}
    for text, (direction, pairs) in texts.items():
        if pairs:
            source, to = direction or (None, None)
            known = direction is None or direction in base.directions
            translators = {BEFORE: before if known else able_before, AFTER: after}
            sources = [source for source, _ in pairs]
            comparisons[text] = compare(
                {
                    name: [
                        one.text for one in translator.translate(sources, split=False, source=source, to=to)
                    ]
                    for name, translator in translators.items()
                },
                [reference for _, reference in pairs],
                baseline=BEFORE,
                metrics=("bleu", "chrf"),
                target_language=to or tuned.target_language,
            )
    return comparisons


def _rows(comparison: Comparison) -> Iterator[tuple[Score, Score, Difference]]:
    """Each score before and after, and their difference."""
    before, after = (comparison.scores[name].by_metric for name in (BEFORE, AFTER))
    for difference in comparison.differences:
        yield before[difference.metric], after[difference.metric], difference


def _lines(comparison: Comparison) -> int:
    return comparison.scores[BEFORE].lines


def _verdict(difference: Difference) -> str:
    if not difference.significant:
        return f"not significant ({difference.p_text})"
    return f"{'better' if difference.better else 'worse'} ({difference.p_text})"
