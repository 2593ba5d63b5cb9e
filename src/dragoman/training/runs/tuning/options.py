"""The options of tuning: how a model learns a translation memory without forgetting the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from dragoman.base.options import Option, Options
from dragoman.models.adapter import AdaptedPart, AdapterShape

ReplayFrom = Literal["auto", "files", "base", "none"]


@dataclass(frozen=True, kw_only=True)
class TuningConfig(Options, section="tuning"):
    """How to tune a model on a translation memory (`--from MODEL`). Other runs do not use these options."""

    base: Annotated[str, Option("Digest of the weights to start from. `--from MODEL` sets it.")] = ""
    held_out: Annotated[
        int | None,
        Option(
            "Pairs of the memory to hold out if there is no --valid. By default 5%, but at least 50 and at "
            "most 500, and none if that is over a quarter of the memory.",
            at_least=0,
        ),
    ] = None
    alike: Annotated[
        float,
        Option(
            "A pair leaves the training text if one of its sides is at least this similar to that side of a "
            "held-out pair: 1 - edits / letters of both, where a replaced letter is two edits.",
            above=0,
            at_most=1,
        ),
    ] = 0.8
    replay: Annotated[
        float | None,
        Option(
            "Share of general text among the pairs of an epoch; 0 for none. Left out, 0.75 with a memory of "
            "fewer than 10,000 pairs, 0.5 below 50,000, else 0.25.",
            at_least=0,
            below=1,
        ),
    ] = None
    replay_from: Annotated[
        ReplayFrom,
        Option(
            "Where general text comes from. files: --replay; base: the text that the base was trained on, if "
            "its checkpoints folder still has it; auto: files if they are named, else base if it has text, "
            "else none."
        ),
    ] = "auto"
    interpolate: Annotated[
        float | Literal["auto"],
        Option(
            "Share of the tuned weights in their final mean with the base's (WiSE-FT, Wortsman et al. 2022); "
            "1 keeps the tuned weights alone. auto chooses by the loss on held-out text; it is 1 if the base "
            "was not trained on a pair of languages of the text.",
            at_least=0,
            at_most=1,
        ),
    ] = "auto"
    lora_rank: Annotated[
        int,
        Option(
            "Rank of low-rank adapters, which are trained instead of the weights and added to them at the "
            "end (LoRA, Hu et al. 2021). 0 trains all weights.",
            at_least=0,
        ),
    ] = 0
    lora_alpha: Annotated[
        float | None,
        Option("The adapters are multiplied by lora_alpha / lora_rank. Left out, by 2.", above=0),
    ] = None
    lora_on: Annotated[AdaptedPart | Literal["all"], Option("Parts of the layers that have adapters.")] = (
        "all"
    )

    @property
    def adapter(self) -> AdapterShape | None:
        """The adapters to train, or None."""
        if not self.lora_rank:
            return None
        alpha = 2.0 * self.lora_rank if self.lora_alpha is None else self.lora_alpha
        parts = get_args(AdaptedPart) if self.lora_on == "all" else (self.lora_on,)
        return AdapterShape(rank=self.lora_rank, alpha=alpha, on=parts)
