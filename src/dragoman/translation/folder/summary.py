"""Summarise a model folder: shape, languages, tokenizer, parameters by part, training. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.base.config import to_table
from dragoman.base.options import entries
from dragoman.base.tables import aligned, count, read_markdown
from dragoman.models.adapter import UP
from dragoman.models.shapes import Architecture
from dragoman.text.clean import clean
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.adapter import ADAPTER_WEIGHTS, AdapterConfig, extension, read_adapter_config
from dragoman.translation.folder.config import (
    CARD,
    WEIGHTS,
    FolderConfig,
    options_to_write,
    read_config,
    read_json,
)
from dragoman.translation.folder.header import Outline, read_header
from dragoman.translation.folder.quantised import INPUT_MULTIPLIER, dequantised

_LONGEST_CARD = 1_000_000  # characters of a model card that are read
_NOT_SHAPE = ("source_vocab", "target_vocab", "pad_id", "start_id", "end_id")
# The first word of a weight's name -> the part of the model.
_PARTS = {
    "source_embedding": "source embedding",
    "target_embedding": "target embedding",
    "encoder": "encoder", "encoder_norm": "encoder", "source_embedding_norm": "encoder",
    "decoder": "decoder", "decoder_norm": "decoder", "target_embedding_norm": "decoder",
    "attention": "decoder", "join": "decoder",
    "logits": "output",
    "positions": "positions", "source_positions": "positions", "target_positions": "positions",
}  # fmt: skip
# model.tie -> the parts that use the matrix of the target embedding.
_TIED = {"all": ("source embedding", "output"), "decoder": ("output",), "none": ()}


@dataclass(frozen=True, kw_only=True)
class ModelPart:
    """A part of a model and the number of its parameters, each counted once."""

    name: str
    parameters: int
    tied: tuple[str, ...] = ()  # the parts that use the same matrix


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The content of a model folder."""

    folder: Path
    format_version: int
    config: FolderConfig
    tokenizer: Tokenizer
    weights: Mapping[str, Outline]  # as the model has them: int8 matrices as float32
    stored: Mapping[str, Outline]  # as they are in the file
    sizes: Mapping[str, int]  # bytes of each file; of a folder, of all files in it
    card: Mapping[str, Sequence[Sequence[str]]]  # the tables of the model card by heading

    @property
    def parameters(self) -> int:
        """The number of parameters, tied ones once."""
        return sum(outline.count for outline in self.weights.values())

    @property
    def multipliers(self) -> int:
        """The number of int8 matrices with a multiplier of their inputs."""
        return sum(name.endswith(INPUT_MULTIPLIER) for name in self.stored)

    @property
    def parts(self) -> list[ModelPart]:
        """The parts of the model that have parameters."""
        counts: dict[str, int] = {}
        for name, outline in self.weights.items():
            part = _PARTS.get(name.split(".")[0], "other")
            counts[part] = counts.get(part, 0) + outline.count
        tied = {"target embedding": _TIED[self.config.model.tie]}
        return [
            ModelPart(name=name, parameters=counts[name], tied=tied.get(name, ()))
            for name in dict.fromkeys([*_PARTS.values(), "other"])
            if name in counts
        ]

    def to_table(self) -> dict[str, Any]:
        """The summary as plain values, for JSON."""
        config, tokenizer = self.config, self.tokenizer
        return {
            "folder": str(self.folder),
            "format_version": self.format_version,
            "source_language": config.source_language,
            "target_language": config.target_language,
            "model": to_table(config.model),
            "tokenizer": {
                "kind": tokenizer.config.kind,
                "shared": tokenizer.config.shared,
                "source_size": tokenizer.source_size,
                "target_size": tokenizer.target_size,
                "target_languages": list(tokenizer.languages),
            },
            **({"directions": [list(pair) for pair in config.directions]} if config.directions else {}),
            "special_ids": to_table(tokenizer.specials),
            "generation": to_table(config.generation),
            **({"alignment": str(config.alignment)} if config.alignment else {}),
            **({"guidance": list(config.guidance)} if config.guidance else {}),
            "parameters": self.parameters,
            "parts": [
                {"name": part.name, "parameters": part.parameters, "tied": list(part.tied)}
                for part in self.parts
            ],
            "weights": {
                "digest": config.weights,
                "tensors": len(self.stored),
                "dtypes": _dtypes(self.stored),
                **({"quantised": config.quantised} if config.quantised else {}),
                **({"input_multipliers": self.multipliers} if self.multipliers else {}),
                "bytes": self.sizes[WEIGHTS],
            },
            "files": dict(self.sizes),
            "card": {heading: [list(row) for row in rows] for heading, rows in self.card.items()},
        }

    def to_text(self) -> str:
        """The summary as text, a few columns wide."""
        config, languages = self.config, self.tokenizer.languages
        facts = [
            ["architecture", config.model.architecture],
            ["shape", ", ".join(describe_shape(config.model))],
            ["tokenizer", vocabulary_of(self.tokenizer)],
            *([["marks of languages", ", ".join(languages)]] if languages else []),
            *([["pairs", ", ".join(map("-".join, config.directions))]] if config.directions else []),
            ["special ids", _listed(to_table(self.tokenizer.specials))],
            *([["aligns by", f"head {config.alignment}"]] if config.alignment else []),
            *([["reads beside a line", ", ".join(config.guidance)]] if config.guidance else []),
            ["search", _listed(options_to_write(config.generation, "generation"))],
            ["weights", f"{count(len(self.stored), 'tensor')} of {' and '.join(_dtypes(self.stored))}"],
            *([["quantised", config.quantised]] if config.quantised else []),
            *([["input multipliers", f"{self.multipliers:,}"]] if self.multipliers else []),
            ["digest", config.weights or "none: of release 0.1, or a checkpoint"],
            ["format version", str(self.format_version)],
        ]
        parameters = []
        for part in self.parts:
            name = f"{part.name} (tied: also {' and '.join(part.tied)})" if part.tied else part.name
            share = part.parameters / max(self.parameters, 1)
            parameters.append([name, f"{part.parameters:,}", f"{share:.1%}"])
        parameters.append(["all", f"{self.parameters:,}", ""])
        blocks = {
            f"{self.folder}: translates from {config.source_language} to {config.target_language}": facts,
            "Parameters": parameters,
            "Bytes": [[name, f"{size:,}"] for name, size in self.sizes.items()],
            **{heading: rows for heading, rows in self.card.items() if heading != "Model"},
        }
        return "\n\n".join("\n".join([clean(title), *_indented(rows)]) for title, rows in blocks.items())


def summary_of(folder: Path) -> Summary:
    """Read what is in a model folder, without the numbers of its weights.

    Raises ModelError if a file is missing, damaged or of a newer format. Does not compare the digest of the
    weights; `models/folder/check.py` does.
    """
    folder = Path(folder)
    config = read_config(folder)
    stored = read_header(folder / WEIGHTS)
    return Summary(
        folder=folder,
        format_version=read_json(folder, "config.json")["format_version"],
        config=config,
        tokenizer=Tokenizer.load(folder),
        weights=dequantised(stored, folder / WEIGHTS),
        stored=stored,
        sizes={
            path.name + "/" * path.is_dir(): sum(
                file.stat().st_size for file in [path, *path.rglob("*")] if file.is_file()
            )
            for path in sorted(folder.iterdir())
            if not path.name.startswith(".")
        },
        card=read_markdown(read_card(folder) or ""),
    )


def read_card(folder: Path) -> str | None:
    """Return the text of the model card, README.md; None if it cannot be read."""
    try:
        with (folder / CARD).open(encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST_CARD)
    except OSError:
        return None


def describe_shape(model: Architecture) -> list[str]:
    """Return the options for size and structure of a model, as text, without those that are off."""
    defaults = {name: entry.default for name, entry in entries(type(model)).items()}
    return [
        f"{name} {value}"
        for name, value in options_to_write(model, model.architecture).items()
        if name not in _NOT_SHAPE and (value or value != defaults[name])
    ]


def vocabulary_of(tokenizer: Tokenizer) -> str:
    """Return kind and size of a tokenizer, as text."""
    if tokenizer.config.shared:
        return f"{tokenizer.config.kind}, one vocabulary of {tokenizer.source_size:,}"
    sizes = f"{tokenizer.source_size:,} and {tokenizer.target_size:,}"
    return f"{tokenizer.config.kind}, vocabularies of {sizes}"


def _dtypes(weights: Mapping[str, Outline]) -> list[str]:
    return sorted({outline.dtype for outline in weights.values()})


def _listed(table: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in table.items())


def _indented(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of columns, two spaces in. Rows of a card may have different numbers of cells."""
    width = max(map(len, rows), default=0)
    cells = [[clean(cell) for cell in row] + [""] * (width - len(row)) for row in rows if any(row)]
    right = (1, 2) if rows and rows[-1][0] == "all" else ()
    return [f"  {line}" for line in aligned(cells, right=right)] if cells else []


@dataclass(frozen=True, kw_only=True)
class AdapterSummary:
    """The content of an adapter folder."""

    folder: Path
    config: AdapterConfig
    layers: int
    parameters: int
    bytes: int  # of the weights
    directions: tuple[tuple[str, str], ...] = ()  # with those that the adapter adds

    def to_table(self) -> dict[str, Any]:
        """The summary as plain values, for JSON."""
        return {
            "folder": str(self.folder),
            "adapter": to_table(self.config),
            "directions": [list(pair) for pair in self.directions],
            "layers": self.layers,
            "parameters": self.parameters,
            "bytes": self.bytes,
        }

    def to_text(self) -> str:
        """The summary for people."""
        config = self.config
        languages = f"from {config.source_language} to {config.target_language}"
        rows = [
            ["for", config.base_name],
            ["weights of the model", config.base],
            ["rank", str(config.shape.rank)],
            ["alpha", f"{config.shape.alpha:g}"],
            ["on", ", ".join(config.shape.on)],
            ["layers", f"{self.layers:,}"],
            ["parameters", f"{self.parameters:,}"],
            ["weights", f"{config.weights}, {self.bytes:,} bytes"],
        ]
        if self.directions:
            rows.append(["languages with it", ", ".join(map("-".join, self.directions))])
        title = f"{self.folder}: {config.name}, an adapter for a model that translates {languages}"
        return "\n".join([clean(title), *_indented(rows)])


def adapter_summary_of(folder: Path) -> AdapterSummary:
    """Read what is in an adapter folder, without the numbers of its weights.

    Raises ModelError if a file is missing, damaged or of a newer format.
    """
    config, path = read_adapter_config(folder), folder / ADAPTER_WEIGHTS
    header = read_header(path)
    return AdapterSummary(
        folder=folder,
        config=config,
        layers=sum(name.endswith(UP) for name in header),
        parameters=sum(outline.count for outline in header.values()),
        bytes=path.stat().st_size,
        directions=config.directions or (found[0].directions if (found := extension(folder, config)) else ()),
    )
