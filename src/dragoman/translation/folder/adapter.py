"""An adapter folder: a few megabytes of weights that tune a model to one text. Imports no torch.

    adapter.json          format_version, name, languages, shape, the digests of the base and of the weights
    adapter.safetensors   the adapter's weights, named as models/adapter.py says
    extended              of an adapter that adds languages: configuration and tokenizer of the extended model
    README.md             the card

The base is the model that the adapter was trained on. It is useless for another model, so an adapter is
used only with the weights that its digest names, or with a folder that was quantised from them.
`models/folder/merge.py` writes adapters.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, fields
from pathlib import Path

from dragoman.base.config import from_table, to_table
from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.files import write_whole
from dragoman.models.adapter import BIAS, ROWS, ROWS_OF, AdapterShape
from dragoman.translation.folder.config import (
    ADAPTER,
    DIGESTS,
    WEIGHTS,
    FolderConfig,
    check_digests,
    read_config,
    read_json,
    unusable,
)
from dragoman.translation.folder.digest import digest_of, is_digest
from dragoman.translation.folder.fit import check_fit
from dragoman.translation.folder.header import Outline, read_header
from dragoman.translation.folder.quantised import dequantised

ADAPTER_WEIGHTS = "adapter.safetensors"
EXTENDED = "extended"
_VERSION = 1
_RESTORE = "copy the adapter again, or train it again"


@dataclass(frozen=True, kw_only=True)
class AdapterConfig:
    """The contents of adapter.json."""

    name: str
    source_language: str
    target_language: str
    shape: AdapterShape
    base: str  # the digest of the weights of the model that it was trained on
    base_name: str  # the name of the folder of that model
    weights: str  # the digest of adapter.safetensors
    extended: str | None = None  # the digest of extended/digests.json
    guidance: tuple[str, ...] | None = None  # what it reads with a line; None: the same as the model
    directions: tuple[tuple[str, str], ...] = ()  # the pairs of a model of several that has it


def write_adapter_config(config: AdapterConfig, folder: Path) -> None:
    """Write adapter.json."""
    table = {"format_version": _VERSION, **to_table(config)}
    write_whole(folder / ADAPTER, json.dumps(table, indent=2, ensure_ascii=False) + "\n")


def read_adapter_config(folder: Path) -> AdapterConfig:
    """The contents of adapter.json. Raises ModelError if it is missing, damaged or of a newer format."""
    folder, path = Path(folder), Path(folder) / ADAPTER
    if not path.is_file():
        hint = "check the path"
        if (folder / "config.json").exists():
            hint = f"this is a model folder; name the one that has {ADAPTER}"
        raise ModelError(f"{folder}: not an adapter folder: it has no {ADAPTER}", hint=hint)
    table = read_json(folder, ADAPTER)
    if (version := table.get("format_version")) != _VERSION or type(version) is not int:
        raise ModelError(
            f"{path}: format_version {version!r}, this dragoman reads {_VERSION}", hint="upgrade dragoman"
        )
    try:
        table = {"extended": None, "guidance": None, "directions": []} | table
        for name in ("base", "weights", "extended"):
            if not is_digest(table[name]) and (name, table[name]) != ("extended", None):
                raise TypeError(f"{name} = {table[name]!r} is not a digest")
        return from_table(AdapterConfig, {field.name: table[field.name] for field in fields(AdapterConfig)})
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise unusable(path, error, "adapter", _RESTORE) from error


def read_adapter(folder: Path, base: Path, config: FolderConfig) -> AdapterConfig:
    """The contents of adapter.json, for use with the model in `base`, whose configuration is `config`.

    Raises ModelError if the adapter is damaged or was made for another model. The weights' names, shapes
    and types are checked in the header of the file, and then its digest.
    """
    adapter = read_adapter_config(folder)
    check_base(folder, adapter, base, config)
    path, matrices = folder / ADAPTER_WEIGHTS, dequantised(read_header(base / WEIGHTS), base / WEIGHTS)
    shapes = {name: outline.shape for name, outline in matrices.items()}
    needed = adapter.shape.weights(shapes)
    if (found := extension(folder, adapter)) is not None:
        needed |= new_rows(*found, shapes)
    outlines = {name: Outline(shape=shape, dtype="float32") for name, shape in needed.items()}
    check_fit(read_header(path), outlines, path)
    check_adapter_digest(folder, adapter)
    return adapter


def extension(folder: Path, adapter: AdapterConfig) -> tuple[FolderConfig, tuple[int, int]] | None:
    """Of an adapter that adds languages: the configuration of the extended model, and the sizes of source and
    target vocabulary before. Raises ModelError if they are missing or damaged.
    """
    if adapter.extended is None:
        return None
    place = folder / EXTENDED
    if not (place / DIGESTS).is_file() or digest_of(place / DIGESTS) != adapter.extended:
        raise ModelError(f"{place}: missing, or not the one that {ADAPTER} names", hint=_RESTORE)
    check_digests(place)
    config = read_config(place)
    if config.extended is None:
        raise ModelError(f"{place}: does not say what was extended", hint=_RESTORE)
    return config, config.extended


def new_rows(
    config: FolderConfig, old: tuple[int, int], names: Collection[str]
) -> dict[str, tuple[int, ...]]:
    """The names and shapes of what an adapter for new languages has besides its layers. `names` are those of
    the weights of a model, or of the adapter itself.
    """
    sizes = config.model.source_vocab, config.model.target_vocab
    rows = {
        name + ROWS: (sizes[side] - old[side], config.model.d_model)
        for name, side in ROWS_OF.items()
        if name in names or name + ROWS in names
    }
    return {**rows, BIAS: (config.model.target_vocab,)}


def check_base(folder: Path, adapter: AdapterConfig, base: Path, config: FolderConfig) -> None:
    """Raise ModelError unless the adapter was made for the weights of the model in `base`."""
    own = base_digest(base, config)
    if adapter.base == own:
        return
    hint = f"use the model it was trained on, {adapter.base_name}: its weights have the digest {adapter.base}"
    if adapter.extended is not None:
        hint = (
            f"use {adapter.base_name}, or the model it extends, whose weights have the digest {adapter.base}"
        )
    if config.quantised and config.original is None:
        hint += f". {base} does not say what it was quantised from: quantise that model again"
    raise ModelError(f"{folder}: not an adapter for {base}, whose weights have the digest {own}", hint=hint)


def base_digest(base: Path, config: FolderConfig) -> str:
    """The digest that an adapter for a model must name: of its weights before quantising and extending."""
    return config.original or config.weights or digest_of(base / WEIGHTS)


def check_adapter_digest(folder: Path, adapter: AdapterConfig) -> None:
    """Raise ModelError unless adapter.safetensors is the file that adapter.json names."""
    path = folder / ADAPTER_WEIGHTS
    if digest_of(path) != adapter.weights:
        raise ModelError(
            f"{path}: damaged, or not the weights that {ADAPTER} names: their digests differ", hint=_RESTORE
        )
