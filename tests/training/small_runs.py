"""Runs small enough to repeat many times: a few dozen pairs, a model of a few thousand weights."""

from __future__ import annotations

import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from dragoman.models.folder.weights import weights_of
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import Transformer
from dragoman.text.corpora.corpus import open_pairs
from dragoman.text.corpora.filter import FilterConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.training.checkpoints.paths import Checkpoints
from dragoman.training.checkpoints.progress import Candidate
from dragoman.training.data.tokenised import TokenisedCorpus, tokenise
from dragoman.training.events import Finished, Quiet, Report, Started, Validation
from dragoman.training.metrics import Metrics
from dragoman.training.options import TrainingConfig
from dragoman.training.processes.distributed import World
from dragoman.training.trainer import Trainer

WORDS = "bread milk salt wine oil corn rice eggs figs nuts".split()
ALONE = World(0, 1, torch.device("cpu"))
TIMES = ("seconds", "elapsed", "tokens_per_second", "eta_seconds", "peak_memory")  # differ from run to run


def pairs(count: int = 40, seed: int = 0) -> list[tuple[str, str]]:
    """Distinct sentences of 2 to 8 words, each with its words in reverse."""
    rng = np.random.default_rng(seed)
    drawn: dict[str, str] = {}
    while len(drawn) < count:
        words = rng.choice(WORDS, rng.integers(2, 9)).tolist()
        drawn[" ".join(words)] = " ".join(words[::-1])
    return list(drawn.items())


def tokenizer(config: TokenizerConfig | None = None) -> Tokenizer:
    return Tokenizer.train(pairs(200), config or TokenizerConfig(kind="words", vocab_size=14))


def corpus(folder: Path, count: int = 40, *, seed: int = 0, cut: Tokenizer | None = None) -> TokenisedCorpus:
    return tokenise(open_pairs(pairs(count, seed)), cut or tokenizer(), FilterConfig(), folder)


def model(cut: Tokenizer, *, seed: int = 1, dropout: float = 0.3, **shape: Any) -> Transformer:
    sizes = {"d_model": 16, "d_ff": 24, "heads": 2, "encoder_layers": 1, "decoder_layers": 1} | shape
    torch.manual_seed(seed)
    return build_model(
        TransformerConfig(
            source_vocab=cut.source_size, target_vocab=cut.target_size, dropout=dropout, **sizes
        )
    )


def config(**options: Any) -> TrainingConfig:
    usual: dict[str, Any] = {
        "batch_tokens": 32,
        "max_updates": 20,
        "schedule": "inverse-sqrt",
        "learning_rate": 0.01,
        "warmup": 4,
        "precision": "fp32",
        "validate_every": 5,
        "log_every": 3,
        "average": 2,
    }
    return TrainingConfig(**(usual | options))


class Recorder(Quiet):
    """An observer that keeps every event."""

    def __init__(self) -> None:
        self.starts: list[Started] = []
        self.reports: list[Report] = []
        self.validations: list[Validation] = []
        self.messages: list[str] = []
        self.ends: list[Finished] = []

    def on_start(self, event: Started) -> None:
        self.starts.append(event)

    def on_report(self, event: Report) -> None:
        self.reports.append(event)

    def on_validation(self, event: Validation) -> None:
        self.validations.append(event)

    def on_message(self, text: str) -> None:
        self.messages.append(text)

    def on_finish(self, event: Finished) -> None:
        self.ends.append(event)


def trainer(
    folder: Path,
    training: Corpora,
    *,
    options: TrainingConfig | None = None,
    net: Transformer | None = None,
    world: World = ALONE,
    **more: Any,
) -> Trainer:
    """A trainer in `folder`. Where none is given its model is drawn by seed 1."""
    train, valid = training
    folder.mkdir(parents=True, exist_ok=True)
    more.setdefault("observer", Recorder())
    return Trainer(
        model=net or model(train.tokenizer),
        corpus=train,
        valid={} if valid is None else {("aa", "bb"): valid},
        config=options or config(),
        checkpoints=Checkpoints(folder / "checkpoints"),
        metrics=Metrics(folder / "metrics.jsonl"),
        seed=7,
        world=world,
        **more,
    )


Corpora = tuple[TokenisedCorpus, TokenisedCorpus | None]


def folder_of(run: Trainer) -> Path:
    return run.checkpoints.folder.parent


def weights(run: Trainer) -> dict[str, Tensor]:
    return {name: weight.clone() for name, weight in weights_of(run.model).items()}


def moments(run: Trainer) -> dict[str, Tensor]:
    return {
        f"{name}/{key}": (value.full_tensor() if hasattr(value, "full_tensor") else value).clone()
        for name, parameter in run.learner.trained.named_parameters()
        for optimizer in run.learner.optimizers
        for key, value in optimizer.state.get(parameter, {}).items()
    }


def metrics(folder: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl without what a clock says."""
    lines = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [{k: v for k, v in json.loads(line).items() if k not in TIMES} for line in lines]


def history(run: Trainer) -> list[Candidate]:
    return run.progress.history


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    """Bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def step_files(folder: Path) -> Sequence[int]:
    return sorted(int(path.stem.partition("-")[2]) for path in folder.glob("checkpoints/step-*.safetensors"))


def stop_after(run: Trainer, step: int, number: int = signal.SIGTERM) -> None:
    run.stop = lambda: number if run.progress.step == step else 0
