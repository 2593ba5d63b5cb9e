from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.text.spans import spans_of_surfaces, words_of
from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig

PAIRS = [
    ("The old dogs sleep, don't they?", "Die alten Hunde schlafen, nicht wahr?"),
    ("你好啊。", "سلام dunyā"),
]
CONFIGS = {
    "bpe": TokenizerConfig(kind="bpe", vocab_size=330),
    "unigram": TokenizerConfig(kind="unigram", vocab_size=330),
    "characters": TokenizerConfig(kind="characters", vocab_size=320),
    "words": TokenizerConfig(kind="words", vocab_size=60),
    "no-bytes": TokenizerConfig(kind="bpe", vocab_size=80, byte_fallback=False),
    "lower": TokenizerConfig(kind="bpe", vocab_size=330, lowercase=True),
}
TRAINED = {name: Tokenizer.train(PAIRS, config) for name, config in CONFIGS.items()}
LETTERS = st.text(st.sampled_from("Thde old,.sgn你好بä🙂\u0301\u2581xq "), max_size=25)


def covers(found: list[tuple[int, int]], text: str) -> None:
    """In order, without overlap, and nothing but spaces is left out."""
    reached = 0
    for start, end in found:
        assert reached <= start <= end <= len(text)
        assert not text[reached:start].strip()
        reached = end
    assert not text[reached:].strip()


@pytest.mark.parametrize("name", CONFIGS)
@given(text=LETTERS)
def test_source_spans_cover_the_text_in_order(name: str, text: str) -> None:
    text = text.strip()
    found = TRAINED[name].source_spans(text)
    assert len(found) == len(TRAINED[name].encode_source([text])[0])
    covers(found, text)


@pytest.mark.parametrize("name", CONFIGS)
@given(data=st.data())
def test_target_spans_cover_whatever_is_said(name: str, data: st.DataObject) -> None:
    """Any tokens in any order: bytes that are no character, unknown ones, spaces."""
    size = TRAINED[name].target_size
    ids = data.draw(st.lists(st.integers(3, size - 1), max_size=12))
    found = TRAINED[name].target_spans(ids)
    assert len(found) == len(ids)
    covers(found, TRAINED[name].decode(ids))


def test_unknown_words_stand_where_they_are() -> None:
    text = "The purple spotted dogs ,x sleep"
    found = TRAINED["words"].source_spans(text)
    assert TRAINED["words"].encode_source([text])[0].count(3) == 4  # ` ,` is not `,`
    assert [text[start:end] for start, end in found] == [
        "The",
        "purple",
        "spotted",
        "dogs",
        ",",
        "x",
        "sleep",
    ]


def test_a_typed_mark_of_a_space_is_a_character() -> None:
    text = "a ▁ dog runs"
    for name in ("bpe", "unigram", "characters"):
        found = TRAINED[name].source_spans(text)
        covers(found, text)
        assert found[-1][1] == len(text)


def test_bytes_of_a_character_stand_for_it_together() -> None:
    surfaces = [" a", "<0xF0>", "<0x9F>", "<0x99>", "<0x82>", "b"]
    found = spans_of_surfaces(surfaces, "a🙂b")
    assert found == [(0, 1), (1, 1), (1, 1), (1, 1), (1, 2), (2, 3)]
    assert words_of(found, "a🙂b") == [0, 1, 1, 1, 1, 2]


def test_bytes_of_no_character_do_not_hide_what_follows() -> None:
    vocabulary = TRAINED["bpe"]
    (dog,) = vocabulary.encode_target(["dogs"])
    ids = [4 + 0xFF, 4 + 0xE4, 4 + 0xBD, 4 + 0xA0, *dog]  # bytes follow the four special ids
    text = vocabulary.decode(ids)
    assert text == "\ufffd你 dogs"
    found = vocabulary.target_spans(ids)
    assert [text[start:end] for start, end in found[:4]] == ["\ufffd", "", "", "你"]
    assert found[-1][1] == len(text)


@pytest.mark.parametrize(
    ("surfaces", "text", "expected"),
    [
        ([" play", "ing", " ball", "."], "playing ball.", [0, 0, 1, 2]),
        ([" don", "'", "t"], "don't", [0, 1, 2]),
        (["你", "好", " a"], "你好 a", [0, 1, 2]),
        (["你好", "啊"], "你好啊", [0, 1]),
        ([" cafe", "\u0301", "s"], "cafe\u0301s", [0, 0, 0]),
        ([" ", *"हिन्दी", " ", *"में"], "हिन्दी में", [0] * 7 + [1] * 4),
        ([*"مَرْحَباً"], "مَرْحَباً", [0] * 9),
        ([], "", []),
    ],
)
def test_words(surfaces: list[str], text: str, expected: list[int | None]) -> None:
    assert words_of(spans_of_surfaces(surfaces, text), text) == expected


def test_what_stands_nowhere_is_of_no_word() -> None:
    assert words_of([(0, 1), (1, 1)], "x") == [0, None]
