"""SentencePiece models for other programs."""

from __future__ import annotations

import pytest
import sentencepiece

from dragoman.interop.pieces import sentencepiece_model
from dragoman.text.tokenizers.tokenizer import Side, Tokenizer, TokenizerConfig

PAIRS = [
    ("The DOG sees ONE bird.", "Der Hund sieht EINEN Vogel."),
    ("A Man rides.", "Ein Mann fährt Rad."),
] * 9
LINES = ["The dog SEES  a bird", "ÄÖ İstanbul ÇA", "", "ΑΒΓ Ⅷ Ǆ", "a\tb  "]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "characters"])
@pytest.mark.parametrize("lowercase", [False, True, "source"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_it_cuts_text_as_our_tokenizer_does(kind: str, lowercase: bool | str, side: Side) -> None:
    config = TokenizerConfig(kind=kind, lowercase=lowercase, vocab_size=320)
    tokenizer = Tokenizer.train(PAIRS, config)
    model = sentencepiece_model(tokenizer, side)
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    encode = tokenizer.encode_source if side == "source" else tokenizer.encode_target
    for line in LINES:
        assert processor.encode(line) == encode([line])[0]


def test_a_final_sigma_is_the_one_difference() -> None:
    tokenizer = Tokenizer.train(PAIRS, TokenizerConfig(lowercase=True, vocab_size=320))
    processor = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(tokenizer, "source"))
    assert processor.decode(processor.encode("ΟΣ")) == "οσ"
    assert tokenizer.decode(tokenizer.encode_source(["ΟΣ"])[0]) == "ος"


def test_words_have_no_sentencepiece_model() -> None:
    tokenizer = Tokenizer.train(PAIRS, TokenizerConfig(kind="words"))
    assert sentencepiece_model(tokenizer, "source") is None
