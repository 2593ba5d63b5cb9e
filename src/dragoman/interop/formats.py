"""The formats of other programs: one object each, which reads, writes and compares models. Imports no torch.

The code of a format is a module or folder of this package. It is imported when it is first needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dragoman.interop.verify import Agreement
    from dragoman.models.folder.bundle import Bundle

ExportFormat = Literal["huggingface", "marian", "ctranslate2", "argos", "onnx"]


@dataclass(frozen=True, kw_only=True)
class ModelFormat:
    """A format, and the program that it belongs to.

    `code` returns the module of the format. It has `write`, `notes` and `verify`, and `read` if models are
    read from the format.
    """

    program: str
    package: str  # the Python package that has the program
    extra: str  # of dragoman, which installs it
    code: Callable[[], ModuleType]
    quantized: bool = False  # whether its weights may have other types than float32
    suffix: str = ""  # of the one file that an export is; an export is a folder if it is empty

    @property
    def missing(self) -> str | None:
        """Why the program cannot be run; None if it is installed."""
        if find_spec(self.package) is not None:
            return None
        return f"{self.package} is not installed: pip install 'dragoman[{self.extra}]'"

    def read(self, folder: Path) -> Bundle:
        """Return the model in a folder of this format. Raises ModelError if it cannot be one of ours."""
        bundle: Bundle = self.code().read(folder)
        return bundle

    def write(self, bundle: Bundle, path: Path, quantization: str | None = None) -> None:
        """Write the model. Raises ConfigError, before it writes, with all that the format lacks."""
        types = {} if quantization is None else {"quantization": quantization}
        self.code().write(bundle, path, **types)

    def notes(self, bundle: Bundle) -> tuple[str, ...]:
        """Return the changes of an export that the program makes necessary: sentences."""
        return tuple(self.code().notes(bundle))

    def verify(self, bundle: Bundle, path: Path, lines: Sequence[str] = ()) -> Agreement:
        """Compare the model with the program that loads `path`, on lines of our own if none are given.

        Raises DragomanError that shows the first disagreement.
        """
        from dragoman.interop.verify import lines_to_compare

        agreement: Agreement = self.code().verify(bundle, path, lines or lines_to_compare(bundle))
        return agreement


def _huggingface() -> ModuleType:
    from dragoman.interop import huggingface

    return huggingface


def _marian() -> ModuleType:
    from dragoman.interop import marian

    return marian


def _ctranslate2() -> ModuleType:
    from dragoman.interop import ctranslate2

    return ctranslate2


def _argos() -> ModuleType:
    from dragoman.interop import argos

    return argos


def _onnx() -> ModuleType:
    from dragoman.interop.onnx import onnx

    return onnx


FORMATS: dict[ExportFormat, ModelFormat] = {
    "huggingface": ModelFormat(
        program="Hugging Face transformers", package="transformers", extra="huggingface", code=_huggingface
    ),
    "marian": ModelFormat(program="Marian", package="pymarian", extra="marian", code=_marian),
    "ctranslate2": ModelFormat(
        program="CTranslate2", package="ctranslate2", extra="ctranslate2", code=_ctranslate2, quantized=True
    ),
    "argos": ModelFormat(
        program="Argos Translate", package="argostranslate", extra="argos", code=_argos, quantized=True,
        suffix=".argosmodel",
    ),
    "onnx": ModelFormat(program="ONNX Runtime", package="onnxruntime", extra="onnx", code=_onnx),
}  # fmt: skip


def format_of(folder: Path) -> ModelFormat | None:
    """The format of the model in a folder; None for dragoman's own, or an unknown one."""
    if any(folder.glob("*.npz")):
        return FORMATS["marian"]
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        config = None
    if isinstance(config, dict) and "format_version" in config:
        return None
    stated = isinstance(config, dict) and "model_type" in config
    # With a damaged config.json, other files decide, and reading the folder reports the damage.
    return FORMATS["huggingface"] if stated or (folder / "vocab.json").exists() else None


def read_model(folder: Path) -> Bundle:
    """Return the model in a folder of dragoman's or of another format, with PyTorch."""
    if (form := format_of(folder)) is not None:
        return form.read(folder)
    from dragoman.models.folder.bundle import load

    return load(folder)
