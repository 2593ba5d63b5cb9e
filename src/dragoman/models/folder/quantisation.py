"""Store a model's matrices as int8, in a new model folder of a quarter of the size."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from dragoman.base.errors import ConfigError
from dragoman.base.files import new_folder
from dragoman.models.folder.bundle import new_model, write_folder
from dragoman.models.folder.weights import check_finite, outlines, quantise, read_weights, weights_of
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.adapter import base_digest
from dragoman.translation.folder.card import continue_card
from dragoman.translation.folder.checkpoint import model_folder
from dragoman.translation.folder.config import WEIGHTS, read_config
from dragoman.translation.folder.digest import check_digest
from dragoman.translation.folder.fit import check_fit
from dragoman.translation.folder.header import read_header
from dragoman.translation.folder.quantised import ARCHITECTURES
from dragoman.translation.folder.risk import copy_risk
from dragoman.translation.folder.shortlist import copy_shortlist


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Bytes of the weights before and after."""

    before: int
    after: int


def quantise_folder(folder: Path, output: Path) -> Sizes:
    """Write the model in `folder` to the new folder `output`, its matrices as int8.

    Tokenizer, shortlist, risk model, search and model card are copied. Raises ConfigError if the model
    cannot be quantised or `output` exists, ModelError if `folder` is damaged or has weights that are not
    finite. Leaves nothing behind then.
    """
    place = model_folder(folder)
    with new_folder(output) as part:
        config = read_config(place)
        if config.quantised:
            raise ConfigError(
                f"{folder}: quantised already, to {config.quantised}",
                hint="use it as it is, or name the original",
            )
        if config.model.architecture not in ARCHITECTURES:
            raise ConfigError(
                f"{folder}: {config.model.architecture} models cannot be quantised",
                hint=f"only these can: {', '.join(ARCHITECTURES)}",
            )
        source = place / WEIGHTS
        needed = outlines(weights_of(new_model(config.model, read_header(source), source)))
        weights = read_weights(source)
        check_fit(outlines(weights), needed, source)
        check_digest(source, config.weights)
        check_finite(weights, f"{source}:", hint="such a model cannot translate")
        stored = replace(config, quantised="int8", original=base_digest(place, config))
        write_folder(stored, Tokenizer.load(place), quantise(weights), part)
        copy_shortlist(place, part)
        copy_risk(place, part, read_config(part))
        sizes = Sizes(before=source.stat().st_size, after=(part / WEIGHTS).stat().st_size)
        rows = [
            ["from", f"{folder}, {config.weights or 'without a digest'}"],
            ["type", "int8, one scale a row"],
            ["bytes of the weights", f"{sizes.before:,} -> {sizes.after:,}"],
        ]
        continue_card(place, config, part, {"Quantised": rows})
    return sizes
