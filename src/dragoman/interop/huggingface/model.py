"""Read a folder of `MarianMTModel` or of its relatives, or write one: weights by names, settings, tokenizer.

MarianMTModel is the paper's Transformer, post-norm, with biases in attention and output. Its positions have
all sines before all cosines. PegasusForConditionalGeneration is the same network, pre-norm, with one
vocabulary. (transformers, models/marian/modeling_marian.py and models/pegasus/modeling_pegasus.py)
M2M100ForConditionalGeneration, which NLLB-200 uses too, and MBartForConditionalGeneration have it with other
positions; they are read only.

T positions, E model width.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from dragoman.base.errors import ConfigError, ModelError
from dragoman.base.files import write_whole
from dragoman.interop.huggingface.files import MULTILINGUAL, Folder
from dragoman.interop.huggingface.multilingual import with_vocabulary
from dragoman.interop.huggingface.settings import (
    VocabularySettings,
    beam_of,
    config_table,
    generation_table,
    shape_faults,
    shape_of,
)
from dragoman.interop.huggingface.tokenizer import (
    read_languages,
    read_tokenizer,
    tokenizer_faults,
    write_tokenizer,
)
from dragoman.interop.name_table import NameTable, Row, Shape, linear, model_of, shapes_of
from dragoman.interop.verify import addresses
from dragoman.models.folder.bundle import Bundle
from dragoman.models.folder.weights import weights_of, write_weights
from dragoman.models.layers.positions import LearnedPositions, sinusoidal
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.models.shapes import Tie, TransformerConfig

log = logging.getLogger(__name__)

_SHARED = "model.shared.weight"
_SOURCE, _TARGET = "model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight"
_OUTPUT, _BIAS = "lm_head.weight", "final_logits_bias"
_EMBEDDINGS = (_SHARED, _SOURCE, _TARGET, _OUTPUT)
_FIRST_POSITION = 2  # of fairseq's tables of positions: the row after that of padding
_PROJECTIONS = ("q_proj", "k_proj", "v_proj", "out_proj")
_POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
_SINUSOIDS = tuple(f"{name}s" for name in _POSITIONS)  # of M2M-100, in early files

# A key of config.json, unknown to transformers: the order that the columns of our weights had.
_ORDER = "dragoman_positions"


def read(folder: Path) -> Bundle:
    """Return the model in `folder`, in evaluation mode.

    Raises ModelError for another kind of model, a missing or damaged file, and weights or a vocabulary that
    do not fit. Logs a warning about settings that cannot be kept.
    """
    files = Folder.read(Path(folder))
    settings = VocabularySettings.of(files)
    if many := files.config.get("model_type") in MULTILINGUAL:
        files = with_vocabulary(files, settings.sizes[0])
    tokenizer = read_tokenizer(files, settings.ids, settings.sizes)
    source_language, target_language = ("mul", "mul") if many else read_languages(files)
    return Bundle(
        model=_model(files, settings),
        tokenizer=tokenizer,
        source_language=source_language,
        target_language=target_language,
        generation=beam_of(files.generation, settings),
    )


def _model(files: Folder, settings: VocabularySettings) -> AnySeq2Seq:
    """Return the model with its weights. Raises ModelError if they do not fit the settings."""
    tensors, config = _with_positions(files), files.config
    names = _Embeddings.in_file(settings.tied, tensors)
    shape = shape_of(
        config,
        settings,
        tie=names.tie,
        attention_bias=_is_biased(tensors, *(f".{each}.bias" for each in _PROJECTIONS)),
        output_bias=_is_biased(tensors, _BIAS),
    )
    if shape.positions == "sinusoidal-halves":
        _check_positions(tensors, shape.d_model, files.path)
    shapes = shapes_of(shape, len(tensors), str(config.path))
    weights = _table(shape, names).to_ours(tensors, shapes, str(files.path))
    if config.get(_ORDER) == "sinusoidal":
        shape = replace(shape, positions="sinusoidal")
        weights = _reordered(weights, _sines_first(shape.d_model).argsort())
    return model_of(shape, weights, files.path)


def write(bundle: Bundle, folder: Path) -> None:
    """Write a folder that transformers loads, the weights last.

    The classes are `MarianTokenizer`, and `MarianMTModel` or for pre-norm `PegasusForConditionalGeneration`.

    Raises ConfigError that names everything they cannot hold, before anything is written. `notes` says which
    settings they hold only approximately.
    """
    folder, shape = Path(folder), bundle.model.config
    faults = unsupported(bundle)
    if faults or not isinstance(shape, TransformerConfig):
        raise ConfigError(
            f"Hugging Face's Marian cannot hold {', '.join(faults)}",
            hint="it has sinusoidal positions, SentencePiece, and no window",
        )
    weights, config = weights_of(bundle.model), config_table(shape)
    if shape.positions == "sinusoidal":
        weights = _reordered(weights, _sines_first(shape.d_model))
        config[_ORDER] = shape.positions
    tensors = _table(shape, _Embeddings.written(shape.tie)).to_theirs(weights)
    write_tokenizer(bundle.tokenizer, bundle.source_language, bundle.target_language, folder)
    generation = generation_table(bundle.generation, shape)
    for name, table in (("config.json", config), ("generation_config.json", generation)):
        write_whole(folder / name, json.dumps(table, indent=2) + "\n")
    # Without this metadata, transformers 4 refuses the file.
    write_weights(folder / "model.safetensors", tensors, metadata={"format": "pt"})


def unsupported(bundle: Bundle) -> list[str]:
    """Return everything that transformers' Marian and Pegasus cannot hold."""
    shape = bundle.model.config
    if not isinstance(shape, TransformerConfig) or shape.architecture != "transformer":
        faults = [f'model.architecture = "{shape.architecture}"']
    else:
        faults = shape_faults(shape)
    if any(each.start for each in addresses(bundle)):
        faults.append('tokenizer.target_mark = "target": its tokenizer puts marks before sources')
    if any(each.text.count(">>") > 1 for each in addresses(bundle)):
        faults.append("two marks before a source (tokenizer.source_mark = true): its tokenizer reads one")
    return faults + tokenizer_faults(bundle.tokenizer)


@dataclass(frozen=True)
class _Embeddings:
    """The names of the matrices for the source, the target and the output, and which are tied."""

    source: str
    target: str
    output: str
    tie: Tie

    @classmethod
    def written(cls, tie: Tie) -> _Embeddings:
        """The names that transformers writes."""
        if tie == "all":
            return cls(_SHARED, _SHARED, _SHARED, tie)
        return cls(_SOURCE, _TARGET, _TARGET if tie == "decoder" else _OUTPUT, tie)

    @classmethod
    def in_file(cls, tied: tuple[bool, bool], tensors: Mapping[str, Tensor]) -> _Embeddings:
        """The names in a file. `tied`: source with target, and target with output.

        A file may hold any one of tied matrices, or several. If these differ, they are not tied, as in
        transformers 5.
        """
        groups = {
            (True, True): (_SHARED, _TARGET, _SOURCE, _OUTPUT),
            (True, False): (_SHARED, _TARGET, _SOURCE),
            (False, True): (_TARGET, _OUTPUT),
            (False, False): (),
        }
        group = groups[tied]

        def name_of(own: str) -> str:
            partners = group if own in group else (own,)
            return next((name for name in (own, *partners) if name in tensors), partners[0])

        def same(one: str, other: str) -> bool:
            return one == other or torch.equal(tensors[one], tensors[other])

        source, target, output = name_of(_SOURCE), name_of(_TARGET), name_of(_OUTPUT)
        tie: Tie = "none"
        if tied[1] and same(target, output):
            tie = "all" if tied[0] and same(source, target) else "decoder"
        if tied[1] and tie != ("all" if tied[0] else "decoder"):
            log.warning("the embeddings that config.json ties differ, so they are not tied")
        return cls(source, target, output, tie)


def _table(shape: TransformerConfig, names: _Embeddings) -> NameTable:
    """Our names and theirs, for a model of this shape."""
    rows = [Row("target_embedding.weight", (names.target,))]
    if shape.tie != "all":
        rows.append(Row("source_embedding.weight", (names.source,)))
    if shape.tie == "none":
        rows.append(Row("logits.weight", (names.output,)))
    if shape.output_bias:
        rows.append(Row("logits.bias", (_BIAS,), layout="row"))
    if shape.positions in ("learned", "learned-apart"):
        rows.append(Row("positions.table.weight", _POSITIONS[:1]))
    if shape.positions == "learned-apart":
        rows.append(Row("target_positions.table.weight", _POSITIONS[1:]))
    for side, ours in (("encoder", "source"), ("decoder", "target")) if shape.norm == "pre" else ():
        rows += linear(f"{side}_norm", f"model.{side}.layer_norm")
        if shape.embedding_norm:
            rows += linear(f"{ours}_embedding_norm", f"model.{side}.layernorm_embedding")
    zeros: dict[str, Shape] = {} if shape.output_bias else {_BIAS: (1, shape.target_vocab)}
    for side, layers in (("encoder", shape.encoder_layers), ("decoder", shape.decoder_layers)):
        parts = {"attention": "self_attn"}
        if side == "decoder":
            parts["cross_attention"] = "encoder_attn"
        for i in range(layers):
            ours, theirs = f"{side}.{i}", f"model.{side}.layers.{i}"
            for part, its_part in parts.items():
                rows += _attention(f"{ours}.{part}", f"{theirs}.{its_part}", bias=shape.attention_bias)
                if not shape.attention_bias:
                    names_of_bias = (f"{theirs}.{its_part}.{each}.bias" for each in _PROJECTIONS)
                    zeros |= dict.fromkeys(names_of_bias, (shape.d_model,))
            rows += linear(f"{ours}.feed_forward.inner", f"{theirs}.fc1")
            rows += linear(f"{ours}.feed_forward.outer", f"{theirs}.fc2")
            rows += linear(f"{ours}.feed_forward_residual.norm", f"{theirs}.final_layer_norm")
    used = {name for row in rows for name in row.theirs}
    skipped = {*_EMBEDDINGS, *_POSITIONS, *_SINUSOIDS, *zeros} - used
    return NameTable(rows=rows, zeros=zeros, ignored=skipped.__contains__)


def _attention(ours: str, theirs: str, *, bias: bool) -> list[Row]:
    """The rows of one attention and of the normalisation after it."""
    *inner, outer = (f"{theirs}.{each}" for each in _PROJECTIONS)
    return [
        *linear(f"{ours}.project", inner, bias=bias),
        *linear(f"{ours}.output", outer, bias=bias),
        *linear(f"{ours}_residual.norm", f"{theirs}_layer_norm"),
    ]


def _is_biased(tensors: Mapping[str, Tensor], *ends: str) -> bool:
    """Whether a tensor with one of these ends of names has anything but zeros. A bias of zeros is no bias."""
    return any(bool(tensor.count_nonzero()) for name, tensor in tensors.items() if name.endswith(ends))


def _with_positions(files: Folder) -> dict[str, Tensor]:
    """The tensors with the tables of positions that a `LearnedPositions` holds, of a multilingual model.

    Position 0 has the third row of their tables. M2M-100 computes its sinusoids.
    """
    kind, tensors, most = files.config.get("model_type"), dict(files.tensors), LearnedPositions.LONGEST
    for name in _POSITIONS:
        if kind == "m2m_100":
            width = files.config.typed("d_model", 1024)
            tensors[name] = sinusoidal(most, width, "sinusoidal-t2t", start=_FIRST_POSITION)
        elif (
            kind == "mbart"
            and (table_TE := tensors.get(name)) is not None
            and len(table_TE) > _FIRST_POSITION
        ):
            rows_T = torch.arange(_FIRST_POSITION, _FIRST_POSITION + most).clamp(max=len(table_TE) - 1)
            tensors[name] = table_TE[rows_T]
    return tensors


def _check_positions(tensors: Mapping[str, Tensor], width: int, folder: Path) -> None:
    """Raises ModelError if positions, which early versions of transformers stored, are no sinusoids."""
    for name in _POSITIONS:
        if (stored := tensors.get(name)) is None:
            continue
        fits = stored.dim() == 2 and stored.shape[1] == width
        if fits:
            table_TE = sinusoidal(len(stored), width, "sinusoidal-halves")
            gap = float((stored.float() - table_TE).abs().max()) if len(stored) else 0.0
            fits = gap <= (
                1e-5 if stored.dtype in (torch.float32, torch.float64) else 5e-3
            )  # of half precision
        if not fits:
            raise ModelError(f"{folder}: {name} is not the sinusoidal table", hint="it has other positions")


def _sines_first(width: int) -> Tensor:
    """The columns of alternating sines and cosines, in the order that has all sines first."""
    return torch.cat((torch.arange(0, width, 2), torch.arange(1, width, 2)))


# By the ends of our names: weights that multiply the residual stream, and those that add to it.
_READERS = ("embedding.weight", "logits.weight", "project.weight", "inner.weight")
_WRITERS = tuple(f"{part}.{kind}" for part in ("output", "outer", "norm") for kind in ("weight", "bias"))


def _reordered(weights: Mapping[str, Tensor], order_E: Tensor) -> dict[str, Tensor]:
    """The same function, but for rounding, with the E dimensions between the layers in another order."""

    def reorder(name: str, weight: Tensor) -> Tensor:
        if name.endswith(_READERS):
            return weight[:, order_E.to(weight.device)]
        return weight[order_E.to(weight.device)] if name.endswith(_WRITERS) else weight

    return {name: reorder(name, weight) for name, weight in weights.items()}
