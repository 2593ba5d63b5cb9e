"""The tokenizer of Hugging Face's Marian: source.spm, target.spm, vocab.json and tokenizer_config.json.

`MarianTokenizer` of transformers 5 cuts text with SentencePiece and looks the pieces up in vocab.json. It
has a punctuation normaliser, but does not call it. Three differences are deliberate:

- it reads a token's own name in a text, such as "</s>", as that token; here it is text;
- it reads `>>xyz<<` at the beginning of a line as one unknown token if vocab.json does not have it; here it
  is text;
- with `clean_up_tokenization_spaces` it removes spaces from the decoded text, unless told not to, as
  transformers' own translation pipeline did; here they stay.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from dragoman.base.errors import ModelError
from dragoman.base.files import write_whole
from dragoman.interop.huggingface.files import SEGMENTER, SEGMENTERS, Folder, JsonTable, text_of_token
from dragoman.interop.pieces import sentencepiece_model
from dragoman.text.tokenizers.ids import Specials
from dragoman.text.tokenizers.mapped import Mapped
from dragoman.text.tokenizers.tokenizer import Side, Tokenizer, TokenizerConfig

log = logging.getLogger(__name__)

_UNDETERMINED = "und"  # ISO 639-3
_LONGEST = 512  # the model_max_length of every OPUS-MT tokenizer


def read_tokenizer(folder: Folder, ids: Mapping[str, int], sizes: tuple[int, int]) -> Tokenizer:
    """Return the tokenizer. `sizes` are the numbers of embeddings of both sides.

    Raises ModelError if the vocabulary does not fit the ids or sizes.
    """
    for vocabulary in folder.vocabularies:
        for piece, number in vocabulary.values.items():
            if type(number) is not int:
                raise ModelError(
                    f"{vocabulary.path}: the id of {piece!r} is {number!r}", hint="it must be a whole number"
                )
    unknown, end = _special_id("unk_token", "<unk>", folder), _special_id("eos_token", "</s>", folder)
    if end != ids["end_id"]:
        raise ModelError(
            f"{folder.vocabularies[0].path}: the end token has id {end}, but eos_token_id is {ids['end_id']}",
            hint=_BELONG,
        )
    if added := _added(folder):
        log.warning("%s: added tokens are not kept and are read as text: %s", folder.path, ", ".join(added))
    specials = Specials(pad=ids["pad_id"], start=ids["start_id"], end=end, unknown=unknown)
    sides = []
    shared = folder.segmenters[0] is folder.segmenters[1]  # of a multilingual model
    names = (SEGMENTER,) if shared else SEGMENTERS
    for name, vocabulary, size, model in zip(
        names, folder.vocabularies, sizes, folder.segmenters, strict=False
    ):
        try:
            sides.append(Mapped(model, _by_id(vocabulary, size), specials))
        except ValueError as error:
            raise ModelError(f"{folder.path / name}: {error}", hint=_BELONG) from error
    return Tokenizer(
        TokenizerConfig(
            kind="mapped",
            vocab_size=max(sizes),
            shared=shared,
            source_mark=shared,
            target_mark="target" if shared else "source",
        ),
        sides[0],
        sides[-1],
        specials=specials,
    )


def read_languages(folder: Folder) -> tuple[str, str]:
    """Return source and target language: from tokenizer_config.json, else from the folder's name.

    Logs a warning if one is unknown.
    """
    # In the cache of the hub, the name of the model is two folders above.
    names = map(_languages_of_name, reversed(folder.path.resolve().parts[-3:]))
    named = next((pair for pair in names if any(pair)), (None, None))
    languages = []
    for side, of_name in zip(get_args(Side), named, strict=True):
        stated = folder.tokenizer.get(f"{side}_lang")
        language = stated if isinstance(stated, str) and stated else of_name
        if language is None:
            log.warning("%s: the %s language is not stated; it becomes %r", folder.path, side, _UNDETERMINED)
        languages.append(language or _UNDETERMINED)
    # Early conversions have "opus-mt-en" for en.
    return languages[0].rpartition("opus-mt-")[2] or _UNDETERMINED, languages[1]


def write_tokenizer(tokenizer: Tokenizer, source_language: str, target_language: str, folder: Path) -> None:
    """Write the files of `MarianTokenizer`."""
    pieces = [vocabulary.pieces(range(len(vocabulary))) for vocabulary in tokenizer.vocabularies]
    separate = pieces[0] != pieces[1]
    for file, side in zip(SEGMENTERS, get_args(Side), strict=True):
        write_whole(folder / file, sentencepiece_model(tokenizer, side) or b"")
    for name, side in zip(["vocab.json"] + ["target_vocab.json"] * separate, pieces, strict=False):
        _write(folder / name, {piece: i for i, piece in enumerate(side)})
    special = dict(zip(("pad_token", "eos_token", "unk_token"), _special_pieces(tokenizer, 0), strict=True))
    table = {
        "tokenizer_class": "MarianTokenizer",
        "source_lang": source_language,
        "target_lang": target_language,
        "separate_vocabs": separate,
        **special,
        "model_max_length": _LONGEST,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": True,  # "</s>" in a text is text, as here
        "sp_model_kwargs": {},
    }
    _write(folder / "tokenizer_config.json", table)
    _write(folder / "special_tokens_map.json", special)


def tokenizer_faults(tokenizer: Tokenizer) -> list[str]:
    """Return the options that `MarianTokenizer` lacks, as `tokenizer.kind = "words"`."""
    config, faults = tokenizer.config, []
    if config.kind == "words":
        return ['tokenizer.kind = "words"']
    if config.punctuation is not None:
        faults.append(f'tokenizer.punctuation = "{config.punctuation}"')
    if _special_pieces(tokenizer, 0) != _special_pieces(tokenizer, 1):
        faults.append("a tokenizer whose sides name padding, end or unknown tokens differently")
    return faults


_BELONG = "do these files belong to the same model?"


def _special_id(name: str, default: str, folder: Folder) -> int:
    """Return the id of a special token, which must be the same in both vocabularies."""
    token = text_of_token(folder.tokenizer.get(name)) or default
    for vocabulary in folder.vocabularies:
        if token not in vocabulary.values:
            raise ModelError(f"{vocabulary.path}: the {name} {token!r} is not in it", hint=_BELONG)
    source, target = folder.vocabularies
    one, other = int(source.values[token]), int(target.values[token])
    if one != other:
        raise ModelError(
            f"{source.path} and {target.path}: {token!r} has ids {one} and {other}",
            hint="they must be equal here",
        )
    return one


def _by_id(vocabulary: JsonTable, size: int) -> list[str]:
    """The pieces by id. The last embeddings may have none: they get names that never occur in text."""
    path, ids = vocabulary.path, vocabulary.values
    pieces: list[str | None] = [None] * min(max(ids.values(), default=0) + 1, size)
    for piece, number in ids.items():
        if not 0 <= number < size:
            what = f"{path}: {piece!r} has id {number}, but the model has {size} embeddings"
            raise ModelError(what, hint=_BELONG)
        if pieces[number] is not None:
            what = f"{path}: {piece!r} and {pieces[number]!r} have the same id {number}"
            raise ModelError(what, hint=_BELONG)
        pieces[number] = piece
    if gaps := [number for number, piece in enumerate(pieces) if piece is None]:
        raise ModelError(f"{path}: {len(gaps)} ids have no piece, the first is {gaps[0]}", hint=_BELONG)
    return [piece or "" for piece in pieces] + [f"<no piece {i}>" for i in range(len(pieces), size)]


def _special_pieces(tokenizer: Tokenizer, side: int) -> list[str]:
    """Return the names of padding, end and unknown."""
    return tokenizer.vocabularies[side].pieces([tokenizer.pad_id, tokenizer.end_id, tokenizer.unk_id])


def _added(folder: Folder) -> list[str]:
    """Return the tokens that were added to the tokenizer after training and are in no vocabulary."""
    tokens: list[object] = list(folder.added.values)
    for name in ("added_tokens_decoder", "extra_special_tokens", "additional_special_tokens"):
        listed = folder.tokenizer.get(name)
        tokens += listed.values() if isinstance(listed, dict) else listed if isinstance(listed, list) else []
    known = folder.vocabularies[0].values.keys() | folder.vocabularies[1].values.keys()
    texts = {text for token in tokens if (text := text_of_token(token)) is not None}
    return sorted(text for text in texts - known if f">>{text.strip('_')}<<" not in known)


def _languages_of_name(name: str) -> tuple[str | None, str | None]:
    """Return the languages of a folder like opus-mt-en-de or opus-mt-tc-big-en-ROMANCE."""
    _, opus, rest = name.rpartition("opus-mt-")
    parts = rest.split("-")
    return (parts[-2], parts[-1]) if opus and len(parts) >= 2 else (None, None)


def _write(path: Path, table: Mapping[str, Any]) -> None:
    write_whole(path, json.dumps(table, indent=2, ensure_ascii=False) + "\n")
