"""Small untrained models of every kind, with a tokenizer of a few sentences."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch
from tests.models.test_contract import CONFIGS

from dragoman.models.folder.bundle import Bundle
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import TransformerConfig
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.text.toy.corpus import DEMO_SENTENCES
from dragoman.translation.search.options import Beam

KINDS = CONFIGS


@lru_cache(maxsize=4)
def tokenizer(*, shared: bool = True, vocab_size: int = 340) -> Tokenizer:
    config = TokenizerConfig(vocab_size=vocab_size, shared=shared)
    return Tokenizer.train([(line, line[::-1]) for line in DEMO_SENTENCES], config)


def bundle(config: Any, *, seed: int = 1, beam: int = 3, dtype: torch.dtype = torch.float32) -> Bundle:
    """A model of the configuration with the tokenizer's vocabulary and ids."""
    words = tokenizer(shared=config.source_vocab == config.target_vocab)
    config = replace(
        config,
        source_vocab=words.source_size,
        target_vocab=words.target_size,
        pad_id=words.pad_id,
        start_id=words.start_id,
        end_id=words.end_id,
    )
    torch.manual_seed(seed)
    model = build_model(config).to(dtype).eval()
    return Bundle(
        model=model,
        tokenizer=words,
        source_language="en",
        target_language="de",
        generation=Beam(size=beam),
    )


def transformer(**changes: Any) -> TransformerConfig:
    shape: dict[str, Any] = {"d_model": 16, "d_ff": 24, "heads": 2, "encoder_layers": 2, "decoder_layers": 3}
    return TransformerConfig(**(shape | changes))
