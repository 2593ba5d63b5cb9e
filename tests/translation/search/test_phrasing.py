"""Phrases as text become a rule about tokens."""

import logging
from typing import Literal

import pytest

from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig
from dragoman.translation.search.phrases import missing
from dragoman.translation.search.phrasing import Phrasing
from dragoman.translation.search.rules import Phrases

PAIRS = [("The print preview opens.", "Die Druckvorschau wird geöffnet."), ("a 2x", "打印 2x")] * 4


@pytest.fixture(scope="module", params=["bpe", "characters", "words", "lower"])
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    kind = "bpe" if request.param == "lower" else request.param
    lowercase = request.param == "lower"
    byte_fallback = request.param == "lower"
    size = 340 if byte_fallback else 60
    return Tokenizer.train(
        PAIRS, TokenizerConfig(kind=kind, vocab_size=size, lowercase=lowercase, byte_fallback=byte_fallback)
    )


def test_the_forms_of_a_phrase(tokenizer: Tokenizer) -> None:
    (rule,) = Phrasing(tokenizer).rules([("Druckvorschau", "Die"), ("wird",)])
    assert isinstance(rule, Phrases)
    texts = [[tokenizer.decode(form) for form in forms] for forms in rule.phrases]
    first = ["Druckvorschau", "Die"]
    assert texts == [[one.lower() for one in first] if tokenizer.config.lowercase else first, ["wird"]]


def test_a_form_is_spelled_as_inside_a_text(tokenizer: Tokenizer) -> None:
    (text,) = tokenizer.encode_target(["Die Druckvorschau"])
    (rule,) = Phrasing(tokenizer).rules([("Druckvorschau",)])
    assert isinstance(rule, Phrases)
    (form,) = rule.phrases[0]
    assert tuple(text[-len(form) :]) == form


@pytest.mark.parametrize("kind", ["bpe", "characters"])
@pytest.mark.parametrize(
    ("text", "form"), [("点击打印。关闭。", "打印"), ("印刷を開く。", "開く"), ("บันทึกไฟล์.", "ไฟล์")]
)
def test_scripts_without_spaces_have_a_spelling_inside_a_text(
    kind: Literal["bpe", "characters"], text: str, form: str
) -> None:
    pairs = [("a", text), ("b", form), ("c", f"。{form} .{form}")] * 4
    tokenizer = Tokenizer.train(pairs, TokenizerConfig(kind=kind, vocab_size=400))
    (rule,) = Phrasing(tokenizer).rules([(form,)])
    assert isinstance(rule, Phrases)
    lines = [form, f"a {form}", f"。{form}", *([text] if kind == "characters" else [])]
    assert [missing(rule, ids) for ids in tokenizer.encode_target(lines)] == [[]] * len(lines)


def test_no_phrases_are_no_rule(tokenizer: Tokenizer) -> None:
    assert Phrasing(tokenizer).rules([]) == ()


def test_tokens_that_continue_a_word(tokenizer: Tokenizer) -> None:
    joining = Phrasing(tokenizer).joining
    for text, tail in {"Druckvorschau": "x", "wird": "2"}.items():
        both, alone = (tokenizer.encode_target([each])[0] for each in (text + tail, text))
        if both[: len(alone)] == alone:
            assert both[len(alone)] in joining
    for text in ("Die Druckvorschau", "Die.", "打印", "Die打"):
        ids = tokenizer.encode_target([text])[0]
        pieces = tokenizer.target_pieces(ids)
        for place, piece in zip(ids, pieces, strict=True):
            if piece[0] in "▁.打印":
                assert place not in joining
    assert not joining & {tokenizer.pad_id, tokenizer.start_id, tokenizer.end_id}


def test_what_cannot_be_spelled_is_left_out_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    words = Tokenizer.train(PAIRS, TokenizerConfig(kind="words", vocab_size=60))
    phrasing = Phrasing(words)
    with caplog.at_level(logging.WARNING):
        assert phrasing.rules([("Seite", "Blatt")]) == ()
        (rule,) = phrasing.rules([("Seite", "Blatt"), ("Seite", "wird")])
    assert isinstance(rule, Phrases)
    assert [[words.decode(form) for form in forms] for forms in rule.phrases] == [["wird"]]
    assert [record.getMessage() for record in caplog.records if "phrasing" in record.name] == [
        "the vocabulary of this model cannot spell 'Seite'"
    ]


def test_bytes_of_letters_continue_a_word() -> None:
    bytes_ = Tokenizer.train(PAIRS, TokenizerConfig(vocab_size=340))
    (ids,) = bytes_.encode_target(["Dieß"])
    assert ids[-1] in Phrasing(bytes_).joining
