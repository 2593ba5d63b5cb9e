"""The formats of other programs: one object each, which reads, writes and compares models. Imports no torch.

The code of a format is a module or folder of this package. It is imported when it is first needed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dragoman.base.errors import ConfigError
from dragoman.models.shapes import TransformerOptions, experiments

if TYPE_CHECKING:
    from dragoman.interop.verify import Agreement
    from dragoman.models.folder.bundle import Bundle


@dataclass(frozen=True, kw_only=True)
class Converted:
    """The result of an import or an export. Without a `comparison`, `unverified` says why.

    `notes` say what an export changes.
    """

    bundle: Bundle
    program: str
    comparison: Agreement | None
    unverified: str | None
    notes: tuple[str, ...] = ()


ExportFormat = Literal["huggingface", "marian", "firefox", "ctranslate2", "argos", "onnx"]


@dataclass(frozen=True, kw_only=True)
class ModelFormat:
    """A format, and the program that it belongs to.

    The `extra` of dragoman that installs the program has the name of the format.
    """

    extra: ExportFormat
    program: str
    package: str  # the Python package that has the program
    quantized: bool = False  # whether its weights may have other types than float32
    from_folder: bool = False  # whether it needs more than a bundle: 8-bit numbers, the shortlist
    suffix: str = ""  # of the one file that an export is; an export is a folder if it is empty

    @property
    def missing(self) -> str | None:
        """Why the program cannot be run; None if it is installed."""
        if find_spec(self.package) is not None:
            return None
        return f"{self.package} is not installed: pip install 'dragoman[{self.extra}]'"

    @property
    def code(self) -> Any:
        """The module of the format: `write`, `notes`, `verify`, and `read` if models are read from it."""
        return import_module(f"dragoman.interop.{'onnx.onnx' if self.extra == 'onnx' else self.extra}")

    def read(self, folder: Path) -> Bundle:
        """Return the model in a folder of this format. Raises ModelError if it cannot be one of ours."""
        bundle: Bundle = self.code.read(folder)
        return bundle

    def save(self, bundle: Bundle, folder: Path, output: Path) -> None:
        """Write the model that was read from `folder` as a model folder of ours."""
        if self.from_folder:
            self.code.save(bundle, folder, output)
        else:
            from dragoman.models.folder.bundle import save

            save(bundle, output)

    def write(
        self,
        bundle: Bundle,
        path: Path,
        quantization: str | None = None,
        *,
        folder: Path | None = None,
        calibration: Sequence[str] = (),
    ) -> None:
        """Write the model. Raises ConfigError, before it writes, with all that the format lacks.

        A format that is written from a folder needs `folder`, that of the model, and text for `calibration`.
        """
        shape = bundle.model.config
        if isinstance(shape, TransformerOptions) and (unknown := experiments(shape)):
            raise ConfigError(
                f"{self.program} cannot hold {', '.join(unknown)}",
                hint="teach the exporters this option, then add it to EVERYWHERE in models/shapes.py",
            )
        more: dict[str, Any] = {} if quantization is None else {"quantization": quantization}
        if self.from_folder:
            more |= {"folder": folder, "lines": calibration}
        self.code.write(bundle, path, **more)

    def notes(self, bundle: Bundle) -> tuple[str, ...]:
        """Return what an export changes, because the program has nothing equal: sentences."""
        return tuple(self.code.notes(bundle))

    def verify(self, bundle: Bundle, path: Path, lines: Sequence[str] = ()) -> Agreement:
        """Compare the model with the program that loads `path`, on lines of our own if none are given.

        Raises DragomanError that shows the first disagreement.
        """
        from dragoman.interop.verify import lines_to_compare

        agreement: Agreement = self.code.verify(bundle, path, lines or lines_to_compare(bundle))
        return agreement


FORMATS: dict[ExportFormat, ModelFormat] = {
    form.extra: form
    for form in (
        ModelFormat(extra="huggingface", program="Hugging Face transformers", package="transformers"),
        ModelFormat(extra="marian", program="Marian", package="pymarian"),
        ModelFormat(extra="firefox", program="Firefox", package="fxtranslate", from_folder=True),
        ModelFormat(extra="ctranslate2", program="CTranslate2", package="ctranslate2", quantized=True),
        ModelFormat(
            extra="argos", program="Argos Translate", package="argostranslate", quantized=True,
            suffix=".argosmodel",
        ),
        ModelFormat(extra="onnx", program="ONNX Runtime", package="onnxruntime"),
    )
}  # fmt: skip


def format_of(folder: Path) -> ModelFormat | None:
    """The format of the model in a folder; None for dragoman's own, or an unknown one."""
    try:
        config = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        config = None
    if isinstance(config, dict) and "format_version" in config:
        return None
    from dragoman.interop.marian.binary import has_int8

    arrays, kinds = any(folder.glob("*.npz")), {has_int8(path) for path in folder.glob("*.bin")}
    int8 = True in kinds
    if int8 and arrays:  # the configuration says which of them is the model
        from dragoman.interop.marian.files import find

        int8 = find(folder).model.suffix == ".bin"
    if arrays or int8 or False in kinds:
        return FORMATS["firefox" if int8 else "marian"]
    stated = isinstance(config, dict) and "model_type" in config
    # With a damaged config.json, other files decide, and reading the folder reports the damage.
    return FORMATS["huggingface"] if stated or (folder / "vocab.json").exists() else None


def read_model(folder: Path) -> Bundle:
    """Return the model in a folder of dragoman's or of another format, with PyTorch."""
    if (form := format_of(folder)) is not None:
        return form.read(folder)
    from dragoman.models.folder.bundle import load

    return load(folder)
