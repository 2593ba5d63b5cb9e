"""The summary of an adapter folder. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dragoman.base.config import to_table
from dragoman.base.tables import aligned
from dragoman.text.clean import clean
from dragoman.translation.folder.adapter import ADAPTER_WEIGHTS, AdapterConfig, read_adapter_config
from dragoman.translation.folder.header import read_header


@dataclass(frozen=True, kw_only=True)
class AdapterSummary:
    """The content of an adapter folder."""

    folder: Path
    config: AdapterConfig
    layers: int
    parameters: int
    bytes: int  # of the weights

    def to_table(self) -> dict[str, Any]:
        """The summary as plain values, for JSON."""
        return {
            "folder": str(self.folder),
            "adapter": to_table(self.config),
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
        title = f"{self.folder}: {config.name}, an adapter for a model that translates {languages}"
        cells = [[clean(cell) for cell in row] for row in rows]
        return "\n".join([clean(title), *(f"  {line}" for line in aligned(cells))])


def adapter_summary_of(folder: Path) -> AdapterSummary:
    """Read what is in an adapter folder, without the numbers of its weights.

    Raises ModelError if a file is missing, damaged or of a newer format.
    """
    config, path = read_adapter_config(folder), folder / ADAPTER_WEIGHTS
    header = read_header(path)
    return AdapterSummary(
        folder=folder,
        config=config,
        layers=len(header) // 2,
        parameters=sum(outline.count for outline in header.values()),
        bytes=path.stat().st_size,
    )
