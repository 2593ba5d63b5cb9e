"""Training options."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from dragoman.base.errors import ConfigError
from dragoman.base.options import Option, Options
from dragoman.models.shapes import Architecture, TransformerOptions
from dragoman.text.noise import NOISES, Noise
from dragoman.training.step import schedule
from dragoman.translation.search.options import AttentionOf, last_but_one

Schedule = Literal["paper", "inverse-sqrt", "cosine"]
StopOn = Literal["loss", "bleu", "chrf", "chrf++"]
AverageOf = Literal["last", "best", "soup"]
ValidationSearch = Literal["greedy", "generation"]
Optimizer = Literal["adam", "muon"]
Precision = Literal["auto", "fp32", "bf16"]
Parallel = Literal["replicated", "sharded"]
Rounding = Literal["int8"]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig(Options, section="training"):
    """How to train. The defaults are the paper's (section 5), except the size of a batch."""

    batch_tokens: Annotated[
        int,
        Option(
            "Tokens in a batch, padding included: at most this many source and this many target tokens "
            "in each process. The paper has about 25,000 on 8 GPUs together (section 5.1).",
            at_least=1,
        ),
    ] = 4096
    accumulate: Annotated[
        int,
        Option(
            "Batches of each process whose gradients are added up to one update. A run resumed with a "
            "different number of processes keeps the total.",
            at_least=1,
            at_most=100_000,
        ),
    ] = 1
    parallel: Annotated[
        Parallel,
        Option(
            "Whether each process holds all weights, gradients and moments (replicated), or a shard of each "
            "(sharded, by PyTorch's FSDP2)."
        ),
    ] = "replicated"
    max_updates: Annotated[int, Option("Updates after which training stops.", at_least=1)] = 100_000
    max_epochs: Annotated[
        int | None,
        Option(
            "Passes through the training text after which training stops. Whole ones in a stage count.",
            at_least=1,
        ),
    ] = None
    max_minutes: Annotated[float | None, Option("Minutes after which training stops.", above=0)] = None
    schedule: Annotated[
        Schedule,
        Option(
            "Learning rate by update: eq. 3 of the paper (section 5.3), the same shape with its own peak, "
            "or half a cosine down to 0 at max_updates or max_minutes (Loshchilov and Hutter 2017)."
        ),
    ] = "paper"
    learning_rate: Annotated[
        float | None, Option("Peak of the learning rate. Schedules other than the paper's need it.", above=0)
    ] = None
    warmup: Annotated[
        int, Option("Updates during which the learning rate rises (section 5.3).", at_least=1)
    ] = 4000
    optimizer: Annotated[
        Optimizer,
        Option(
            "Adam (section 5.3), or Muon (Jordan et al. 2024) for the matrices inside the layers, "
            "and Adam for the rest."
        ),
    ] = "adam"
    betas: Annotated[
        tuple[float, float], Option("Adam's decay rates, beta1 and beta2 (section 5.3).", at_least=0, below=1)
    ] = (0.9, 0.98)
    epsilon: Annotated[float, Option("Adam's epsilon (section 5.3).", above=0)] = 1e-9
    weight_decay: Annotated[
        float, Option("Decoupled weight decay (Loshchilov and Hutter 2019).", at_least=0)
    ] = 0.0
    clip: Annotated[float, Option("Largest norm of the gradient; 0 does not clip it.", at_least=0)] = 0.0
    label_smoothing: Annotated[float, Option("Label smoothing (section 5.4).", at_least=0, below=1)] = 0.1
    consistency: Annotated[
        float,
        Option(
            "Weight of R-Drop's divergence between two passes with different dropout (Wu et al. 2021). "
            "0 makes one pass only.",
            at_least=0,
        ),
    ] = 0.0
    ema: Annotated[
        float,
        Option(
            "Decay of an exponential moving average of the weights (Polyak and Juditsky 1992). Validations, "
            "the final average and the model then use it; 0.99 to 0.999 are usual. The decay of an early "
            "update is less: (1 + update) / (10 + update). 0 computes no average.",
            at_least=0,
            below=1,
        ),
    ] = 0.0
    close_unseen: Annotated[
        bool,
        Option(
            "Never predict tokens that no training target contains, such as the source language's own in a "
            "shared vocabulary. Training then skips their logits. Needs model.output_bias."
        ),
    ] = False
    zero_start: Annotated[
        bool,
        Option(
            "Start the decoder from a zero vector, as Marian does. An SSRU decoder for Marian or Firefox "
            "needs it."
        ),
    ] = False
    alignment_weight: Annotated[
        float,
        Option(
            "Weight of a loss that trains a head of the last decoder layer but one to align words (Garg et "
            "al. 2019). 0 trains none; 0.05 is usual.",
            at_least=0,
        ),
    ] = 0.0
    precision: Annotated[
        Precision,
        Option("Arithmetic of the layers. auto is bf16 if the processor multiplies it natively, else fp32."),
    ] = "auto"
    recompute: Annotated[
        bool,
        Option(
            "For the backward pass, keep only the input of each layer of a Transformer and compute the layer "
            "again (activation checkpointing, Chen et al. 2016). Saves memory for up to a third more time."
        ),
    ] = False
    quantise: Annotated[
        Rounding | None,
        Option(
            "Train, validate and score with weights rounded as in 8-bit models of Marian and Firefox, so "
            "that rounding costs less. The gradient changes the weights before rounding, which are kept."
        ),
    ] = None
    validate_every: Annotated[
        int, Option("Updates between validations. Each validation writes a checkpoint.", at_least=1)
    ] = 500
    stop_on: Annotated[
        StopOn,
        Option("Criterion for the best checkpoint: loss, BLEU, chrF or chrF++ on the validation text."),
    ] = "loss"
    stop_direction: Annotated[
        Literal["mean", "worst"],
        Option(
            "What counts of a model of several directions: the mean of their scores, or the worst of them."
        ),
    ] = "mean"
    validation_search: Annotated[
        ValidationSearch,
        Option(
            "How a validation translates: by greedy search, which is fast, or by the search of [generation], "
            "like the final model."
        ),
    ] = "greedy"
    patience: Annotated[
        int, Option("Validations without a new best after which to stop; 0 never stops early.", at_least=0)
    ] = 0
    average: Annotated[
        int, Option("Checkpoints whose weights are averaged at the end (section 6.1).", at_least=1)
    ] = 5
    average_of: Annotated[
        AverageOf,
        Option(
            "Which checkpoints to average: the last, as in the paper; the best; or soup, which goes through "
            "those with the lowest validation loss and adds each that lowers the loss of the average (greedy "
            "soup, Wortsman et al. 2022)."
        ),
    ] = "last"
    choose_by: Annotated[
        StopOn | None,
        Option(
            "Criterion at the end for keeping the average or the best single checkpoint. Left out, "
            "training.stop_on."
        ),
    ] = None
    calibrate: Annotated[
        int,
        Option(
            "Largest number of validation pairs for calibrating the risk of translations at the end; 0 "
            "skips it. It needs at least 200.",
            at_least=0,
        ),
    ] = 1000
    log_every: Annotated[int, Option("Updates between two reports of progress.", at_least=1)] = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schedule != "paper" and self.learning_rate is None:
            raise ConfigError(
                f'training.schedule = "{self.schedule}" needs a peak', hint="set training.learning_rate"
            )
        if self.schedule == "paper" and self.learning_rate is not None:
            raise ConfigError(
                'training.schedule = "paper" sets its own learning rate',
                hint='leave out training.learning_rate, or set training.schedule="inverse-sqrt"',
            )

    @property
    def chosen_by(self) -> StopOn:
        """The score that decides at the end between the average and the best single checkpoint."""
        return self.choose_by or self.stop_on

    def check_validated(self, *, loss: bool, translated: bool) -> None:
        """Raise ConfigError for an option that needs a score which validation does not compute.

        `loss` and `translated` say whether it computes the loss, and translates.
        """
        needing = {"average_of": ("soup",)} if not loss else {}
        if not translated:
            needing |= dict.fromkeys(("stop_on", "choose_by"), get_args(StopOn)[1:])
        for name, values in needing.items():
            if (value := getattr(self, name)) in values:
                raise ConfigError(
                    f'training.{name} = "{value}" needs validation text', hint="pass --valid FILE FILE"
                )

    def aligning(self, model: Architecture) -> AttentionOf | None:
        """The head of the decoder that is trained to align: the first of the last layer but one.

        Raises ConfigError for a model without other heads that could teach it.
        """
        if not self.alignment_weight:
            return None
        if not isinstance(model, TransformerOptions) or model.heads < 2:
            raise ConfigError(
                f"training.alignment_weight = {self.alignment_weight:g} needs a Transformer with 2 heads or "
                "more",
                hint="set training.alignment_weight=0",
            )
        return AttentionOf(last_but_one(model.decoder_layers), head=1)

    def recomputing(self, model: Architecture) -> bool:
        """Whether to compute layers again. Raises ConfigError for a model without layers of a Transformer."""
        if self.recompute and not isinstance(model, TransformerOptions):
            raise ConfigError(
                f'training.recompute = true with model.architecture = "{model.architecture}"',
                hint="set training.recompute=false; only Transformers have it",
            )
        return self.recompute

    def rate(self, step: int, d_model: int, seconds: float = 0.0) -> float:
        """Return the learning rate of update `step`, counted from 1, after `seconds` of training."""
        match self.schedule:
            case "paper":
                return schedule.paper(step, d_model=d_model, warmup=self.warmup)
            case "inverse-sqrt":
                return schedule.inverse_sqrt(step, peak=self.learning_rate or 0, warmup=self.warmup)
            case "cosine":
                # In whole percents, so that a run that ends by its updates does not depend on the clock.
                time = 0.0 if self.max_minutes is None else seconds // (0.6 * self.max_minutes) / 100
                return schedule.cosine(
                    step, peak=self.learning_rate or 0, warmup=self.warmup, last=self.max_updates, time=time
                )


@dataclass(frozen=True, kw_only=True)
class Annotating:
    """The shares of the pairs that a model reads with notes, matches, context, formality and noise."""

    terms: float = 0.0
    matches: float = 0.0
    target_language: str = ""  # to see which words are forms of one
    # Tokenised text does not depend on these, but for the context and the text that are kept with it.
    context: float = field(default=0.0, repr=False)
    context_target: bool = field(default=False, repr=False)
    formality: float = field(default=0.0, repr=False)
    noise: float = field(default=0.0, repr=False)
    noise_kinds: tuple[Noise, ...] = field(default=NOISES, repr=False)
    source_language: str = field(default="", repr=False)  # for its keyboard

    @property
    def names(self) -> tuple[str, ...]:
        """The kinds of guidance that the model learns to read, as the model folder names them."""
        names = [name for name in ("terms", "matches", "context", "formality") if getattr(self, name)]
        return (*names, *(["context target"] if self.context and self.context_target else []))


NOTHING = Annotating()
