"""`dragoman import` and `dragoman export`: models of other programs, and models for them."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.machine import require_pytorch
from dragoman.cli.options import Flag, NoVerify, Quiet, VerifyOn, argument
from dragoman.cli.outcome import tell, waiting, warn
from dragoman.interop.formats import FORMATS, ExportFormat

if TYPE_CHECKING:
    from dragoman.interop.formats import Converted


_COSTLY = 0.3  # BLEU
_LISTED = 20  # languages; more have no place in a line


def import_model(
    source: Annotated[
        str,
        argument(
            "SOURCE",
            "A folder, a zip or tar archive, the .bin of a Firefox model beside its other files, or the "
            "name of a model on the Hugging Face hub, such as Helsinki-NLP/opus-mt-en-de.",
        ),
    ],
    output: Annotated[Path, Flag("The new model folder to write.", flag="--output -o", metavar="FOLDER")],
    source_language: Annotated[
        str | None, Flag("The source language. [default: as the model says]", metavar="CODE")
    ] = None,
    target_language: Annotated[
        str | None, Flag("The target language. [default: as the model says]", metavar="CODE")
    ] = None,
    revision: Annotated[str | None, Flag("A branch, tag or commit on the hub.", metavar="NAME")] = None,
    verify_on: VerifyOn = None,
    no_verify: NoVerify = False,
    quiet: Quiet = False,
) -> None:
    """Import a model: OPUS-MT, M2M-100, NLLB-200 and mBART-50 of Hugging Face, Marian's and Firefox's.

    Both programs translate the same lines, if the other one is installed, and the folder is written only if
    they agree. Nothing in the source is executed.

    \b
      dragoman import Helsinki-NLP/opus-mt-en-de -o models/en-de
      dragoman import opus-2020-02-26.zip -o models/en-fr
      dragoman import model.ende.intgemm.alphas.bin -o models/en-de
      dragoman translate models/en-de test.en
    """
    require_pytorch("dragoman import")
    from dragoman.interop.imports import import_model

    lines = lines_to_verify(verify_on, no_verify=no_verify)
    with waiting(f"importing {source}", shown=not quiet):
        done = import_model(
            source,
            output,
            verified=not no_verify,
            lines=lines,
            revision=revision,
            source_language=source_language,
            target_language=target_language,
        )
    _say_verified(done, no_verify=no_verify, quiet=quiet)
    if quiet:
        return
    languages = done.bundle.tokenizer.languages
    listed = ", ".join(languages) if len(languages) <= _LISTED else f"{len(languages)} languages"
    target = f"{listed} (choose with --to)" if languages else done.bundle.target_language
    print(f"{output}: translates from {done.bundle.source_language} to {target}", file=sys.stderr)
    if "und" in (done.bundle.source_language, done.bundle.target_language):
        warn("the model does not name its languages: --source-language and --target-language do")


def _say_verified(done: Converted, *, no_verify: bool, quiet: bool) -> None:
    """Say how the two programs agree, or why they were not compared."""
    if done.unverified is not None and not no_verify:
        warn(f"not compared with {done.program}: {done.unverified}")
    if done.comparison is not None:
        tell(f"verified with {done.comparison}", quiet=quiet)


def lines_to_verify(path: str | None, *, no_verify: bool) -> list[str]:
    """The lines of --verify-on that have text. Raises ConfigError with --no-verify, DataError if none has."""
    if path is None:
        return []
    if no_verify:
        raise ConfigError("--verify-on together with --no-verify", hint="leave out one of them")
    from dragoman.text.corpora.lines import read_lines

    lines = [line for line in read_lines(path) if line.strip()]
    if not lines:
        raise DataError(f"{path}: no lines to compare on", hint="choose a text in the source language")
    return lines


def export_model(
    models: Annotated[list[Path], argument("MODEL...", "A model folder, or RUN@500; for html, one or more.")],
    to: Annotated[str, Flag(f"The format: {', '.join([*FORMATS, 'html'])}.", metavar="FORMAT")],
    output: Annotated[
        Path,
        Flag(
            "The new folder to write; for Argos and html, a new .argosmodel or .html file.",
            flag="--output -o",
            metavar="PATH",
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
    views: Annotated[
        str | None,
        Flag(
            "What html shows of a sentence: difference, translation, attention, beam, positions, terms, "
            "complexity; or none. [default: all]",
            metavar="NAME,...",
        ),
    ] = None,
    calibrate: Annotated[
        tuple[str, str] | None,
        Flag(
            "Text and its translation for an 8-bit model of Firefox: they set the range of its inputs, and "
            "show what 8 bit costs. The validation text will do.",
            metavar="SOURCE REFERENCE",
        ),
    ] = None,
    verify_on: VerifyOn = None,
    no_verify: NoVerify = False,
    quiet: Quiet = False,
) -> None:
    """Export a model to another program, or to a page in one file that translates.

    Both programs translate the same lines, if the other one is installed, and the output is written only if
    they agree. A model that the format cannot hold is refused before anything is written.

    \b
      dragoman export runs/en-de --to ctranslate2 -o en-de-ct2 --quantization int8
      dragoman export runs/en-de --to argos -o en-de.argosmodel
      dragoman export runs/en-de --to onnx -o en-de-onnx
      dragoman export runs/en-de runs/de-en --to html -o page.html
      dragoman export runs/en-de --to firefox -o en-de-firefox --calibrate valid.en valid.de
    """
    if calibrate is not None and to.lower() != "firefox":
        raise ConfigError(f"--calibrate with --to {to}", hint="leave it out: it is for --to firefox")
    if to.lower() == "html":
        if option := "--quantization" if quantization else "--verify-on" if verify_on else "":
            hint = "leave it out: a page has int8 weights, and dragoman's own engine"
            raise ConfigError(f"{option} with --to html", hint=hint)
        return _export_page(models, output, views, quiet=quiet)
    if len(models) > 1 or views is not None:
        what = "several models" if len(models) > 1 else "--views"
        raise ConfigError(f"{what} with --to {to}", hint="only html can: --to html")
    target: ExportFormat | None = next((one for one in FORMATS if one == to.lower()), None)
    if target is None:
        raise ConfigError(f"--to {to}: unknown format", hint=f"choose {', '.join([*FORMATS, 'html'])}")
    if (suffix := FORMATS[target].suffix) and output.suffix != suffix:
        raise ConfigError(f"{output}: not an {suffix} file", hint=f"write to {output}{suffix}")
    from dragoman.interop import exports
    from dragoman.interop.source import opened
    from dragoman.translation.translator import Translator

    lines = lines_to_verify(verify_on, no_verify=no_verify)
    pairs = []
    if calibrate is not None:
        from dragoman.text.corpora.corpus import open_corpus

        pairs = [(line.source, line.target) for line in open_corpus(calibrate) if line.source.strip()]
        if not pairs:
            raise DataError(f"{calibrate[0]}: only empty lines", hint="check that it is the right file")
    with waiting(f"exporting to {to}", shown=not quiet), opened(models[0]) as folder:
        bundle = Translator.load(models[0], device="cpu", engine="pytorch").bundle
        done = exports.export_model(
            bundle,
            target,
            output,
            quantization=quantization,
            verified=not no_verify,
            lines=lines,
            folder=folder,
            calibration=[source for source, _ in pairs],
        )
    if pairs and not quiet:
        _say_cost(models[0], output, pairs)
    for text in done.notes:
        warn(text)
    _say_verified(done, no_verify=no_verify, quiet=quiet)
    tell(f"{output}: written", quiet=quiet)


def _say_cost(model: Path, output: Path, pairs: list[tuple[str, str]]) -> None:
    """Say what 8 bit costs: BLEU of the model and of its export, both with greedy search."""
    from dragoman.evaluation.evaluate import evaluate
    from dragoman.interop.imports import import_model
    from dragoman.translation.translator import Translator

    with (
        tempfile.TemporaryDirectory(prefix="dragoman-") as temporary,
        waiting("measuring the cost", shown=True),
    ):
        import_model(str(output), Path(temporary, "back"), verified=False)
        bleu = [
            evaluate(Translator.load(place), pairs, beam=1, metrics=("bleu",), bootstrap=0).scores.bleu.value
            for place in (model, Path(temporary, "back"))
        ]
    tell(f"BLEU {bleu[0]:.2f}, and {bleu[1]:.2f} in 8 bit", quiet=False)
    if bleu[0] - bleu[1] > _COSTLY:
        warn(f"8 bit costs {bleu[0] - bleu[1]:.2f} BLEU: tune the model with training.quantise=int8 first")


def _export_page(models: list[Path], output: Path, views: str | None, *, quiet: bool) -> None:
    from dragoman.interop.html.page import VIEWS, export_page

    if output.suffix != ".html":
        raise ConfigError(f"{output}: not an .html file", hint=f"write to {output}.html")
    names = VIEWS if views is None else () if views == "none" else tuple(views.split(","))
    with waiting("exporting to html", shown=not quiet):
        size = export_page(models, output, views=names)
    tell(f"{output}: written, {size / 1e6:.1f} MB; open it in a browser", quiet=quiet)
