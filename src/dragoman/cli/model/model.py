"""`dragoman model`: look into model folders, check, average, quantise and compare them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.tables import aligned, count
from dragoman.cli.models import languages_for, leakage_of
from dragoman.cli.options import (
    Commands,
    Flag,
    Flags,
    Json,
    Model,
    NewFolder,
    Quiet,
    TextAndTranslation,
    WholeModel,
    argument,
)
from dragoman.cli.outcome import tell, to_json, waiting, warn
from dragoman.text.clean import clean
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.models.folder.difference import FolderDifference

model = Commands(
    help="""Look into model folders: their content, whether they are whole, how two differ.

    \b
      dragoman model info runs/en-de
      dragoman model verify runs/en-de
      dragoman model diff runs/first runs/longer
      dragoman model quantize runs/en-de -o runs/en-de.int8""",
    no_args_is_help=True,
)


@model.command("info", short_help="Show the content of a model folder.")
def model_info(folder: Model, as_json: Json = False) -> None:
    """Show the content of a model folder: shape, languages, tokenizer, parameters by part, digest, training.

    Or of an adapter folder: the parts it changes, and for which model.

    \b
      dragoman model info runs/en-de
      dragoman model info runs/en-de --json
    """
    from dragoman.translation.folder.checkpoint import model_folder
    from dragoman.translation.folder.summary import AdapterSummary, Summary, adapter_summary_of, summary_of

    summary: Summary | AdapterSummary
    if _is_adapter(folder):
        summary = adapter_summary_of(folder)
    else:
        summary = replace(summary_of(model_folder(folder)), folder=folder)
    print(to_json(summary.to_table()) if as_json else summary.to_text())


@model.command("verify", short_help="Check every file of a model folder.")
def model_verify(folder: WholeModel, as_json: Json = False) -> None:
    """Check every file of a model folder: digests, names, shapes and types, finite values, vocabulary.

    An adapter folder is checked by itself; whether it fits a model is checked when it is used. Prints one
    line for each check and reports all faults. Exits with 4 if there is a fault.

    \b
      dragoman model verify runs/en-de
    """
    if not folder.is_dir():
        raise ModelError(f"{folder}: no such model folder", hint="check the path")
    from dragoman.models.folder.check import check_adapter_folder, check_folder

    checks = list((check_adapter_folder if _is_adapter(folder) else check_folder)(folder))
    faults = sum(check.status == "fault" for check in checks)
    if as_json:
        tables = [asdict(check) for check in checks]
        print(to_json({"folder": str(folder), "ok": not faults, "checks": tables}))
    else:
        rows = [[check.status, clean(check.name), clean(check.text)] for check in checks]
        print("\n".join(aligned(rows)))
    if faults:
        raise typer.Exit(4)


@model.command("average", short_help="Average the weights of several models.")
def model_average(
    folders: Annotated[
        list[Path],
        argument(
            "MODEL...",
            "Model folders, or checkpoints of a run (RUN@500 or files in RUN/checkpoints): two or more. "
            "With --last or --best, one run.",
        ),
    ],
    output: NewFolder,
    last: Annotated[int | None, Flag("Average the last N checkpoints of a run.", at_least=2)] = None,
    best: Annotated[
        int | None, Flag("Average the N checkpoints of a run that scored best.", at_least=2)
    ] = None,
    by: Annotated[
        Literal["loss", "bleu", "chrf", "chrf++"] | None,
        Flag("With --best: the validation score. [default: training.stop_on of the run]"),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Average the weights of several models of the same shape, with the same tokenizer, into a new one.

    The weights are summed in float64. A model that is named twice counts twice. The new folder is written
    whole or not at all. Average models that come from the same run: the mean of models that were trained
    from different seeds translates badly.

    \b
      dragoman model average runs/first runs/longer -o runs/average
      dragoman model average runs/en-de --last 5 -o runs/average
      dragoman model average runs/en-de --best 3 --by bleu -o runs/average
      dragoman model average runs/en-de@4000 runs/en-de@5000 -o runs/average
    """
    if by is not None and best is None:
        raise ConfigError("--by without --best", hint="say how many: --best 5")
    if last is not None or best is not None:
        if len(folders) > 1 or (last is not None and best is not None):
            raise ConfigError("--last or --best with more than one run", hint="name one run, and one of both")
        from dragoman.training.checkpoints.paths import Checkpoints

        checkpoints, name = Checkpoints(folders[0] / "checkpoints"), folders[0]
        steps = checkpoints.chosen(last=last, best=best, by=by)
        folders = [checkpoints.step(step) for step in steps]
    if len(folders) > 1:  # that one is too few is said first
        _check_folders(folders, output)
    from dragoman.models.folder.average import average_folders

    average_folders(folders, output)
    named = "" if last is best is None else ", ".join(f"{name}@{step}" for step in steps)
    chosen = named and f": the average of {named}"
    tell(f"wrote {output}{chosen}", quiet=quiet)


@model.command("merge", short_help="Merge an adapter into its model.")
def model_merge(
    folder: WholeModel,
    adapter: Annotated[Path, argument("ADAPTER", "An adapter folder for the model.")],
    output: NewFolder,
    quiet: Quiet = False,
) -> None:
    """Merge an adapter into the model that it was trained on, as a new model folder.

    The new model translates as the model does with the adapter, and every command reads it: it can be
    exported, quantised or tuned again. Its weights are floats, also if the model was quantised. Search and
    model card are copied; so are tokenizer and shortlist, unless the adapter adds languages.

    \b
      dragoman model merge runs/en-de runs/help -o runs/en-de-help
    """
    from dragoman.base.files import check_new
    from dragoman.translation.folder.adapter import read_adapter
    from dragoman.translation.folder.config import read_config

    check_new(output)
    read_adapter(adapter, folder, read_config(folder))  # refuse wrong folders before loading torch
    from dragoman.models.folder.merge import merge_adapter

    merge_adapter(folder, adapter, output)
    tell(f"wrote {output}", quiet=quiet)


@model.command("extend", short_help="Give a model new languages.")
def model_extend(
    folder: WholeModel,
    text: Annotated[
        list[str] | None,
        argument(
            "TEXT...",
            "Text in the new languages, to learn pieces from: files of lines, compressed or not, or -.",
        ),
    ] = None,
    *,
    language: Annotated[list[str], Flag("A new language; repeat for several.", metavar="CODE")],
    pieces: Annotated[
        int, Flag("Learn at most N new pieces for each vocabulary; 0 adds marks alone.", at_least=0)
    ] = 2000,
    output: NewFolder,
    quiet: Quiet = False,
) -> None:
    """Give a model marks and pieces for new languages, in a new folder, as the start of a training.

    The old pieces keep their numbers and the model its translations. New pieces are not predicted before
    training with --from opens those that its text has. Directions are the old ones until then. A model of one
    target language gets a mark for it, too. Shortlist and risk model are left out: they are made anew.

    \b
      dragoman model extend runs/en-de news.cs.gz --language cs -o runs/en-de-cs
      dragoman model extend runs/en-de --language en --pieces 0 -o runs/two-ways
    """
    from dragoman.base.files import check_new
    from dragoman.text.corpora.lines import open_text
    from dragoman.translation.folder.config import read_config

    check_new(output)
    read_config(folder)
    if pieces and not text:
        raise ConfigError(
            "no text to learn pieces from", hint="name files in the new language, or --pieces 0"
        )
    files = list(map(open_text, text or []))
    from dragoman.models.folder.extend import extend_folder

    with waiting("learning", shown=not quiet):
        added = extend_folder(folder, chain.from_iterable(files), language, output, pieces=pieces)
    tell(f"wrote {output}: {added}", quiet=quiet)


@model.command("shortlist", short_help="Learn which target tokens each source token may need.")
def model_shortlist(
    folder: WholeModel,
    text: TextAndTranslation,
    frequent: Annotated[int, Flag("Target tokens that every sentence may use.")] = 100,
    candidates: Annotated[int, Flag("Translations of each source token.")] = 100,
    pairs: Annotated[int, Flag("Learn from at most N pairs, spread over the text.")] = 500_000,
    quiet: Quiet = False,
) -> None:
    """Learn a vocabulary shortlist from parallel text, best the training text. Write it into the folder.

    With translate --shortlist a sentence then uses only the most frequent target tokens and the likeliest
    translations of its own tokens: a few hundred in place of the whole vocabulary. Some words that a
    translation needs may be missing, so compare with evaluate --shortlist. The file is shortlist.safetensors;
    delete it to undo.

    \b
      dragoman model shortlist runs/en-de train.en train.de
      dragoman translate runs/en-de test.en --shortlist
    """
    from dragoman.text.corpora.corpus import open_corpus
    from dragoman.translation.folder.config import read_config
    from dragoman.translation.folder.shortlist import make_shortlist

    about = read_config(folder)
    if about.target_language == "mul":
        hint = "leave it out, also from --quality fast; or train a model of one target language"
        raise ConfigError(f"{folder}: has several target languages, and a shortlist is of one", hint=hint)
    corpus = open_corpus(text, languages=languages_for(about, Decoding()))
    with waiting("reading", shown=not quiet) as progress:
        made = make_shortlist(
            folder, corpus, frequent=frequent, candidates=candidates, most=pairs, progress=progress
        )
    tell(
        f"wrote {made.path}: from {made.lines:,} pairs; on average a sentence may use "
        f"{made.mean:,.0f} of {made.target_vocab:,} target tokens",
        quiet=quiet,
    )


@model.command("calibrate", short_help="Learn the risk of the model's translations.")
def model_calibrate(
    folder: WholeModel,
    text: TextAndTranslation,
    *,
    pairs: Annotated[int, Flag("Use at most N pairs, spread over the text.", at_least=1)] = 2000,
    decoding: Annotated[Decoding, Flags("source", "to")],
    quiet: Quiet = False,
) -> None:
    """Learn the risk of the model's translations from held-out text, and write it into the model folder.

    The model must not have been trained on the text. Half of it fits the probabilities and chooses the
    thresholds of the flags. The other half measures them; its figures are printed and go into the model card.
    It needs 200 pairs. Training does this with its validation text. The file is risk.json; delete it to undo.
    A model of several target languages needs it for each.

    \b
      dragoman model calibrate runs/en-de valid.en valid.de
      dragoman translate runs/en-de test.en --risk --jsonl
    """
    from dragoman.text.corpora.corpus import open_corpus
    from dragoman.translation.folder.config import RISK, read_config

    about = read_config(folder)
    corpus = open_corpus(text, languages=languages_for(about, decoding))
    from dragoman.evaluation.risk.calibrate import calibrate_folder

    lines = [(line.source, line.target) for line in corpus]
    for warning in leakage_of([folder], lines, "held-out"):
        warn(warning)
    with waiting("translating", shown=not quiet) as progress:
        report = calibrate_folder(
            folder, lines, source=decoding.source, to=decoding.to, most=pairs, progress=progress
        )
    print(report.to_text())
    tell(f"wrote {folder / RISK}", quiet=quiet)


@model.command("quantize", short_help="Store a model as int8, a quarter of the size.")
def model_quantize(folder: Model, output: NewFolder, quiet: Quiet = False) -> None:
    """Store the matrices of a model as int8 in a new folder, a quarter of the size.

    Each row of a matrix has a scale of its own; biases and norms stay float32. Tokenizer, search and model
    card are copied. All but `extend` read the new folder. The native engine multiplies int8; PyTorch first
    makes the weights float32 again. `dragoman evaluate` shows what int8 costs in BLEU and chrF.

    \b
      dragoman model quantize runs/en-de -o runs/en-de.int8
    """
    _check_folders([folder], output)
    from dragoman.models.folder.quantisation import quantise_folder

    sizes = quantise_folder(folder, output)
    share = f"{sizes.after / sizes.before:.0%} of {sizes.before:,} bytes"
    tell(f"wrote {output}: weights of {sizes.after:,} bytes, {share}", quiet=quiet)


@model.command("diff", short_help="Show the differences of two models.")
def model_diff(
    first: Annotated[Path, argument("A", "A model folder.")],
    second: Annotated[Path, argument("B", "Another model folder.")],
    as_json: Json = False,
) -> None:
    """Show how two models differ: configuration, tokenizer, search and each weight.

    Exits with 0 if they are equal and with 1 if they differ, as diff does.

    \b
      dragoman model diff runs/first runs/longer
    """
    folders = _check_folders([first, second])
    from dragoman.models.folder.difference import differences

    found = differences(*folders)
    print(to_json(found.to_table()) if as_json else "\n".join(_different(found)))
    if not found.equal:
        raise typer.Exit(1)


def _check_folders(folders: Sequence[Path], output: Path | None = None) -> list[Path]:
    """Return the folders of models and checkpoints. Refuse wrong ones before torch is loaded, for seconds."""
    from dragoman.base.files import check_new
    from dragoman.translation.folder.checkpoint import model_folder
    from dragoman.translation.folder.config import read_config

    if output is not None:
        check_new(output)
    found = [model_folder(folder) for folder in folders]
    for folder in found:
        read_config(folder)
    return found


def _is_adapter(folder: Path) -> bool:
    from dragoman.translation.folder.config import ADAPTER

    return (folder / ADAPTER).exists()


def _different(found: FolderDifference) -> list[str]:
    """Return one line for each difference; the weights last, as a table."""
    if found.equal:
        return [f"equal: configuration, tokenizer, search and {count(found.total, 'weight')}"]
    sections = {"config": found.config, "tokenizer": found.tokenizer, "search": found.generation}
    lines = [f"{name}: {clean(line)}" for name, texts in sections.items() for line in texts]
    differing = len({one.name for one in found.weights})
    lines.append(f"weights: {differing:,} of {found.total:,} differ")
    if found.weights:
        rows = [[clean(one.name), _figure(one.largest), _figure(one.mean), one.text] for one in found.weights]
        lines += ["", *aligned([["weight", "largest", "mean", ""], *rows], right=(1, 2))]
    return lines


def _figure(number: float | None) -> str:
    return "" if number is None else f"{number:.3g}"
