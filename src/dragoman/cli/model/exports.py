"""`dragoman export`: a model in the format of another program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from dragoman.base.errors import ConfigError
from dragoman.cli.model.imports import lines_to_verify
from dragoman.cli.options import Flag, Model, NoVerify, Quiet, VerifyOn
from dragoman.cli.outcome import waiting, warn
from dragoman.interop.formats import FORMATS, ExportFormat


def export_model(
    model: Model,
    to: Annotated[
        str,
        Flag(f"The format: {', '.join(FORMATS)}.", metavar="FORMAT"),
    ],
    output: Annotated[
        Path,
        Flag(
            "The new folder to write; for Argos, a new .argosmodel file.", flag="--output -o", metavar="PATH"
        ),
    ],
    quantization: Annotated[
        str | None,
        Flag(
            "Type of the weights in CTranslate2 and Argos packages, such as int8 or float16. "
            "[default: float32]",
            metavar="TYPE",
        ),
    ] = None,
    verify_on: VerifyOn = None,
    no_verify: NoVerify = False,
    quiet: Quiet = False,
) -> None:
    """Export a model to another program.

    Both programs translate the same lines, if the other one is installed, and the output is written only if
    they agree. A model that the format cannot hold is refused before anything is written.

    \b
      dragoman export runs/en-de --to ctranslate2 -o en-de-ct2 --quantization int8
      dragoman export runs/en-de --to argos -o en-de.argosmodel
      dragoman export runs/en-de --to onnx -o en-de-onnx
    """
    target = _format(to)
    if (suffix := FORMATS[target].suffix) and output.suffix != suffix:
        raise ConfigError(f"{output}: not an {suffix} file", hint=f"write to {output}{suffix}")
    from dragoman.interop.exports import export_model
    from dragoman.translation.translator import Translator

    lines = lines_to_verify(verify_on, no_verify=no_verify)
    with waiting(f"exporting to {to}", shown=not quiet):
        bundle = Translator.load(model, device="cpu", engine="pytorch").bundle
        done = export_model(
            bundle, target, output, quantization=quantization, verified=not no_verify, lines=lines
        )
    if done.unverified is not None and not no_verify:
        warn(f"not compared with {done.program}: {done.unverified}")
    for note in done.notes:
        warn(note)
    if not quiet:
        if done.comparison is not None:
            print(f"verified with {done.comparison}", file=sys.stderr)
        print(f"{output}: written", file=sys.stderr)


def _format(name: str) -> ExportFormat:
    """Return the format of that name, in any case. Raises ConfigError for an unknown one."""
    for known in FORMATS:
        if name.lower() == known:
            return known
    raise ConfigError(f"--to {name}: unknown format", hint=f"choose {', '.join(FORMATS)}")
