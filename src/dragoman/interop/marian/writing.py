"""Write Marian's own models.

Marian's decoder starts from a zero embedding. A start embedding that is not zero goes into the biases of the
first decoder layer: let x be the embedding of any token and s of the start. The decoder then reads
x - s, which is zero for the start, and

    attention(x) = W (x - s) + (W s + b)    and    x + attention(x) = (x - s) + (attention(x) + s).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch
from torch import Tensor

from dragoman.base.errors import ConfigError
from dragoman.base.files import replacing, write_whole
from dragoman.interop.marian import modern
from dragoman.interop.marian.files import OPTIONS
from dragoman.interop.marian.shape import (
    ACTIVATIONS,
    CONTROLS,
    EPSILON,
    SILENT,
    START,
    Config,
    in_yaml,
    name_table,
    options_of,
    unused,
    yaml_of,
)
from dragoman.interop.name_table import shapes_of
from dragoman.interop.penalty import note_of_power, power_of
from dragoman.interop.pieces import sentencepiece_model
from dragoman.models.folder.bundle import Bundle
from dragoman.models.folder.weights import weights_of
from dragoman.models.shapes import SSRUConfig, TransformerConfig
from dragoman.text.tokenizers.tokenizer import Side, Tokenizer
from dragoman.version import __version__

_PREPROCESS = """\
#!/bin/sh
# Text to pieces for Marian: ./preprocess.sh < text > pieces. MOSES is the folder of the Moses scripts.
{moses}spm_encode --model "$(dirname "$0")/source.spm"
"""
_MOSES = """\
"$MOSES/tokenizer/replace-unicode-punctuation.perl" |
"$MOSES/tokenizer/remove-non-printing-char.perl" |
"$MOSES/tokenizer/normalize-punctuation.perl" -l {language} |
sed 's/  */ /g;s/^ *//;s/ *$//' |
"""
_POSTPROCESS = """\
#!/bin/sh
# Pieces to text: ./postprocess.sh < pieces > text
sed 's/ //g;s/▁/ /g;s/^ *//;s/ *$//'
"""


def write(bundle: Bundle, folder: Path) -> None:
    """Write model.npz, the vocabularies and decoder.yml, which comes last.

    Raises ConfigError with everything that Marian cannot hold, before anything is written.
    """
    if faults := unsupported(bundle):
        raise ConfigError(
            "Marian cannot hold this model:\n  " + "\n  ".join(faults),
            hint="each line is an option of a model that can be trained with another value",
        )
    folder = Path(folder)
    config, options, tensors = for_marian(bundle)
    theirs: dict[str, Any] = {name: tensor.numpy() for name, tensor in tensors.items()}
    stated = {
        "version": f"dragoman {__version__}",
        "dragoman-source-language": bundle.source_language,
        "dragoman-target-language": bundle.target_language,
    }
    inside = yaml_of({**options, **stated}).encode() + b"\0"
    with replacing(folder / "model.npz") as part, part.open("wb") as file:
        np.savez(file, **{**theirs, OPTIONS: np.frombuffer(inside, np.int8)})
    names, contents = _vocabularies(bundle, (config.source_vocab, config.target_vocab))
    for name, content in contents.items():
        write_whole(folder / name, content)
    decoding = _decoding(bundle, names, classic=options["type"] == "transformer")
    write_whole(folder / "decoder.yml", yaml_of(decoding))


def unsupported(bundle: Bundle) -> list[str]:
    """Return the parts of the model that Marian cannot hold, one reason an item; empty if it can hold it."""
    config = bundle.model.config
    if not isinstance(config, TransformerConfig | SSRUConfig):
        return [f'model.architecture = "{config.architecture}" (supported: transformer, ssru)']
    positions, epsilon, activation = config.positions, config.norm_epsilon, config.activation
    classic_only = "with model.embedding_scale=false, model.norm_epsilon=1e-6 and model.norm=post"
    # Whether Marian has the value of each option, or those that it has.
    supported = {
        f'model.positions = "{positions}"': positions in modern.POSITIONS or ", ".join(modern.POSITIONS),
        'model.positions = "none"': positions != "none" or is_classic(bundle, config) or classic_only,
        f'model.activation = "{activation}"': activation in ACTIVATIONS.values() or ", ".join(ACTIVATIONS),
        f"model.window = {config.window}": config.window is None or "left out",
        f'model.norm_kind = "{config.norm_kind}"': config.norm_kind == "layer" or "layer",
        "model.embedding_norm = true": not config.embedding_norm or "false",
        'tokenizer.target_mark = "target"': bundle.tokenizer.config.target_mark == "source" or "source",
        f"model.kv_heads = {config.kv_heads}": config.kv_width == config.d_model or "left out",
        f"model.norm_epsilon = {epsilon}": epsilon <= modern.EPSILON or f"{modern.EPSILON} and {EPSILON}",
    }
    faults = [f"{what} (supported: {which})" for what, which in supported.items() if which is not True]
    return faults + _unsupported_text(bundle)


def is_classic(bundle: Bundle, config: Config) -> bool:
    """Whether Marian's older layers, which all its releases have, hold the model exactly."""
    plain = (config.positions, config.embedding_scale)
    fits = plain in (("sinusoidal-t2t", True), ("none", False)) and config.d_model % 2 == 0
    if isinstance(config, SSRUConfig):
        start = bundle.model.target_embedding.weight[config.start_id]
        return fits and config.norm_epsilon == EPSILON and not bool(start.any())
    # Pre-norm decoders read keys and values there that are not normalised, once they translate.
    return fits and config.norm_epsilon == EPSILON and config.norm == "post"


def notes(bundle: Bundle) -> list[str]:
    """Return the changes of an export that Marian makes necessary, one sentence each."""
    generation, config = bundle.generation, bundle.model.config
    found = note_of_power(generation, "Marian")
    if generation.stop != "shrinking" and generation.size > 1:
        found.append(
            "In Marian each finished translation takes a place of the beam (generation.stop=shrinking)."
        )
    if isinstance(config, TransformerConfig | SSRUConfig) and not is_classic(bundle, config):
        found.append(
            f"Marian refuses sentences of more than {modern.ROWS} tokens with this model, and mistranslates "
            "batches: leave mini-batch at 1."
        )
        if config.norm_epsilon != modern.EPSILON:
            found.append(
                f"Layer normalisation adds {modern.EPSILON} to the variance, not {config.norm_epsilon}."
            )
    return found


def _unsupported_text(bundle: Bundle) -> list[str]:
    tokenizer, generation = bundle.tokenizer, bundle.generation
    if tokenizer.config.kind == "words":
        return ['tokenizer.kind = "words": Marian splits text at spaces alone']
    faults = []
    if tokenizer.config.languages or tokenizer.config.target_mark == "target":
        faults.append("marks of languages: Marian reads them as text")
    for side in sides_of(tokenizer):
        ends = (tokenizer.end_id, tokenizer.unk_id)
        if side.whole and side.ends != ends:
            faults.append(f"special ids {ends}: the SentencePiece model has {side.ends}")
        if not side.whole and tuple(side.pieces[i] for i in ends) != ("</s>", "<unk>"):
            faults.append("a list of pieces without </s> and <unk>")
    more = set(generation.banned) - {tokenizer.unk_id, *_controls(tokenizer)}
    if more and not generation.renormalize:
        faults.append(f"generation.banned: {sorted(more)[:5]} (Marian bans <unk> and control bytes)")
    return list(dict.fromkeys(faults))


def for_marian(bundle: Bundle) -> tuple[Config, dict[str, Any], dict[str, Tensor]]:
    """Return the configuration, the options and the weights of the model as Marian has it."""
    own = bundle.model.config
    if not isinstance(own, TransformerConfig | SSRUConfig):
        raise TypeError(own)  # `unsupported` refuses other models
    config: Config = replace(own, attention_bias=True, output_bias=True)
    weights = _complete(bundle, config)
    start = weights["target_embedding.weight"][own.start_id].clone()
    classic = is_classic(bundle, own)
    if classic and start.any():
        config = _without_start(config, weights)
    if not classic:  # each matrix gets its own copy
        for name in ("source_embedding", "logits"):
            weights.setdefault(f"{name}.weight", weights["target_embedding.weight"].clone())
        config = replace(config, tie="none")
    source, target = _rows(bundle, weights)
    for name, rows in (("target_embedding", target), ("source_embedding", source), ("logits", target)):
        for part in (f"{name}.weight", f"{name}.bias"):
            if part in weights:
                weights[part] = weights[part][:rows]
    end = own.end_id  # Marian has no ids for padding and start
    config = replace(config, source_vocab=source, target_vocab=target, pad_id=end, start_id=end)
    options, theirs = options_of(config), name_table(config).to_theirs(weights)
    if not classic:
        biased = bool(weights["logits.bias"].any())
        options |= modern.own_options(replace(own, output_bias=own.output_bias or biased))
        theirs = modern.with_tables(theirs, config, start)
    return config, options, theirs


def _complete(bundle: Bundle, config: Config) -> dict[str, Tensor]:
    """Return all weights that `config` needs, zeros for biases that the model lacks."""
    weights = {name: weight.cpu().float() for name, weight in weights_of(bundle.model).items()}
    shapes = shapes_of(config, len(weights), "model")
    weights = {name: weights.get(name, torch.zeros(shape)).clone() for name, shape in shapes.items()}
    if bundle.generation.renormalize:
        silent = [*{config.pad_id, config.start_id, *bundle.generation.banned} - {config.end_id}]
        weights["logits.bias"][silent] = SILENT
    return weights


def _without_start(config: Config, weights: dict[str, Tensor]) -> Config:
    """Move the start embedding into the first decoder layer: change `weights`, return their configuration.

    With tied embeddings the logits lose the same number at each token, so no probability changes.
    """
    target = weights["target_embedding.weight"]
    if config.tie == "all":
        weights["source_embedding.weight"] = target
        config = replace(config, tie="decoder")
    start = target[config.start_id].clone()
    weights["target_embedding.weight"] = target - start
    scaled = start.double() * (math.sqrt(config.d_model) if config.embedding_scale else 1.0)
    attention = "decoder.0.attention"
    added = weights[f"{attention}.project.weight"].double() @ scaled
    weights[f"{attention}.project.bias"] = (weights[f"{attention}.project.bias"] + added).float()
    weights[f"{attention}.output.bias"] = (weights[f"{attention}.output.bias"] + scaled).float()
    return config


def _rows(bundle: Bundle, weights: dict[str, Tensor]) -> tuple[int, int]:
    """Return how many ids of the source and of the target Marian keeps.

    The last one of the target is dropped if it is only the start: it has no probability.
    """
    specials = bundle.tokenizer.specials
    source, target = sides_of(bundle.tokenizer)
    count, last = len(target.pieces), len(target.pieces) - 1
    only_start = specials.start == specials.pad == last and last not in (specials.end, specials.unknown)
    if only_start and float(weights["logits.bias"][last]) <= SILENT / 2:
        count = last
    alike = len(source.pieces) == len(target.pieces)
    return (source.size if source.whole else count if alike else len(source.pieces)), count


@dataclass(frozen=True, kw_only=True)
class _Side:
    """The vocabulary of one side. It is `whole` if the SentencePiece model alone numbers the pieces."""

    model: bytes
    pieces: tuple[str, ...]
    size: int  # pieces of the SentencePiece model
    whole: bool
    ends: tuple[int, int]  # its ids of the end and of unknown pieces


def sides_of(tokenizer: Tokenizer) -> tuple[_Side, _Side]:
    return _side(tokenizer, "source"), _side(tokenizer, "target")


def _side(tokenizer: Tokenizer, name: Side) -> _Side:
    vocabulary = tokenizer.vocabularies[name == "target"]
    if (model := sentencepiece_model(tokenizer, name)) is None:
        raise TypeError(vocabulary)  # `unsupported` refuses words
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    pieces = tuple(vocabulary.pieces(range(len(vocabulary))))
    own = tuple(processor.id_to_piece(i) for i in range(len(processor)))
    rest = enumerate(pieces[len(own) :], len(own))
    return _Side(
        model=model,
        pieces=pieces,
        size=len(own),
        whole=pieces[: len(own)] == own and all(piece in (START, unused(i)) for i, piece in rest),
        ends=(processor.eos_id(), processor.unk_id()),
    )


def _vocabularies(bundle: Bundle, sizes: tuple[int, int]) -> tuple[list[str], dict[str, str | bytes]]:
    """Return the files that decoder.yml names, one twice if both sides share it, and the content of all.

    Lists of pieces come with the models and the scripts that they need.
    """
    sides = source, target = sides_of(bundle.tokenizer)
    if source.whole and target.whole:
        names = ["vocab.spm"] * 2 if source.model == target.model else ["source.spm", "target.spm"]
        return names, {name: side.model for name, side in zip(names, sides, strict=True)}
    same = source.pieces == target.pieces
    names = ["vocab.yml"] * 2 if same else ["source.vocab.yml", "target.vocab.yml"]
    content: dict[str, str | bytes] = {}
    for name, side, size, which in zip(names, sides, sizes, ("source", "target"), strict=True):
        content[f"{which}.spm"] = side.model
        content[name] = "".join(f"{in_yaml(piece)}: {i}\n" for i, piece in enumerate(side.pieces[:size]))
    language = bundle.tokenizer.config.punctuation
    moses = _MOSES.format(language=language) if language else ""
    content |= {"preprocess.sh": _PREPROCESS.format(moses=moses), "postprocess.sh": _POSTPROCESS}
    return names, content


def _decoding(
    bundle: Bundle, names: list[str], *, classic: bool
) -> dict[str, bool | float | str | list[str]]:
    generation, tokenizer = bundle.generation, bundle.tokenizer
    return {
        "relative-paths": True,
        "models": ["model.npz"],
        "vocabs": names,
        "beam-size": generation.size,
        "normalize": power_of(generation),
        "word-penalty": 0,
        "allow-unk": tokenizer.unk_id not in generation.banned,
        "allow-special": not set(generation.banned) >= set(_controls(tokenizer)),
        "mini-batch": 16 if classic else 1,  # in a batch, the newer layers lose the shorter sentences
        "maxi-batch": 100,
        "maxi-batch-sort": "src",
    }


def _controls(tokenizer: Tokenizer) -> list[int]:
    """Return the ids of control characters, which Marian suppresses if SentencePiece numbers them."""
    _, side = sides_of(tokenizer)
    if not side.whole:
        return []
    return [i for i, piece in enumerate(side.pieces) if piece in CONTROLS]
