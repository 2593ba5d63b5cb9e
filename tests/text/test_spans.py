from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.spans import spans, words
from dragoman.text.tokenizer import Tokenizer, TokenizerConfig

PAIRS = [
    ("The old dogs sleep, don't they?", "Die alten Hunde schlafen, nicht wahr?"),
    ("你好啊。", "سلام dunyā"),
]
KINDS = ("bpe", "unigram", "characters", "words")


def trained(kind: str) -> Tokenizer:
    size = {"words": 60, "characters": 320}.get(kind, 330)
    return Tokenizer.train(PAIRS, TokenizerConfig(kind=kind, vocab_size=size))  # type: ignore[arg-type]


TRAINED = {kind: trained(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS[:3])
@given(st.text(st.sampled_from("Thde old,.sgn你好بä🙂 "), max_size=25))
def test_spans_cover_the_text_in_order(kind: str, text: str) -> None:
    text = text.strip()
    pieces = TRAINED[kind].source_pieces(TRAINED[kind].encode_source([text])[0])
    found = spans(pieces, text)

    assert len(found) == len(pieces)
    reached = 0
    for start, end in found:
        assert reached <= start <= end <= len(text)
        assert not text[reached:start].strip()
        reached = end
    assert not text[reached:].strip()


def test_words_cover_unknown_ones() -> None:
    text = "The purple dogs sleep, don't they?"
    pieces = TRAINED["words"].source_pieces(TRAINED["words"].encode_source([text])[0])
    assert pieces[1] == "<unk>"
    assert [text[start:end] for start, end in spans(pieces, text)][:4] == ["The", "purple", "dogs", "sleep"]


def test_bytes_of_a_character_stand_for_it_together() -> None:
    pieces = ["▁a", "<0xF0>", "<0x9F>", "<0x99>", "<0x82>", "b"]
    found = spans(pieces, "a🙂b")
    assert found == [(0, 1), (1, 1), (1, 1), (1, 1), (1, 2), (2, 3)]
    assert words(found, "a🙂b") == [0, 1, 1, 1, 1, 2]


def test_bytes_of_no_character_are_passed_over() -> None:
    pieces = ["▁a", "<0xF0>", "<0x9F>", "▁dog"]
    assert spans(pieces, "a\ufffd\ufffd dog") == [(0, 1), (1, 1), (1, 1), (4, 7)]


@pytest.mark.parametrize(
    ("pieces", "text", "expected"),
    [
        (["▁play", "ing", "▁ball", "."], "playing ball.", [0, 0, 1, 2]),
        (["▁don", "'", "t"], "don't", [0, 1, 2]),
        (["你", "好", "▁a"], "你好 a", [0, 1, 2]),
        (["你好", "啊"], "你好啊", [0, 1]),
        (["▁x", "</s>"], "x", [0, None]),
        (["▁cafe", "\u0301", "s"], "cafe\u0301s", [0, 0, 0]),
        ([], "", []),
    ],
)
def test_words(pieces: list[str], text: str, expected: list[int | None]) -> None:
    assert words(spans(pieces, text), text) == expected
