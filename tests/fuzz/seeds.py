"""Small inputs that the fuzzers of C++ begin with."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from random import Random

import sentencepiece

_LINES = ["the cat sat on the mat", "a dog and a cat", "the end of the day", "ab abc bcd the there"]


def engine() -> Iterator[bytes]:
    """Random bytes: each is a number of a shape, a weight or a request."""
    random = Random(1)
    for _ in range(100):
        # Zeros make everything right, so many of them lead far.
        yield bytes(random.choice((0, 0, random.randrange(256))) for _ in range(random.randrange(50, 500)))


def tokenizer() -> Iterator[bytes]:
    """Small models of each kind, a list of pieces and a line."""
    for kind in ("bpe", "unigram", "char"):
        for options in ({}, {"byte_fallback": True}, {"user_defined_symbols": ["ab", "the"]}):
            model = trained(kind, **options)
            pieces = sentencepiece.SentencePieceProcessor(model_proto=model)
            names = json.dumps([pieces.id_to_piece(i) for i in range(len(pieces))]).encode()
            line = "the ab▁c\u00e9 <0x41> \U0001f642 x".encode() + b"\xff"
            for mapped in (0, 1):
                sizes = len(names).to_bytes(2, "little") + len(line).to_bytes(2, "little")
                yield bytes([mapped]) + sizes + names + line + model


def trained(kind: str, **options: object) -> bytes:
    """A SentencePiece model of a few kilobytes, without a table of characters."""
    size = 300 if "byte_fallback" in options else 45
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(_LINES * 5), model_writer=writer, model_type=kind, vocab_size=size,
        hard_vocab_limit=False, normalization_rule_name="identity", num_threads=1, minloglevel=2,
        pad_id=0, bos_id=1, eos_id=2, unk_id=3, **options,
    )  # fmt: skip
    return writer.getvalue()


ALL = {"engine": engine, "tokenizer": tokenizer}
