"""config.json and generation_config.json of Hugging Face, and the same facts as ours.

Names and defaults come from `MarianConfig` and `GenerationConfig` in transformers 5. A pre-norm
model is a `PegasusForConditionalGeneration`, whose names are the same.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

from dragoman.base.errors import ConfigError, ModelError
from dragoman.interop.huggingface.files import CLASSES, MULTILINGUAL, Folder, JsonTable
from dragoman.interop.penalty import note_of_power, power_of
from dragoman.models.folder.bundle import Bundle
from dragoman.models.shapes import AnyPositions, Norm, Tie, TransformerConfig
from dragoman.translation.search.options import Beam

log = logging.getLogger(__name__)

NORM_EPSILON = 1e-5  # PyTorch's, which MarianMTModel does not change
LONGEST = 1024  # positions in the table of an exported model; it is computed, not stored
_MOST_TOKENS = 10_000_000  # of a vocabulary; the largest models have some hundred thousand
_MAX_LENGTH = 512  # tokens of a translation, in every OPUS-MT model

# Theirs to ours. gelu_new, mish and others are not among ours.
_ACTIVATIONS = {
    "relu": "relu", "gelu": "gelu", "gelu_python": "gelu", "swish": "swish", "silu": "swish",
    "quick_gelu": "quick-gelu",
}  # fmt: skip
_EXPORTED = {"relu": "relu", "gelu": "gelu", "swish": "swish", "quick-gelu": "quick_gelu"}
# The options that have the same values: theirs to ours, and their defaults.
_EQUAL: dict[str, tuple[str, Any]] = {
    "d_model": ("d_model", 1024),
    "encoder_ffn_dim": ("d_ff", 4096),
    "encoder_attention_heads": ("heads", 16),
    "encoder_layers": ("encoder_layers", 12),
    "decoder_layers": ("decoder_layers", 12),
    "dropout": ("dropout", 0.1),
    "attention_dropout": ("attention_dropout", 0.0),
    "activation_dropout": ("activation_dropout", 0.0),
    "scale_embedding": ("embedding_scale", False),
}
_NORMS: dict[str, Norm] = {"marian": "post", "pegasus": "pre", "m2m_100": "pre", "mbart": "pre"}
_POSITIONS: dict[str, AnyPositions] = {"m2m_100": "learned", "mbart": "learned-apart"}
# Options of early configurations that change the network. transformers 5 ignores them.
_FIXED = {
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
}
# Options of a search that `Beam` does not have, with the values that change nothing.
_WITHOUT_EFFECT: dict[str, tuple[object, ...]] = {
    "do_sample": (False,),
    "no_repeat_ngram_size": (0,),
    "encoder_no_repeat_ngram_size": (0,),
    "repetition_penalty": (1.0,),
    "encoder_repetition_penalty": (1.0,),
    "min_length": (0,),
    "min_new_tokens": (0,),
    "num_beam_groups": (1,),
    "diversity_penalty": (0.0,),
    "forced_bos_token_id": (),
    "sequence_bias": (),
    "begin_suppress_tokens": ([],),
    "exponential_decay_length_penalty": (),
    "guidance_scale": (1.0,),
}


@dataclass(frozen=True, kw_only=True)
class VocabularySettings:
    """The settings of a folder that concern its vocabularies."""

    ids: dict[str, int]  # pad_id, start_id and end_id
    sizes: tuple[int, int]  # embeddings of source and target
    tied: tuple[bool, bool]  # whether source and target embeddings are one; target embeddings and output

    @classmethod
    def of(cls, folder: Folder) -> VocabularySettings:
        """Raises ModelError for values that do not fit."""
        config, where = folder.config, folder.config.path

        def first(name: str) -> int | None:  # as in transformers, generation_config.json wins
            return config.token(name) if (own := folder.generation.token(name)) is None else own

        pad, start, end = map(first, ("pad_token_id", "decoder_start_token_id", "eos_token_id"))
        if end is None:
            raise ModelError(f"{where}: no eos_token_id", hint="add the id of </s>, 0 in OPUS-MT models")
        if pad is None:
            raise ModelError(f"{where}: no pad_token_id", hint="add the id of <pad> in vocab.json")
        start = pad if start is None else start  # as in Marian
        tied = (
            config.typed("share_encoder_decoder_embeddings", True),
            config.typed("tie_word_embeddings", True),
        )
        source = config.typed("vocab_size", 58101)
        target = source if tied[0] else config.typed("decoder_vocab_size", source)
        if max(source, target) > _MOST_TOKENS:  # before memory is taken for them
            what = f"a vocabulary of {max(source, target):,} tokens"
            raise ModelError(f"{where}: {what}", hint="restore config.json")
        ids = {"pad_id": pad, "start_id": start, "end_id": end}
        return cls(ids=ids, sizes=(source, target), tied=tied)


def shape_of(
    config: JsonTable, settings: VocabularySettings, *, tie: Tie, attention_bias: bool, output_bias: bool
) -> TransformerConfig:
    """Return the shape of the model. Raises ModelError for options that our Transformer lacks."""
    get, where = config.typed, config.path
    kind = get("model_type", "")
    for name, value in _FIXED.items():
        if kind not in MULTILINGUAL and get(name, value) != value:
            raise ModelError(
                f"{where}: {name} = {config.get(name)}, which transformers 5 ignores and Marian never has",
                hint="this model is of another architecture",
            )
    activation = get("activation_function", "gelu")
    if activation not in _ACTIVATIONS:
        raise ModelError(
            f"{where}: unknown activation_function {activation!r}", hint=f"known: {', '.join(_ACTIVATIONS)}"
        )
    for one, other in (
        ("encoder_ffn_dim", "decoder_ffn_dim"),
        ("encoder_attention_heads", "decoder_attention_heads"),
    ):
        if config.get(one) != config.get(other):
            raise ModelError(
                f"{where}: {one} = {config.get(one)} and {other} = {config.get(other)}",
                hint="they must be equal here",
            )
    try:
        return TransformerConfig(
            source_vocab=settings.sizes[0],
            target_vocab=settings.sizes[1],
            activation=_ACTIVATIONS[activation],  # type: ignore[arg-type]
            norm=_NORMS[kind],
            positions=_POSITIONS.get(kind, "sinusoidal-halves"),
            embedding_norm=kind == "mbart",
            norm_epsilon=NORM_EPSILON,
            tie=tie,
            attention_bias=attention_bias,
            output_bias=output_bias,
            **{ours: get(theirs, default) for theirs, (ours, default) in _EQUAL.items()},
            **settings.ids,  # type: ignore[arg-type]
        )
    except ConfigError as error:
        raise ModelError(f"{where}: {error}", hint=error.hint) from error


def beam_of(generation: JsonTable, settings: VocabularySettings) -> Beam:
    """Return the search of the configuration. A warning names the options that cannot be kept."""
    get, where = generation.typed, generation.path
    ids, vocab = settings.ids, settings.sizes[1]
    lost = [
        f"{name} = {value}"
        for name, harmless in _WITHOUT_EFFECT.items()
        if (value := generation.get(name)) is not None and value not in harmless
    ]
    banned = generation.tokens("suppress_tokens")
    for word in generation.sequences("bad_words_ids"):
        if len(word) == 1:
            banned += word
        else:
            lost.append(f"bad_words_ids: {word}, a sequence of tokens")
    early = generation.get("early_stopping")
    if early not in (None, True, False, "never"):
        lost.append(f"early_stopping = {early!r}")
    if generation.get("forced_eos_token_id") not in (None, ids["end_id"], [ids["end_id"]]):
        lost.append(f"forced_eos_token_id = {generation.get('forced_eos_token_id')}")
    if lost:
        log.warning("%s: not kept, so translations may differ: %s", where, "; ".join(lost))
    if outside := [token for token in banned if not 0 <= token < vocab]:
        raise ModelError(
            f"{where}: bans token {outside[0]}, of a vocabulary of {vocab}", hint="correct bad_words_ids"
        )
    try:
        return Beam(
            size=get("num_beams", 1),
            length_penalty=get("length_penalty", 1.0),
            normalization="power",
            # The end is never banned there either. Padding and start are always banned here.
            banned=tuple(sorted(set(banned) - set(ids.values()))),
            renormalize=get("renormalize_logits", False),
            stop="full" if early is True else "exact" if early == "never" else "patient",
        )
    except ConfigError as error:
        raise ModelError(f"{where}: {error}", hint=error.hint) from error


def config_table(shape: TransformerConfig) -> dict[str, Any]:
    """Return config.json."""
    kind = next(kind for kind, norm in _NORMS.items() if norm == shape.norm)
    return {
        "architectures": [CLASSES[kind]],
        "model_type": kind,
        "is_encoder_decoder": True,
        "vocab_size": shape.source_vocab,
        "decoder_vocab_size": shape.target_vocab,
        "share_encoder_decoder_embeddings": shape.tie == "all",
        "tie_word_embeddings": shape.tie != "none",
        **{theirs: getattr(shape, ours) for theirs, (ours, _) in _EQUAL.items()},
        "decoder_ffn_dim": shape.d_ff,
        "decoder_attention_heads": shape.heads,
        "num_hidden_layers": shape.encoder_layers,
        "activation_function": _EXPORTED[shape.activation],
        "max_position_embeddings": LONGEST,
        **_special(shape),
        "torch_dtype": "float32",
    }


def generation_table(beam: Beam, shape: TransformerConfig) -> dict[str, Any]:
    """Return generation_config.json."""
    never = {shape.pad_id, shape.start_id, *beam.banned} - {shape.end_id}
    return {
        "num_beams": beam.size,
        "length_penalty": power_of(beam),
        "early_stopping": {"patient": False, "exact": "never"}.get(beam.stop, True),
        "renormalize_logits": beam.renormalize,
        "bad_words_ids": [[token] for token in sorted(never)],
        "max_length": _MAX_LENGTH,
        **_special(shape),
    }


def _special(shape: TransformerConfig) -> dict[str, int]:
    """The ids that both tables have."""
    ids = ("pad", shape.pad_id), ("bos", shape.start_id), ("eos", shape.end_id)
    more = ("forced_eos", shape.end_id), ("decoder_start", shape.start_id)
    return {f"{name}_token_id": number for name, number in (*ids, *more)}


def notes(bundle: Bundle) -> list[str]:
    """Return what generation_config.json can only approximate, and how, one sentence each."""
    found = note_of_power(bundle.generation, "Hugging Face")
    if bundle.generation.stop == "shrinking":
        found.append(
            "Hugging Face's beam does not shrink. It stops when as many translations have ended as the "
            "beam is wide."
        )
    return found


def shape_faults(shape: TransformerConfig) -> list[str]:
    """Return the options of the shape that transformers does not have, as `model.window = 5`."""
    # Pegasus has one matrix for both embeddings and the output.
    faults = {
        f'model.norm = "pre" with model.tie = "{shape.tie}"': shape.norm == "pre" and shape.tie != "all",
        "model.final_norm = false": not shape.final_norm,
        "model.embedding_norm = true": shape.embedding_norm,
        f'model.positions = "{shape.positions}"': shape.positions not in ("sinusoidal", "sinusoidal-halves"),
        f"model.window = {shape.window}": shape.window is not None,
        f'model.activation = "{shape.activation}"': shape.activation not in _EXPORTED,
        f"model.norm_epsilon = {shape.norm_epsilon:g}": shape.norm_epsilon != NORM_EPSILON,
        f'model.norm_kind = "{shape.norm_kind}"': shape.norm_kind != "layer",
        f"model.kv_heads = {shape.kv_heads}": shape.kv_width != shape.d_model,
    }
    return [what for what, is_fault in faults.items() if is_fault]
