"""Lines of metrics.jsonl as a run writes them, for the tests of the studio."""

from __future__ import annotations

import json
from typing import Any


def line(kind: str, step: float, **more: Any) -> str:
    return json.dumps({"kind": kind, "step": step, **more}, ensure_ascii=False) + "\n"


def train(step: int, nll: float = 3.0, **more: Any) -> str:
    fields = {
        "epoch": 0, "loss": nll + 0.5, "nll": nll, "perplexity": 20.0, "learning_rate": 0.001,
        "padding": 0.04, "tokens_per_second": 2500.5, "gradient_norm": 0.5, "tokens": 4000 * step,
        "seconds": 2.0 * step, "eta_seconds": 2.0 * (1000 - step),
    }  # fmt: skip
    return line("train", step, **(fields | more))


def valid(step: int, loss: float = 2.5, **more: Any) -> str:
    fields = {
        "loss": loss, "perplexity": 12.0, "bleu": step / 50, "chrf": 40.0, "signature": "s", "score": -loss,
        "best": True, "seconds": 4.0, "elapsed": 2.0 * step,
    }  # fmt: skip
    return line("valid", step, **(fields | more))


def samples(step: int, hypothesis: str, source: str = "A cat sleeps.") -> str:
    one = {"source": source, "hypothesis": hypothesis, "reference": "Eine Katze schläft."}
    return line("samples", step, samples=[one])


def start(step: int = 0, **more: Any) -> str:
    fields = {"time": 1.75e9 + step, "max_updates": 1000, "parameters": 1_000_000, "precision": "fp32"}
    return line("start", step, **(fields | more))


RECIPE = """seed = 1
[model]
d_model = {width}
heads = 4
[training]
max_updates = 1000
"""
