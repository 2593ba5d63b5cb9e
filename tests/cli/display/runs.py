"""Events of a trainer, for the tests of the displays."""

from __future__ import annotations

from typing import Any

from dragoman.training.events import Finished, Report, SampleTranslation, Started, Validation


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def started(**changes: Any) -> Started:
    fields: dict[str, Any] = {
        "output": "runs/en-de", "parameters": 2_634_112, "source_vocab": 8000, "target_vocab": 8000,
        "train_pairs": 28_961, "valid_pairs": 1014, "precision": "bf16", "threads": 2, "processes": 1,
        "resumed_from": 0, "max_updates": 8000, "max_seconds": None, "batch_tokens": 4096,
    }  # fmt: skip
    return Started(**(fields | changes))


def report(number: int = 20, **changes: Any) -> Report:
    fields: dict[str, Any] = {
        "step": number, "epoch": number // 500, "loss": 2.3142, "nll": 1.81, "perplexity": 6.1104,
        "learning_rate": 0.00123, "tokens_per_second": 6120.4, "padding": 0.0312, "gradient_norm": 0.83,
        "seconds": number / 2, "eta_seconds": (8000 - number) / 2, "tokens": number * 4000,
    }  # fmt: skip
    return Report(**(fields | changes))


SAMPLES = (
    SampleTranslation(
        source="A man rides a bike.", hypothesis="Ein Mann fährt Rad.", reference="Ein Mann fährt Fahrrad."
    ),
    SampleTranslation(source="It snows.", hypothesis="Es schneit.", reference="Es schneit."),
)


def validation(number: int = 500, **changes: Any) -> Validation:
    fields: dict[str, Any] = {
        "step": number, "loss": 1.9, "perplexity": 6.69, "bleu": 31.26, "chrf": 55.0, "signature": "s",
        "score": -1.9, "best": True, "seconds": 4.0, "elapsed": number / 2, "samples": SAMPLES,
    }  # fmt: skip
    return Validation(**(fields | changes))


def finished(**changes: Any) -> Finished:
    fields: dict[str, Any] = {
        "step": 8000, "seconds": 3500.0, "tokens": 32_000_000, "best_step": 7500,
        "outcome": "the average of 5 checkpoints", "loss": 1.9, "bleu": 31.26, "signature": "s",
        "peak_memory": 1_234_000_000,
    }  # fmt: skip
    return Finished(**(fields | changes))
