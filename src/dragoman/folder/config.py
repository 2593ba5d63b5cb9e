"""The configuration in a model folder: shape, languages and search. Imports no torch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from dragoman.base.config import from_table, to_table
from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.files import write_whole
from dragoman.decoding.options import Beam
from dragoman.models.shapes import Architecture

FORMAT_VERSION = 1
ARCHITECTURES = [kind.architecture for kind in get_args(Architecture)]


@dataclass(frozen=True, kw_only=True)
class FolderConfig:
    """The contents of config.json and generation.json."""

    model: Architecture
    source_language: str
    target_language: str
    generation: Beam = Beam()


@dataclass(frozen=True)
class _Shape:
    model: Architecture


def read_config(folder: Path) -> FolderConfig:
    """The configuration of a model folder.

    Raises ModelError if a file is missing, damaged or of a newer format.
    """
    folder = Path(folder)
    table = _read_json(folder, "config.json")
    version = table.get("format_version")
    if type(version) is not int or not 1 <= version <= FORMAT_VERSION:
        raise ModelError(
            f"{folder}/config.json: format_version {version!r}, this dragoman reads up to {FORMAT_VERSION}",
            hint="upgrade dragoman",
        )
    architecture = table.get("architecture")
    if architecture not in ARCHITECTURES:
        raise ModelError(
            f"{folder}/config.json: unknown architecture {architecture!r}",
            hint=f"this dragoman knows: {', '.join(ARCHITECTURES)}",
        )
    try:
        return FolderConfig(
            model=from_table(_Shape, {"model": {**table["model"], "architecture": architecture}}).model,
            source_language=str(table["source_language"]),
            target_language=str(table["target_language"]),
            generation=from_table(Beam, _read_json(folder, "generation.json"), "generation"),
        )
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise ModelError(
            f"{folder}: not a usable configuration: {error}", hint="restore config.json or train again"
        ) from error


def write_config(config: FolderConfig, folder: Path) -> None:
    """Write config.json and generation.json."""
    shape = to_table(config.model)
    table = {
        "format_version": FORMAT_VERSION,
        "architecture": shape.pop("architecture"),
        "source_language": config.source_language,
        "target_language": config.target_language,
        "model": shape,
    }
    write_whole(folder / "config.json", json.dumps(table, indent=2) + "\n")
    write_whole(folder / "generation.json", json.dumps(to_table(config.generation), indent=2) + "\n")


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
