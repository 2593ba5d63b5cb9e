"""The formats: what they are called, and which package has the program that reads them. Imports no torch."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

ImportFormat = Literal["huggingface", "marian"]
ExportFormat = Literal["huggingface", "marian", "ctranslate2", "argos", "onnx"]


@dataclass(frozen=True)
class Peer:
    """A program that reads a format, and the Python package that has it."""

    name: str
    package: str
    extra: str

    @property
    def missing(self) -> str | None:
        """Why the program cannot be asked; None if it is installed."""
        if find_spec(self.package) is not None:
            return None
        return f"{self.package} is not installed: pip install 'dragoman[{self.extra}]'"


PEERS: dict[ExportFormat, Peer] = {
    "huggingface": Peer("Hugging Face transformers", "transformers", "huggingface"),
    "marian": Peer("Marian", "pymarian", "marian"),
    "ctranslate2": Peer("CTranslate2", "ctranslate2", "ctranslate2"),
    "argos": Peer("Argos Translate", "argostranslate", "argos"),
    "onnx": Peer("ONNX Runtime", "onnxruntime", "onnx"),
}


def format_of(folder: Path) -> ImportFormat | None:
    """Whose model a folder holds; None for one of dragoman's, or one of no known format."""
    if any(folder.glob("*.npz")):
        return "marian"
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        config = None
    if isinstance(config, dict) and "format_version" in config:
        return None
    stated = isinstance(config, dict) and "model_type" in config
    # With a damaged config.json the files beside it tell, and reading the folder says what is wrong.
    return "huggingface" if stated or (folder / "vocab.json").exists() else None
