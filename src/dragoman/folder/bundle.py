"""The model folder: everything that translating needs, in files anyone can read.

    config.json         format_version, architecture and its shape, languages
    model.safetensors   weights
    tokenizer.json ...  the tokenizer's files
    generation.json     how to search, unless told otherwise

Nothing is pickled. Training adds its recipe, metrics, checkpoints and a model card.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import torch
from torch import nn

from dragoman.base.config import build, to_table
from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.files import write_whole
from dragoman.decoding.search import Beam
from dragoman.folder.weights import put_weights, read_weights, weights_of, write_weights
from dragoman.models.seq2seq import AnySeq2Seq, build_model
from dragoman.models.shapes import Architecture
from dragoman.text.tokenizer import Tokenizer

FORMAT_VERSION = 1
ARCHITECTURES = [kind.architecture for kind in get_args(Architecture)]


@dataclass(frozen=True)
class _Shape:
    model: Architecture


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A model with its tokenizer: what a model folder holds."""

    model: AnySeq2Seq
    tokenizer: Tokenizer
    source_language: str
    target_language: str
    generation: Beam = Beam()


def save(bundle: Bundle, folder: Path) -> None:
    """Writes the bundle's files into `folder`, the weights last."""
    bundle.tokenizer.save(folder)
    shape = to_table(bundle.model.config)
    config = {
        "format_version": FORMAT_VERSION,
        "architecture": shape.pop("architecture"),
        "source_language": bundle.source_language,
        "target_language": bundle.target_language,
        "model": shape,
    }
    write_whole(folder / "config.json", json.dumps(config, indent=2) + "\n")
    write_whole(folder / "generation.json", json.dumps(to_table(bundle.generation), indent=2) + "\n")
    write_weights(folder / "model.safetensors", weights_of(_module(bundle.model)))


def load(folder: Path) -> Bundle:
    """The bundle in `folder`, its model in evaluation mode.

    Raises ModelError where something is missing, damaged or of a newer format.
    """
    folder = Path(folder)
    config = _read_json(folder, "config.json")
    version = config.get("format_version")
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise ModelError(
            f"{folder}/config.json: format_version {version!r}, this dragoman reads up to {FORMAT_VERSION}",
            hint="upgrade dragoman",
        )
    architecture = config.get("architecture")
    if architecture not in ARCHITECTURES:
        raise ModelError(
            f"{folder}/config.json: unknown architecture {architecture!r}",
            hint=f"this dragoman knows: {', '.join(ARCHITECTURES)}",
        )
    try:
        shape = build(_Shape, {"model": {**config["model"], "architecture": architecture}}).model
        generation = build(Beam, _read_json(folder, "generation.json"), "generation")
        source_language, target_language = str(config["source_language"]), str(config["target_language"])
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{folder}: not a usable configuration: {error}", hint="restore config.json or train again"
        ) from error
    tokenizer = Tokenizer.load(folder)
    if (tokenizer.source_size, tokenizer.target_size) != (shape.source_vocab, shape.target_vocab):
        raise ModelError(
            f"{folder}: the tokenizer has {tokenizer.source_size} and {tokenizer.target_size} tokens, "
            f"the model {shape.source_vocab} and {shape.target_vocab}",
            hint="these files do not belong together",
        )
    with torch.random.fork_rng(devices=[]):  # first weights are drawn; who loads a model draws nothing
        model = build_model(shape)
    weights = folder / "model.safetensors"
    put_weights(model, read_weights(weights), weights)
    return Bundle(
        model=model.eval(),
        tokenizer=tokenizer,
        source_language=source_language,
        target_language=target_language,
        generation=generation,
    )


def _module(model: AnySeq2Seq) -> nn.Module:
    if not isinstance(model, nn.Module):
        raise TypeError(f"{type(model).__name__} is not a torch.nn.Module")
    return model


def _read_json(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model folder", hint="train one: dragoman train ... -o FOLDER")
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        hint = "is this the folder that training wrote?"
        if (folder / "checkpoints").is_dir():
            hint = "training has not finished here: repeat its command"
        raise ModelError(f"{path}: missing", hint=hint) from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(
            f"{path}: cannot be read ({error})", hint="restore the file or train again"
        ) from error
    if not isinstance(table, dict):
        raise ModelError(f"{path}: not a JSON object", hint="restore the file or train again")
    return table
