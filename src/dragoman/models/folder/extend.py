"""Give a model new languages: marks and pieces in its vocabulary, and rows for them, in a new folder.

The row of a new piece is the mean of the rows of the old tokens that spelled it. That of a mark is the mean
of the old marks, or of all rows: what is known of any token (Hewitt 2021, "Initializing New Word Embeddings
for Pretrained Language Models"). A bias of the output layer closes new tokens, which would take some percent
of the probability from old ones: the new model translates old text as the old one does. Training opens the
tokens that its text has.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from dragoman.base.errors import ConfigError
from dragoman.base.files import new_folder
from dragoman.base.languages import canonical, tags_by_code
from dragoman.base.tables import count
from dragoman.models.folder.bundle import load, write_folder
from dragoman.models.folder.weights import weights_of
from dragoman.models.layers.embeddings import CLOSED
from dragoman.text.corpora.languages import is_language
from dragoman.text.tokenizers.extend import extend
from dragoman.text.tokenizers.tokenizer import Tokenizer
from dragoman.translation.folder.adapter import base_digest
from dragoman.translation.folder.card import write_card
from dragoman.translation.folder.config import FolderConfig, read_config


def extend_folder(
    folder: Path, lines: Iterable[str], languages: Sequence[str], output: Path, *, pieces: int
) -> str:
    """Write the model in `folder`, with new languages, to the new folder `output`. Return what was added.

    Each vocabulary gets at most so many pieces of the lines. Shortlist and risk model are left out. Raises
    ConfigError for a model that cannot be extended, for languages that it has, or if `output` exists.
    """
    with new_folder(output) as part:
        config = read_config(folder)
        if config.quantised:
            raise ConfigError(
                f"{folder}: quantised, to {config.quantised}", hint="name the model that it was made from"
            )
        bundle = load(folder)
        if (kind := bundle.tokenizer.config.kind) in ("words", "characters"):
            raise ConfigError(
                f'{folder}: tokenizer.kind = "{kind}" has no subwords',
                hint="only models of subwords can be extended",
            )
        marks, directions = _new_marks(languages, config, bundle.tokenizer)
        tokenizer, sources, targets = extend(bundle.tokenizer, lines, marks, most=pieces)
        shape = replace(
            config.model,
            source_vocab=tokenizer.source_size,
            target_vocab=tokenizer.target_size,
            output_bias=True,
        )
        weights = weights_of(bundle.model)
        for name, spelled in (
            ("source_embedding.weight", sources),
            ("target_embedding.weight", targets),
            ("logits.weight", targets),
        ):
            if (old_VE := weights.get(name)) is not None:
                rows = [old_VE[ids].mean(0) if ids else old_VE.mean(0) for ids in spelled]
                weights[name] = torch.cat([old_VE, *(row[None] for row in rows)])
        bias_V = weights.get("logits.bias", torch.zeros(config.model.target_vocab))
        weights["logits.bias"] = torch.cat([bias_V, bias_V.new_full((len(targets),), CLOSED)])
        extended = replace(
            config,
            model=shape,
            directions=directions,
            original=base_digest(folder, config),
            extended=config.extended or (config.model.source_vocab, config.model.target_vocab),
        )
        write_folder(extended, tokenizer, weights, part)
        added = f"{count(len(targets) - len(marks), 'piece')} and marks of {', '.join(marks)}"
        origin = f"{folder}, {config.weights or 'without a digest'}"
        write_card(part, {"Extended": [["from", origin], ["added", added]]})
    return added


def _new_marks(
    languages: Sequence[str], config: FolderConfig, tokenizer: Tokenizer
) -> tuple[list[str], tuple[tuple[str, str], ...]]:
    """The languages that get marks, and the pairs that the model was trained on.

    A model of one target language gets a mark for it.
    """
    old, (source, target) = tokenizer.languages, (config.source_language, config.target_language)
    own = old or ((target,) if is_language(target) and target not in ("mul", "und") else ())
    known = {*map(canonical, own), *tags_by_code(own)}
    for language in languages:
        if not is_language(language):
            raise ConfigError(
                f"--language {language}: not the code of a language", hint="such as cs or pt-BR"
            )
        if canonical(language) in known:
            raise ConfigError(
                f"--language {language}: the model has it already",
                hint=f"name a language other than {', '.join(own)}",
            )
        known.add(canonical(language))
    directions = config.directions
    if not directions and source != "mul":  # one of many sources states no pairs
        directions = tuple((source, one) for one in old or (target,))
    return [*(own if not old else ()), *languages], directions
