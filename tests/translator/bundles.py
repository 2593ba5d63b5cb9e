"""Small models with real tokenizers."""

from __future__ import annotations

from typing import Any, cast

import torch

from dragoman.folder.bundle import Bundle
from dragoman.models.shapes import TransformerConfig
from dragoman.models.transformer import Transformer
from dragoman.text.tokenizer import Tokenizer, TokenizerConfig

PAIRS = [
    ("The cat sleeps on the warm stove.", "Die Katze schläft auf dem warmen Ofen."),
    ("A baker sells fresh bread.", "Ein Bäcker verkauft frisches Brot."),
    ("Two boats wait in the harbour.", "Zwei Boote warten im Hafen."),
    ("The baker waits for the cat.", "Der Bäcker wartet auf die Katze."),
]


def bundle_of(kind: str) -> Bundle:
    pairs = [(source + " " + more, target) for source, target in PAIRS for more, _ in PAIRS]
    tokenizer = Tokenizer.train(pairs, TokenizerConfig(kind=cast(Any, kind), vocab_size=360))
    torch.manual_seed(1)
    shape = TransformerConfig(
        source_vocab=tokenizer.source_size,
        target_vocab=tokenizer.target_size,
        d_model=16,
        d_ff=32,
        heads=2,
        encoder_layers=1,
        decoder_layers=1,
    )
    return Bundle(
        model=Transformer(shape).eval(), tokenizer=tokenizer, source_language="en", target_language="de"
    )
