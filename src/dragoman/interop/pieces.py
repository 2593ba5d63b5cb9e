"""Our SentencePiece models as other programs need them: one file a side that prepares text as we do."""

from __future__ import annotations

import io
import tempfile
from functools import lru_cache
from pathlib import Path

import sentencepiece

from dragoman.text.tokenizers.tokenizer import Side, Tokenizer

_NORMALIZER = 3  # the number of the field normalizer_spec in sentencepiece_model.proto


def sentencepiece_model(tokenizer: Tokenizer, side: Side) -> bytes | None:
    """Return the SentencePiece model of a side, or None for words, which are not cut by SentencePiece.

    If the tokenizer lower-cases this side, so does the returned model, character by character. It differs
    from Python in one letter: a Greek Σ at the end of a word becomes σ, not ς.
    """
    vocabulary = tokenizer.vocabularies[0 if side == "source" else 1]
    model = vocabulary.to_files().get(".spm")
    if model is None or tokenizer.config.lowercase not in (True, side):
        return model
    # In protocol buffers, a field that comes a second time replaces the values of the first.
    return model + _lowercasing(add_dummy_prefix=tokenizer.config.kind != "characters")


@lru_cache(maxsize=2)
def _lowercasing(*, add_dummy_prefix: bool) -> bytes:
    """The field of a model that lower-cases text, of one trained for it: only training compiles rules."""
    characters = (chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    rules = "".join(f"{_codes(c)}\t{_codes(c.lower())}\n" for c in characters if c.lower() != c)
    writer = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="dragoman-") as folder:
        path = Path(folder, "lowercase.tsv")
        path.write_text(rules, encoding="ascii", newline="\n")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a"]),
            model_writer=writer,
            model_type="char",
            vocab_size=5,
            hard_vocab_limit=False,
            normalization_rule_tsv=str(path),
            remove_extra_whitespaces=False,
            add_dummy_prefix=add_dummy_prefix,
            minloglevel=2,
        )
    return _field(writer.getvalue(), _NORMALIZER)


def _codes(text: str) -> str:
    return " ".join(f"{ord(character):X}" for character in text)


def _field(message: bytes, number: int) -> bytes:
    """A field of a message whose fields are all tag, length and bytes, as in a SentencePiece model."""
    at = 0
    while at < len(message):
        tag, after = _varint(message, at)
        length, start = _varint(message, after)
        if tag >> 3 == number:
            return message[at : start + length]
        at = start + length
    raise ValueError(f"no field {number}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return the number at a place, 7 bits a byte with the lowest first, and the place after it."""
    number = shift = 0
    while message[at] & 0x80:
        number |= (message[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
    return number | message[at] << shift, at + 1
