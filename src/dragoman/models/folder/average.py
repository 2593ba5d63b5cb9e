"""The average of several models, as a new model folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dragoman.base.config import difference, to_table
from dragoman.base.errors import ConfigError
from dragoman.base.files import new_folder
from dragoman.models.folder.bundle import new_model, write_folder
from dragoman.models.folder.weights import average, check_finite, outlines, put_weights
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.card import write_card
from dragoman.translation.folder.checkpoint import model_folder
from dragoman.translation.folder.config import WEIGHTS, FolderConfig, read_config, read_json
from dragoman.translation.folder.digest import check_digest
from dragoman.translation.folder.shortlist import copy_shortlist


def average_folders(folders: Sequence[Path], output: Path) -> None:
    """Write a model whose weights are the mean of those in `folders`, summed in float64, to `output`.

    Each is a model folder, or a checkpoint of a run: RUN@500, or a file in RUN/checkpoints. One that is named
    twice counts twice. The search, the shortlist, and options that matter only in training, such as dropout,
    come from the first. Risk models are left out: the average makes other errors.
    Raises ConfigError for fewer than two folders, if `output` exists, and if the models differ in shape,
    languages or tokenizer, with all differences; ModelError for a folder that is damaged or has weights that
    are not finite. Leaves nothing behind then.
    """
    if len(folders) < 2:
        raise ConfigError("averaging needs at least two models", hint="name two models or more")
    with new_folder(output) as part:
        read = [model_folder(folder) for folder in folders]
        configs = [read_config(folder) for folder in read]
        _check_alike(folders, [_alike(*one) for one in zip(read, configs, strict=True)])
        paths = [one / WEIGHTS for one in read]
        if read != [*folders]:  # messages name the file of a checkpoint
            paths = [path.resolve() for path in paths]
        for path, config in zip(paths, configs, strict=True):
            check_digest(path, config.weights)
        weights = average(paths)
        check_finite(weights, "the average is")
        put_weights(new_model(configs[0].model, outlines(weights), paths[0]), weights, paths[0])  # they fit
        write_folder(
            replace(configs[0], quantised=None, original=None), Tokenizer.load(read[0]), weights, part
        )
        copy_shortlist(read[0], part)
        rows = [
            [f"model {number}", f"{folder}, {config.weights or 'without a digest'}"]
            for number, (folder, config) in enumerate(zip(folders, configs, strict=True), 1)
        ]
        write_card(part, {"Average of": rows})


def _check_alike(folders: Sequence[Path], tables: Sequence[dict[str, object]]) -> None:
    """Raise ConfigError unless all models have the first one's shape, languages and tokenizer."""
    lines = [
        f"{folders[0]} and {folder}: {line}"
        for folder, table in zip(folders[1:], tables[1:], strict=True)
        for line in difference(tables[0], table)
    ]
    if lines:
        raise ConfigError(
            "these models cannot be averaged\n  " + "\n  ".join(lines),
            hint="average models that come from the same run, such as a run and its continuation",
        )


def _alike(folder: Path, config: FolderConfig) -> dict[str, object]:
    """Return the options that must be equal: all except those that matter only in training."""
    model = {name: value for name, value in to_table(config.model).items() if not name.endswith("dropout")}
    tokenizer = read_json(folder, "tokenizer.json")
    if isinstance(options := tokenizer.get("config"), dict):
        options.pop("sampling", None)
    languages = {
        "source": config.source_language,
        "target": config.target_language,
        "pairs": sorted(config.directions),
    }
    learnt = {"alignment": config.alignment and str(config.alignment), "guidance": list(config.guidance)}
    return {"languages": languages, **learnt, "model": model, "tokenizer": tokenizer}
