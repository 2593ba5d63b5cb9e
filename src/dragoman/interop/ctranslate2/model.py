"""Write a model by CTranslate2's own classes, `ctranslate2.specs`."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast, get_args

import torch
from torch import Tensor, nn

from dragoman.base.errors import ConfigError, DragomanError
from dragoman.base.files import write_whole
from dragoman.base.machine import optional_package
from dragoman.interop.penalty import note_of_power, power_of
from dragoman.interop.pieces import sentencepiece_model
from dragoman.models.folder.bundle import Bundle
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import CrossAttention, DecoderLayer, EncoderLayer, SelfAttention, Transformer
from dragoman.text.tokenizers.tokenizer import Side, Tokenizer

QUANTIZATIONS = tuple("float32 float16 bfloat16 int16 int8 int8_float32 int8_float16 int8_bfloat16".split())

_POSITIONS = 2048  # rows of the table of positions, as in CTranslate2's own converters
_NOTHING = -1e4  # a bias that leaves no probability and fits float16
# Our activations by CTranslate2's names. SwiGLU is Swish with a second matrix.
_ACTIVATIONS = {
    "relu": "RELU",
    "gelu": "GELU",
    "quick-gelu": "GELUSigmoid",
    "swish": "SWISH",
    "swiglu": "SWISH",
}
_NO_POSITIONS = {
    "alibi": "ALiBi positions, which CTranslate2 has in decoders only",
    "index": "index positions, which replace a dimension of the embeddings",
    "fraction": "fraction positions, which depend on the length of the source",
}


def unsupported(bundle: Bundle) -> list[str]:
    """Return the parts of the model that CTranslate2 cannot hold, in plain words."""
    config, tokenizer = bundle.model.config, bundle.tokenizer
    if not isinstance(config, TransformerConfig):
        return [f"the {config.architecture} architecture: CTranslate2 has Transformers"]
    reasons = []
    if config.window is not None:
        reasons.append(f"self-attention with a window (model.window = {config.window})")
    if config.positions in _NO_POSITIONS:
        reasons.append(_NO_POSITIONS[config.positions])
    source, target = _vocabularies(tokenizer)
    for side, pieces in (("source", source), ("target", target)):
        if len(set(pieces)) < len(pieces):
            reasons.append(f"a {side} vocabulary with two tokens of one spelling")
    for name, token in (("end", tokenizer.end_id), ("unknown", tokenizer.unk_id)):
        if source[token] != target[token]:
            reasons.append(f"two spellings of the {name} token: {source[token]!r} and {target[token]!r}")
    return reasons


def notes(bundle: Bundle) -> list[str]:
    """Return the changes because CTranslate2 stores no search options, one sentence or two each."""
    how = bundle.generation
    penalty = f"length_penalty={power_of(how):g}"
    found = [
        f"A folder of CTranslate2 has no search options: pass beam_size={how.size} and {penalty} there.",
        *(note_of_power(how, "CTranslate2") if how.size > 1 else []),
    ]
    if bundle.tokenizer.config.target_mark == "target":
        found.append('There, the mark of the target language is passed as target_prefix=[[">>de<<"], ...].')
    if how.stop != "full" and how.size > 1:
        found.append(f'CTranslate2 ends a beam search as stop = "full" does, not as "{how.stop}".')
    return found


def write(bundle: Bundle, folder: Path, *, quantization: str | None = None) -> None:
    """Write the model and its tokenizer into `folder`, which is created if missing.

    `quantization` is the type of the weights, one of `QUANTIZATIONS`; float32 if left out. Raises
    ConfigError, before anything is written, with everything that CTranslate2 cannot hold; DragomanError if
    the package is not installed or the disk is full.
    """
    if reasons := unsupported(bundle):
        raise ConfigError(f"CTranslate2 cannot hold {'; '.join(reasons)}", hint="choose another format")
    quantization = quantization or "float32"
    if quantization not in QUANTIZATIONS:
        raise ConfigError(f'quantization = "{quantization}"', hint=f"choose {', '.join(QUANTIZATIONS)}")
    spec = _spec(bundle)
    _describe(spec, bundle, quantization)
    spec.validate()
    spec.optimize(quantization=quantization)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        spec.save(str(folder))
    except OSError as error:
        raise DragomanError(
            f"{folder}: cannot be written ({error.strerror or error})", hint="is the disk full?"
        ) from error
    _write_tokenizer(bundle.tokenizer, folder)


# ---- the weights -----------------------------------------------------------------------------------


def _spec(bundle: Bundle) -> Any:
    """Return the model as CTranslate2's `TransformerSpec`, with copies of the weights."""
    model: Any = bundle.model
    config: TransformerConfig = model.config
    encoder, decoder = _stacks(config)
    encoder.embeddings[0].weight = _array(model.source_embedding.weight)
    decoder.embeddings.weight = _array(model.target_embedding.weight)
    _linear(decoder.projection, model.logits.weight, _output_bias(bundle))
    for side, stack, layers, norm in (
        ("source", encoder, model.encoder, model.encoder_norm),
        ("target", decoder, model.decoder, model.decoder_norm),
    ):
        _, positions, embedding_norm = model.input_of(side)
        stack.scale_embeddings = config.embedding_scale
        if hasattr(stack, "position_encodings"):
            stack.position_encodings.encodings = _positions(model, positions)
        if hasattr(stack, "layernorm_embedding"):
            _norm(stack.layernorm_embedding, embedding_norm)
        if hasattr(stack, "layer_norm"):
            _norm(stack.layer_norm, norm)
        for place, layer in zip(stack.layer, layers, strict=True):
            _layer(place, layer, config)
    return optional_package("ctranslate2.specs", "ctranslate2").TransformerSpec(encoder, decoder)


def _stacks(config: TransformerConfig) -> tuple[Any, Any]:
    """Return an encoder and a decoder of this shape, without weights."""
    specs = optional_package("ctranslate2.specs", "ctranslate2")
    options = {
        "pre_norm": config.norm == "pre",
        "layernorm_embedding": config.embedding_norm,
        "no_final_norm": not config.final_norm,
        "rms_norm": config.norm_kind == "rms",
        "activation": specs.Activation[_ACTIVATIONS[config.activation]],
        "ffn_glu": config.activation == "swiglu",
        "relative_position": config.positions == "relative",
        "relative_attention_bias": config.positions == "t5",
        "rotary_dim": 0 if config.positions == "rotary" else None,  # 0 rotates all dimensions
        "rotary_interleave": True,  # pairs of neighbours, as in RotaryPositions
    }
    return (
        specs.transformer_spec.TransformerEncoderSpec(config.encoder_layers, config.heads, **options),
        specs.transformer_spec.TransformerDecoderSpec(
            config.decoder_layers, config.heads, num_heads_kv=config.kv_heads, **options
        ),
    )


def _layer(place: Any, layer: EncoderLayer | DecoderLayer, config: TransformerConfig) -> None:
    attention, own = place.self_attention, cast(SelfAttention, layer.attention)  # an SSRU is refused
    _linear(attention.linear[0], own.project.weight, own.project.bias)
    _linear(attention.linear[1], own.output.weight, own.output.bias)
    _norm(attention.layer_norm, layer.attention_residual.norm)
    _distances(attention, own.positions)
    if isinstance(layer, DecoderLayer):
        _cross_attention(place.attention, layer.cross_attention)
        _norm(place.attention.layer_norm, layer.cross_attention_residual.norm)
    network = layer.feed_forward
    if config.activation == "swiglu":  # the first half of `inner` is the gate
        weights, biases = network.inner.weight.chunk(2), network.inner.bias.chunk(2)
        _linear(place.ffn.linear_0, weights[0], biases[0])
        _linear(place.ffn.linear_0_noact, weights[1], biases[1])
    else:
        _linear(place.ffn.linear_0, network.inner.weight, network.inner.bias)
    _linear(place.ffn.linear_1, network.outer.weight, network.outer.bias)
    _norm(place.ffn.layer_norm, layer.feed_forward_residual.norm)


def _cross_attention(place: Any, attention: CrossAttention) -> None:
    """Set the projections of queries, and of keys and values, and the output."""
    width, bias = attention.width, attention.project.bias
    for linear, rows in ((place.linear[0], slice(width)), (place.linear[1], slice(width, None))):
        _linear(linear, attention.project.weight[rows], bias[rows] if attention.biased else None)
    _linear(place.linear[2], attention.output.weight, attention.output.bias)


def _distances(place: Any, positions: Any) -> None:
    """Set the tables that relative positions and T5's biases have in each layer."""
    if hasattr(place, "relative_position_keys"):
        place.relative_position_keys = _array(positions.of_keys.weight)
        place.relative_position_values = _array(positions.of_values.weight)
    if hasattr(place, "relative_attention_bias"):
        place.relative_attention_bias = _array(positions.table.weight)
        place.relative_attention_max_distance = torch.tensor(positions.FARTHEST, dtype=torch.int32).numpy()


def _positions(model: Transformer, positions: nn.Module) -> Any:
    """The vectors of the first positions, from the model itself: CTranslate2's own sines start at 1."""
    nothing_1TE = torch.zeros(1, _POSITIONS, model.config.d_model, device=model.device)
    with torch.no_grad():
        return _array(positions(nothing_1TE)[0])


def _output_bias(bundle: Bundle) -> Tensor:
    """The output bias, which takes all probability from the tokens that are never generated."""
    config, own = bundle.model.config, bundle.model.logits.bias if bundle.model.config.output_bias else None
    bias = torch.zeros(config.target_vocab) if own is None else own.detach().clone()
    bias[list({config.pad_id, config.start_id, *bundle.generation.banned} - {config.end_id})] = _NOTHING
    return bias


def _linear(place: Any, weight: Tensor, bias: Tensor | None) -> None:
    place.weight = _array(weight)
    if bias is not None:
        place.bias = _array(bias)


def _norm(place: Any, norm: nn.LayerNorm | nn.RMSNorm) -> None:
    place.gamma = _array(norm.weight)
    if isinstance(norm, nn.LayerNorm):
        place.beta = _array(norm.bias)


def _array(tensor: Tensor) -> Any:
    """A float32 copy as a numpy array. A copy, because CTranslate2 quantises in place."""
    return tensor.detach().float().cpu().numpy().copy()


# ---- vocabularies and tokenizers -------------------------------------------------------------------


def _describe(spec: Any, bundle: Bundle, quantization: str) -> None:
    """Set the vocabularies and config.json."""
    model: Any = bundle.model
    config: TransformerConfig = model.config
    tokenizer = bundle.tokenizer
    source, target = _vocabularies(tokenizer)
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    options = spec.config
    options.bos_token = options.decoder_start_token = target[config.start_id]
    options.eos_token, options.unk_token = target[config.end_id], target[tokenizer.unk_id]
    options.add_source_eos = True  # our encoders read the end token too
    options.layer_norm_epsilon = config.norm_epsilon
    own = {"weights": quantization, "punctuation": tokenizer.config.punctuation}
    options.add_attribute("dragoman", own)


def _vocabularies(tokenizer: Tokenizer) -> tuple[list[str], list[str]]:
    """The pieces of each side by id."""
    return (
        tokenizer.source_pieces(range(tokenizer.source_size)),
        tokenizer.target_pieces(range(tokenizer.target_size)),
    )


def _write_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    source, target = (sentencepiece_model(tokenizer, side) for side in get_args(Side))
    if source is None or target is None:
        tokenizer.save(folder)
    elif source == target:
        write_whole(folder / "sentencepiece.model", source)
    else:
        write_whole(folder / "source.spm", source)
        write_whole(folder / "target.spm", target)
