"""A tokenizer whose special ids stand as in Marian: the end first, padding last, and no start."""

from __future__ import annotations

import io
from functools import lru_cache

import sentencepiece
from tests.text.sentences import SOURCES, TARGETS

from dragoman.text.tokenizers.ids import Specials
from dragoman.text.tokenizers.subwords import Subwords
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig

SIZE = 360
SPECIALS = Specials(pad=SIZE - 1, start=SIZE - 1, end=0, unknown=1)


@lru_cache(maxsize=1)
def marian() -> Tokenizer:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SOURCES + TARGETS),
        model_writer=model,
        vocab_size=SIZE,
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        pad_id=SPECIALS.pad,
        bos_id=-1,
        eos_id=SPECIALS.end,
        unk_id=SPECIALS.unknown,
        minloglevel=2,
    )
    both = Subwords(model.getvalue())
    config = TokenizerConfig(kind="unigram", vocab_size=SIZE, sampling=0.2)
    return Tokenizer(config, both, both, specials=SPECIALS)
