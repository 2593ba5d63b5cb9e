"""Small teachers that translate a small language well, and the options of small students."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from tests.library import copy_of

from dragoman.models.folder.bundle import load, save
from dragoman.models.folder.weights import put_weights, read_weights, weights_of
from dragoman.training.events import Quiet
from dragoman.training.runs.run import train

NOUNS = {"dog": "Hund", "cat": "Kater", "bird": "Vogel", "horse": "Esel", "fox": "Fuchs"}
VERBS = {"sleeps": "schläft", "eats": "frisst", "waits": "wartet", "sings": "singt"}
WHEN = {"today": "heute", "here": "hier", "now": "jetzt"}
PAIRS = [
    (f"the {noun} {verb} {when}", f"der {NOUNS[noun]} {VERBS[verb]} {WHEN[when]}")
    for noun, verb, when in itertools.product(NOUNS, VERBS, WHEN)
]
VALID = PAIRS[::9]
SHAPE = [f"model.{o}" for o in ("d_ff=32", "heads=2", "encoder_layers=1", "decoder_layers=1", "dropout=0")]
TEACHER = [
    *SHAPE, "model.d_model=32", "tokenizer.kind=words",
    *(f"training.{o}" for o in ("batch_tokens=200", "max_updates=60", "validate_every=60", "warmup=10",
                                "learning_rate=0.02", "log_every=60")),
]  # fmt: skip
STUDENT = [
    *SHAPE, "model.d_model=16",
    *(f"training.{o}" for o in ("batch_tokens=150", "max_updates=4", "validate_every=2", "warmup=2",
                                "log_every=1")),
]  # fmt: skip
WORDS = ["teacher.words=0.5", "teacher.top_k=4"]


class Heard(Quiet):
    def __init__(self) -> None:
        self.messages: list[str] = []
        self.steps: list[int] = []

    def on_report(self, event: Any) -> None:
        self.steps.append(event.step)

    def on_message(self, text: str) -> None:
        self.messages.append(text)


def make_teacher(folder: Path) -> Path:
    """A model that has learned the small language."""
    return copy_of(train_teacher, folder)


def train_teacher(folder: Path) -> None:
    train(
        PAIRS, valid=VALID, output=folder, preset="tiny", source_language="en", target_language="de",
        overrides=TEACHER,
    )  # fmt: skip


def make_twin(folder: Path, output: Path, **changes: Any) -> Path:
    """The same model with slightly other weights, and with changes to its bundle."""
    bundle = load(folder)
    torch.manual_seed(3)
    weights = {
        name: weight + 0.05 * torch.randn(weight.shape) for name, weight in weights_of(bundle.model).items()
    }
    put_weights(bundle.model, weights, "twin")
    save(replace(bundle, **changes), output)
    return output


def distilled(*teachers: Path, output: Path, data: Any = PAIRS, options: Any = (), **more: Any) -> Heard:
    """A run of a student on the small language."""
    heard = Heard()
    train(
        data, valid=VALID, teachers=teachers, output=output, preset="tiny", observer=heard,
        overrides=[*STUDENT, *options], **more,
    )  # fmt: skip
    return heard


def same_weights(one: Path, other: Path) -> bool:
    a, b = (read_weights(folder / "model.safetensors") for folder in (one, other))
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)
