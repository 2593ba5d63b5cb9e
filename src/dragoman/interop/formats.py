"""The formats of other programs: one object each, which reads, writes and compares models. Imports no torch.

The code of a format is a module or folder of this package. It is imported when it is first needed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from dragoman.folder.bundle import Bundle
    from dragoman.interop.verify import Agreement

ExportFormat = Literal["huggingface", "marian", "ctranslate2", "argos", "onnx"]


class Writer(Protocol):
    """The code of a format that models are written in."""

    @property
    def write(self) -> Callable[..., None]:
        """Called with the model and the new path, and `quantization` if the format has such types."""
        ...

    def notes(self, bundle: Bundle) -> list[str]:
        """What an export changes, because the program has nothing equal: sentences."""
        ...

    def verify(self, bundle: Bundle, path: Path, lines: Sequence[str]) -> Agreement:
        """Compare the model with the program that loads `path`. Raises DragomanError if they disagree."""
        ...


class Reader(Protocol):
    """The code of a format that models are read from."""

    def read(self, folder: Path) -> Bundle:
        """Return the model. Raises ModelError if it cannot be one of ours."""
        ...


class _Both(Reader, Writer, Protocol):
    """The code of a format that models are read from and written in."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format, and the program that it belongs to. Its functions are those of `Writer` and `Reader`."""

    program: str
    package: str  # the Python package that has the program
    extra: str  # of dragoman, which installs it
    writer: Callable[[], Writer]
    reader: Callable[[], Reader] | None = None  # None for a format that models are only written in
    quantized: bool = False  # whether its weights may have other types than float32
    suffix: str = ""  # of the one file that an export is; an export is a folder if it is empty

    @property
    def missing(self) -> str | None:
        """Why the program cannot be asked; None if it is installed."""
        if find_spec(self.package) is not None:
            return None
        return f"{self.package} is not installed: pip install 'dragoman[{self.extra}]'"

    def read(self, folder: Path) -> Bundle:
        """Return the model in a folder of this format. Raises ModelError if it cannot be one of ours."""
        if self.reader is None:
            raise TypeError(self.program)  # `format_of` returns formats that are read
        return self.reader().read(folder)

    def write(self, bundle: Bundle, path: Path, quantization: str | None = None) -> None:
        """Write the model. Raises ConfigError with all that the format cannot hold, before it writes."""
        types = {} if quantization is None else {"quantization": quantization}
        self.writer().write(bundle, path, **types)

    def verify(self, bundle: Bundle, path: Path, lines: Sequence[str] = ()) -> Agreement:
        """Compare the model with the program that loads `path`, on lines of our own if there are none."""
        from dragoman.interop.verify import lines_to_compare

        return self.writer().verify(bundle, path, lines or lines_to_compare(bundle))


def _huggingface() -> _Both:
    from dragoman.interop import huggingface

    return huggingface


def _marian() -> _Both:
    from dragoman.interop import marian

    return marian


def _ctranslate2() -> Writer:
    from dragoman.interop import ctranslate2

    return ctranslate2


def _argos() -> Writer:
    from dragoman.interop import argos

    return argos


def _onnx() -> Writer:
    from dragoman.interop import onnx

    return onnx


FORMATS: dict[ExportFormat, Format] = {
    "huggingface": Format(
        program="Hugging Face transformers", package="transformers", extra="huggingface",
        writer=_huggingface, reader=_huggingface,
    ),
    "marian": Format(
        program="Marian", package="pymarian", extra="marian", writer=_marian, reader=_marian
    ),
    "ctranslate2": Format(
        program="CTranslate2", package="ctranslate2", extra="ctranslate2", writer=_ctranslate2,
        quantized=True,
    ),
    "argos": Format(
        program="Argos Translate", package="argostranslate", extra="argos", writer=_argos, quantized=True,
        suffix=".argosmodel",
    ),
    "onnx": Format(program="ONNX Runtime", package="onnxruntime", extra="onnx", writer=_onnx),
}  # fmt: skip


def format_of(folder: Path) -> Format | None:
    """Whose model a folder holds; None for one of dragoman's, or one of no known format."""
    if any(folder.glob("*.npz")):
        return FORMATS["marian"]
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        config = None
    if isinstance(config, dict) and "format_version" in config:
        return None
    stated = isinstance(config, dict) and "model_type" in config
    # With a damaged config.json the files beside it tell, and reading the folder says what is wrong.
    return FORMATS["huggingface"] if stated or (folder / "vocab.json").exists() else None


def read_model(folder: Path) -> Bundle:
    """Return the model in a folder of dragoman's or of another format, with PyTorch."""
    if (form := format_of(folder)) is not None:
        return form.read(folder)
    from dragoman.folder.bundle import load

    return load(folder)
