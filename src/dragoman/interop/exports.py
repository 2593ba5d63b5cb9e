"""Our models in the formats of other programs, compared with ours as they are written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dragoman.base.errors import ConfigError
from dragoman.base.files import new_file, new_folder
from dragoman.interop.formats import FORMATS, Converted, ExportFormat
from dragoman.interop.verify import addresses
from dragoman.models.folder.bundle import Bundle

_COMPARED = 100  # lines of the calibration text


def export_model(
    bundle: Bundle,
    to: ExportFormat,
    output: Path,
    *,
    quantization: str | None = None,
    verified: bool = True,
    lines: Sequence[str] = (),
    folder: Path | None = None,
    calibration: Sequence[str] = (),
) -> Converted:
    """Write the model as `output`, a new folder, or a new file for Argos.

    `quantization` is the type of the weights in CTranslate2, such as "int8". With `verified`, both programs
    translate `lines`, or the calibration text, or some of our own, if the other one is installed. `output`
    appears only if they agree. An export to Firefox needs the model's `folder`, and source text for
    `calibration`. Raises ConfigError with everything that the format cannot hold, before anything is
    written; DragomanError if the programs disagree.
    """
    if (form := FORMATS.get(to)) is None:
        raise ConfigError(f"to={to!r}: unknown format", hint=f"choose {', '.join(FORMATS)}")
    if quantization is not None and not form.quantized:
        raise ConfigError(
            f"--quantization {quantization}: an export to {form.program} has float32 weights only",
            hint="leave it out; CTranslate2 and Argos packages have quantized weights",
        )
    unverified = form.missing if verified else "--no-verify"
    with new_file(output) if form.suffix else new_folder(output) as part:
        form.write(bundle, part, quantization, folder=folder, calibration=calibration)
        comparison = None if unverified else form.verify(bundle, part, lines or calibration[:_COMPARED])
        notes = form.notes(bundle)
    if bundle.tokenizer.placeholders:
        notes += (
            "Only dragoman makes sure that a translation has each placeholder of its source (⟦1⟧, ...) once.",
        )
    if own := addresses(bundle):
        text, start = own[0]
        in_tokens = to == "ctranslate2"  # which has no tokenizer that reads marks
        if text and in_tokens:
            notes += (
                f"Begin the tokens of a line with its mark: [{', '.join(map(repr, text.split()))}, ...].",
            )
        elif text:
            notes += (f"Write a line with its mark, and no space behind it: {text}A dog.",)
        if start:
            (mark,) = bundle.tokenizer.target_pieces(start)
            how = f"Pass target_prefix=[[{mark!r}]]. " if in_tokens else ""
            notes += (f"{how}The first token of a translation is the mark of its language, such as {mark}.",)
    return Converted(
        bundle=bundle, program=form.program, comparison=comparison, unverified=unverified, notes=notes
    )
