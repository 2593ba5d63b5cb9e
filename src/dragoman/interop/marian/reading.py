"""Read Marian's own models.

Marian's decoder starts from a zero embedding, not from a token. An imported model gets one more id for it,
after the target's vocabulary: padding and start, with an embedding of zeros. The bias of that id makes its
probability zero, so all other probabilities are Marian's, in every program that the model goes to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import sentencepiece
import torch
from torch import Tensor

from dragoman.base.errors import ConfigError, ModelError
from dragoman.interop.marian import files, modern
from dragoman.interop.marian.shape import (
    CONTROLS,
    MULTIPLIER,
    OUTPUT,
    SILENT,
    START,
    Config,
    ModelOptions,
    canonical_weights,
    config_of,
    name_table,
    refusals,
    tie_of,
    unused,
)
from dragoman.interop.name_table import NameTable, model_of, shapes_of
from dragoman.models.folder.bundle import Bundle
from dragoman.models.seq2seq import AnySeq2Seq
from dragoman.text.tokenizers.ids import Specials
from dragoman.text.tokenizers.mapped import Mapped
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.options import Beam

_BEAM, _NORMALIZE = 12, 0.0  # Marian's defaults


def read(folder: Path) -> Bundle:
    """Return the model in a folder that Marian or OPUS-MT made.

    Raises ModelError with every reason why it cannot be imported.
    """
    folder = Path(folder)
    found = files.find(folder)
    files.check_sha256(folder)
    weights, values, _ = files.read_marian_weights(found.model)
    weights = {name: weight for name, weight in weights.items() if not name.endswith(MULTIPLIER)}
    options = ModelOptions(values, f"{found.model}: {files.OPTIONS}")
    faults = refusals(options, weights)
    if penalty := ModelOptions(found.decoding, "decoder.yml").real("word-penalty", 0.0):
        faults.append(f"word-penalty: {penalty} in decoder.yml (supported: 0)")
    faults += modern.newer_refusals(options) if modern.is_modern(options) else ()
    if faults:
        raise ModelError(
            f"{found.model}: a kind of model that cannot be imported:\n  " + "\n  ".join(faults),
            hint="each line is an option of Marian's that changes what the model computes",
        )
    weights = canonical_weights(weights, options)
    sides = [
        _side(vocabulary, segmenter, _rows(weights, (f"{name}_Wemb", "Wemb")))
        for vocabulary, segmenter, name in zip(
            found.vocabularies, found.segmenters, ("encoder", "decoder"), strict=True
        )
    ]
    specials, sides = _with_start(sides, weights, options)
    try:
        config = config_of(options, [len(side.pieces) for side in sides], specials)
        if modern.is_modern(options):
            config = replace(config, norm_epsilon=modern.EPSILON)
        if modern.is_ours(options):
            config = modern.restored(config, options)
            weights = modern.without_tables(weights, options, specials.start)
    except ConfigError as error:
        raise ModelError(f"{found.model}: {error}", hint="was the file damaged?") from error
    if modern.is_modern(options):
        names = [name for row in name_table(config).rows for name in row.theirs]
        weights = modern.with_older_names(weights, config, names)
    # Those that an export of ours states, or what the folder says.
    source, target = (options.text(f"dragoman-{side}-language") for side in ("source", "target"))
    languages = (source, target) if source and target else files.stated_languages(folder)
    return Bundle(
        model=_model(config, weights, found.model, options),
        tokenizer=_tokenizer(sides, specials, files.punctuation(folder, languages[0])),
        source_language=languages[0],
        target_language=languages[1],
        generation=_generation(found.decoding, sides[1], found.vocabularies[1]),
    )


@dataclass(frozen=True, kw_only=True)
class _Side:
    """The vocabulary of one side: pieces by id, and the SentencePiece model that cuts text into pieces."""

    path: Path
    model: bytes
    pieces: tuple[str, ...]
    end: int
    unknown: int
    start: int | None = None  # ids that only a SentencePiece model states
    pad: int | None = None


def _side(vocabulary: Path, segmenter: Path, rows: int | None) -> _Side:
    """Return the vocabulary of one side. Raises ModelError if the model has not `rows` pieces."""
    model = files.read_limited(segmenter)
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    except (RuntimeError, ValueError, TypeError) as error:
        raise ModelError(f"{segmenter}: not a SentencePiece model", hint="was it copied whole?") from error
    if vocabulary == segmenter:
        pieces = [processor.id_to_piece(i) for i in range(len(processor))]
        if rows is not None and rows != len(pieces):
            raise ModelError(
                f"{vocabulary}: {len(pieces)} pieces, but the model has {rows}",
                hint="these files do not belong together",
            )
        start, pad = processor.bos_id(), processor.pad_id()
        ends = {"</s>": processor.eos_id(), "<unk>": processor.unk_id()}
        stated = {"start": start if start >= 0 else None, "pad": pad if pad >= 0 else None}
    else:
        pieces, stated = files.read_pieces(vocabulary), {}
        ends = {name: pieces.index(name) if name in pieces else -1 for name in ("</s>", "<unk>")}
        pieces = [piece or unused(i) for i, piece in enumerate(pieces)]
        if rows is not None and not 0 <= len(pieces) - rows < len(pieces):
            pieces += [unused(i) for i in range(len(pieces), rows)]
        pieces = pieces[:rows]  # Marian drops ids that the model does not have
    missing = [name for name, number in ends.items() if not 0 <= number < len(pieces)]
    if missing:
        raise ModelError(f"{vocabulary}: no {missing[0]}", hint="is it a vocabulary of Marian's?")
    end, unknown = ends["</s>"], ends["<unk>"]
    return _Side(path=vocabulary, model=model, pieces=tuple(pieces), end=end, unknown=unknown, **stated)


def _rows(weights: dict[str, Tensor], names: Sequence[str]) -> int | None:
    """Return the length of an embedding, or None if it is missing, which the table of names reports."""
    return next((len(weights[name]) for name in names if name in weights and weights[name].dim() == 2), None)


def _with_start(
    sides: list[_Side], weights: dict[str, Tensor], options: ModelOptions
) -> tuple[Specials, list[_Side]]:
    """Return the special ids, and the sides with the id that stands for the zero embedding.

    A SentencePiece model may have an id for it: its row is zero, as in models that dragoman wrote.
    """
    source, target = sides
    for name in ("end", "unknown"):
        if (one := getattr(source, name)) != (other := getattr(target, name)):
            raise ModelError(
                f"{source.path} and {target.path}: the {name} token has the ids {one} and {other}",
                hint="both vocabularies must agree on it",
            )
    if tie_of(options) == "all" and source.pieces != target.pieces:
        raise ModelError(
            f"{source.path} and {target.path} differ, but the model shares one vocabulary",
            hint="these files do not belong together",
        )
    rows = weights.get("Wemb", weights.get("decoder_Wemb"))
    zero = target.start is not None and rows is not None and not bool(rows[target.start].any())
    if target.start is not None and (zero or modern.is_ours(options)):
        pad = target.start if target.pad is None else target.pad
        return Specials(pad=pad, start=target.start, end=target.end, unknown=target.unknown), sides
    start = len(target.pieces)
    name = START if START not in target.pieces else unused(start)
    target = replace(target, pieces=(*target.pieces, name))
    missing = range(len(source.pieces), start + 1)
    more = [name] if len(missing) == 1 else map(unused, missing)  # which never occur in text
    source = replace(source, pieces=(*source.pieces, *more))
    return Specials(pad=start, start=start, end=target.end, unknown=target.unknown), [source, target]


def _tokenizer(sides: Sequence[_Side], specials: Specials, punctuation: str | None) -> Tokenizer:
    shared = sides[0].pieces == sides[1].pieces and sides[0].model == sides[1].model
    config = TokenizerConfig(
        kind="mapped",
        vocab_size=len(sides[1].pieces),
        shared=shared,
        byte_fallback=False,
        punctuation=punctuation,
    )
    vocabularies = []
    for side in sides[:1] if shared else sides:
        try:
            vocabularies.append(Mapped(side.model, side.pieces, specials))
        except ValueError as error:
            raise ModelError(f"{side.path}: {error}", hint="was the file damaged?") from error
    return Tokenizer(config, vocabularies[0], vocabularies[-1], specials=specials)


def _model(config: Config, weights: dict[str, Tensor], path: Path, options: ModelOptions) -> AnySeq2Seq:
    """Return our model. Raises ModelError with all weights that are missing, unknown or of another shape."""
    shapes = shapes_of(config, len(weights), str(path))
    wanted = dict(shapes)
    for ours, theirs in (
        ("target_embedding.weight", ("decoder_Wemb", "Wemb")),
        ("source_embedding.weight", ("encoder_Wemb",)),
        ("logits.weight", (OUTPUT,)),
        ("logits.bias", ("decoder_Wemb", "Wemb")),
    ):
        if ours in wanted and (length := _rows(weights, theirs)):
            wanted[ours] = (length, *wanted[ours][1:])
    rows = name_table(config).rows
    if modern.is_ours(options):
        left_out = {name for row in rows if row.ours not in shapes for name in row.theirs}
        weights = modern.without_zeros(weights, left_out, options)
    names = NameTable(rows=[row for row in rows if row.ours in shapes])
    tensors = names.to_ours(weights, wanted, str(path))
    for name, shape in shapes.items():
        if more := shape[0] - len(tensors[name]):
            fill = torch.full((more, *shape[1:]), SILENT if name == "logits.bias" else 0.0)
            tensors[name] = torch.cat((tensors[name], fill))
    return model_of(config, tensors, path)


def _generation(decoding: dict[str, object], target: _Side, vocabulary: Path) -> Beam:
    """Return the search that decoder.yml describes. Raises ModelError for invalid values."""
    options = ModelOptions(decoding, "decoder.yml")
    banned = set() if options.flag("allow-unk") else {target.unknown}
    if vocabulary.suffix == ".spm" and not options.flag("allow-special"):
        banned |= {i for i, piece in enumerate(target.pieces) if piece in CONTROLS}
    try:
        return Beam(
            size=options.number("beam-size", _BEAM),
            length_penalty=options.real("normalize", _NORMALIZE),
            normalization="power",
            stop="shrinking",
            banned=tuple(sorted(banned)),
        )
    except ConfigError as error:
        raise ModelError(f"decoder.yml: {error}", hint="correct beam-size or normalize") from error
