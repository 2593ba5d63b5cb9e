"""Our models in the formats of other programs, compared with ours as they are written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dragoman.base.errors import ConfigError
from dragoman.base.files import new_folder, replacing
from dragoman.folder.bundle import Bundle
from dragoman.interop.formats import PEERS, ExportFormat
from dragoman.interop.verify import Agreement, lines_to_compare, verify


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What an export wrote. `comparison` is None if it was not verified; `unverified` says why.

    `notes` say what the format cannot hold of how the model is searched.
    """

    program: str
    comparison: Agreement | None
    unverified: str | None
    notes: tuple[str, ...]


def export_model(
    bundle: Bundle,
    to: ExportFormat,
    output: Path,
    *,
    quantization: str | None = None,
    verified: bool = True,
    lines: Sequence[str] = (),
) -> Exported:
    """Write the model as `output`, a new folder, or a new file for Argos.

    `quantization` is the type of the weights in CTranslate2, such as "int8". With `verified`, both programs
    translate `lines`, or some of our own, if the other one is installed. `output` appears only if they
    agree. Raises ConfigError with all that the format cannot hold, before anything is written;
    DragomanError if the programs disagree.
    """
    if quantization is not None and to not in ("ctranslate2", "argos"):
        raise ConfigError(
            f"--quantization {quantization}: an export to {PEERS[to].name} has float32 weights only",
            hint="leave it out; CTranslate2 and Argos packages have quantized weights",
        )
    program = PEERS[to]
    unverified = program.missing if verified else "--no-verify"
    with _new_file(output) if to == "argos" else new_folder(output) as part:
        _write(bundle, to, part, quantization)
        comparison = None if unverified else _compared(bundle, to, part, lines)
        notes = _notes(bundle, to)
    if bundle.tokenizer.placeholders:
        notes += (
            "Only dragoman makes sure that a translation has each placeholder of its source (⟦1⟧, ...) once.",
        )
    return Exported(program=program.name, comparison=comparison, unverified=unverified, notes=notes)


def _write(bundle: Bundle, to: ExportFormat, path: Path, quantization: str | None) -> None:
    match to:
        case "huggingface":
            from dragoman.interop import huggingface

            huggingface.write(bundle, path)
        case "marian":
            from dragoman.interop import marian

            marian.write(bundle, path)
        case "ctranslate2":
            from dragoman.interop import ctranslate2

            ctranslate2.write(bundle, path, quantization=quantization)
        case "argos":
            from dragoman.interop import argos

            argos.write(bundle, path, quantization=quantization)
        case "onnx":
            from dragoman.interop import onnx

            onnx.write(bundle, path)


def _compared(bundle: Bundle, to: ExportFormat, path: Path, lines: Sequence[str]) -> Agreement:
    lines = lines or lines_to_compare(bundle)
    match to:
        case "huggingface":
            from dragoman.interop import huggingface

            return verify(bundle, huggingface.Program(path), lines)
        case "marian":
            from dragoman.interop import marian

            return verify(bundle, marian.Program(path), lines)
        case "ctranslate2":
            from dragoman.interop import ctranslate2

            return ctranslate2.verify(bundle, path, lines)
        case "argos":
            from dragoman.interop import argos

            return argos.verify(bundle, path, lines)
        case "onnx":
            from dragoman.interop import onnx

            return verify(bundle, onnx.OnnxRuntime(path), lines)


def _notes(bundle: Bundle, to: ExportFormat) -> tuple[str, ...]:
    match to:
        case "huggingface":
            from dragoman.interop import huggingface

            return tuple(huggingface.notes(bundle))
        case "ctranslate2":
            from dragoman.interop import ctranslate2

            return tuple(ctranslate2.notes(bundle))
        case "argos":
            from dragoman.interop import argos

            return tuple(argos.notes(bundle))
        case "marian":
            from dragoman.interop import marian

            return tuple(marian.notes(bundle))
        case _:
            return ()


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """Yield a file that becomes `path`. Raises ConfigError if something is there, even a dead link."""
    if os.path.lexists(path):
        raise ConfigError(f"{path}: exists already", hint="choose another file with -o")
    with replacing(path) as part:
        yield part
