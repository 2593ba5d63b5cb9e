"""Sentences: nothing lost, abbreviations and numbers whole, protected spans whole."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.growth import is_linear
from tests.text.neighbours import STORIES

from dragoman.text import sentences as module
from dragoman.text.segmenter import LONGEST, may_split
from dragoman.text.sentences import split_sentences


@pytest.mark.parametrize(
    ("language", "text", "sentences"),
    [
        ("en", "One dog. Two dogs!  Three?", ["One dog. ", "Two dogs!  ", "Three?"]),
        ("en", "Dr. Smith is here. He waits.", ["Dr. Smith is here. ", "He waits."]),
        ("en", "1. Open it. 2. Close it.", ["1. Open it. ", "2. Close it."]),
        ("en", "See foo.bar and baz.qux. Then go.", ["See foo.bar and baz.qux. ", "Then go."]),
        ("en", "A line\nand another", ["A line\n", "and another"]),
        ("en", "Windows\r\n\r\nlines", ["Windows\r\n\r\n", "lines"]),
        ("en", "A page\f\u2028and another", ["A page\f\u2028", "and another"]),
        ("de-AT", "Am 3. Oktober z. B. war er da. Gut.", ["Am 3. Oktober z. B. war er da. ", "Gut."]),
        ("zh_Hans", "你好。今天很好！", ["你好。", "今天很好！"]),
        ("xx", "No such language. But two.", ["No such language. ", "But two."]),
        ("en", "  ", ["  "]),
        ("en", "", []),
    ],
)
def test_texts_end_where_sentences_do(language: str, text: str, sentences: list[str]) -> None:
    assert split_sentences(text, language) == sentences


# The first sentence ends with a word that sentencex has among its abbreviations, or marks that it mispairs.
# "|" is where Chinese sentences meet.
TWO = {
    "en": [
        "She called me. I see her.",
        "He said no. A car stopped.",
        "It was in May. Anna left.",
        "You I will miss. I tried.",
        "She is ill. A doctor came.",
        "That is ok. I agree.",
        "He studies art. Tom paints.",
        "It takes one min. I wait.",
        "It is a con. Anna knew.",
        "He ate a fig. I did not.",
        "Wait a sec. Mary is here.",
        "I met Al. A week passed.",
        "So do I. Anna agrees.",
        "Click OK. A window opens.",
        "It's Bob's. I don't know.",
        "He wouldn't. It isn't his.",
        "(It was late.) We left.",
        "Copy %(a)s to %(b)s. I wait.",
        "It copies 600 MB/s. Anna waits.",
        "The shop opens on 1 Jan. Anna goes there.",
        "The car comes from the U.S. The driver does not.",
        "He wants so much!!! I do not.",
        "He came, he saw... I slept.",
        'She said, "Go." I went.',
        'She asked why. "I forgot," he said.',
        "Bring pens, paper etc. I wait.",
        "I waited… She came.",
        "It ends.\u200b She came.",
        "It ends.\u00ad She came.",
        "It ends!\u200e\ufeff She came.",
        "It ends.[1] She came.",
        "It ends.[2][a] She came.",
        "It ends.¹ She came.",
        "It ends.* She came.",
        "(She came. He left.)",
        "[She came. He left. ].",
        "It is in vol. 2. She read it.",
        "See ch. 2. She read it.",
    ],
    "de": [
        "Auf geht’s. Anna wartet.",
        "Sie lesen die „Welt“. 2008 lasen sie nichts.",
        'Er kam zu spät. "2006 war er krank", sagt sie.',
        "Wir haben gefragt. boot.de: Wie war die Fahrt?",
        "Er sieht mich. Anna geht.",
        "Das ist seine Art. Er lacht.",
        "Wir kommen am Mo. Dann essen wir.",
        "Nicht am Di. Sie ruht.",
        "Er kommt am Sa. Das passt.",
        "Nur am Fr. Er ist da.",
        "Wir treffen uns Fr. Dann geht es los.",
        "Das ist ok. Dann los.",
        "Er hat einen Bart. Sie lacht.",
        "Tom weiß, was er mag. Sie weiß es.",
        "Das war gut. 2014 kam er.",
        "Er sagte: „Nein.“ Sie ging.",
        "Wer ist da? 3 Leute.",
        "Obst, Brot usw. Das reicht.",
        "Ich wartete… Sie kam.",
        "Es endet.\u200f Sie kam.",
        "Es endet.² Sie kam.",
        "(Sie kam. Er ging.)",
    ],
    "ru": ["Я ждал… Она пришла."],
    "fr": [
        "C'est de l'art. Il peint.",
        "Le sol est sec. Il marche.",
        "Du pain, du vin etc. Il mange.",
        "Il l'a dit. C'est l'heure.",
    ],
    "es": [
        "Ella dice que no. Juan come.",
        "Vamos al mar. Ana nada.",
        "Todo está bien. Luego come.",
        "Ven en auto. Ana conduce.",
        "No me lo des. Pedro ríe.",
        "Es para nos. Rosa calla.",
    ],
    "it": [
        "Lui dice di no. Anna mangia.",
        "Guardo il mar. Luca nuota.",
        "Vai via. Marco resta.",
        "Lui lo sa. Anna ride.",
        "Due anni fa. Era piccola.",
        "Come va. Bene.",
        "Non ci vai mai. Ada dorme.",
    ],
    "nl": [
        "Hij ziet me. Anna lacht.",
        "Dat wist ik al. Jan komt.",
        "Het is nat. Wij lopen.",
        "De fles is vol. Eva schenkt.",
        "Zo is de wet. Piet zwijgt.",
        "Zij woont ver. Tom fietst.",
    ],
    "pt": [
        "Eu vi. Ana saiu.",
        "É o meu ex. Rui riu.",
    ],
    "sv": [
        "Det vet man. Anna kommer.",
    ],
    "zh": [
        "“船来了。”|对于他们来说，这很重要。",
        "“船来了。”|这很难，对他们来说。",
        "他说：“船来了。”|她说，她也看见了。",
        "你好?|他来了。",
        "他说：“我来。”|昨天他走了。",
        "他来了！|23岁的人走了。",
        "对吗？|“对。”",
    ],
}
ONE = {
    "en": [
        "He is in the U.S. Army.",
        "She left on Jan. 5 and came back.",
        "Ms. Zhu is here.",
        "Dr. A. Smith is here.",
        "See No. 5 below.",
        "It was (I think. Or not.) fun.",
        'He said "Stop!" and ran.',
        'He said, "Wait. Go."',
        "I waited… and she came.",
        "She is in vol. 2 of it.",
    ],
    "ru": ["Я ждал… а она пришла."],
    "de": [
        "Das ist Fr. Müller aus Bonn.",
        "Er lebte im 18. Jahrhundert.",
        "Sie kam am 19. Januar, sagt er.",
        "Das war der 3. Versuch.",
        "Siehe Nr. 5 und Abs. 2 dort.",
        "Der Palast des XXII. Bezirks steht.",
    ],
    "fr": [
        "Voici M. Dupont.",
        "Il lit le vol. II du livre.",
    ],
    "it": [
        "Ecco il sig. Rossi.",
        "C'è il dott. Bianchi.",
        "Parla l'ing. Verdi.",
    ],
    "nl": [
        "Dit is dr. Jansen.",
        "Daar is mevr. Bakker.",
    ],
    "es": [
        "Es el Sr. García.",
        "Vive en la avda. Colón.",
    ],
    "zh": [
        "“船来了，”他说，“我们走。”",
        "“我们走。你也来。”",
        "“我该做什么呢？”我说。",
    ],
}


@pytest.mark.parametrize(
    ("language", "text"), [(code, text) for code, texts in TWO.items() for text in texts]
)
def test_two_sentences_are_two(language: str, text: str) -> None:
    pieces = split_sentences(text.replace("|", ""), language)
    assert len(pieces) == 2, pieces
    assert "|" not in text or pieces == text.split("|")
    assert may_split(text.replace("|", ""))


@pytest.mark.parametrize(
    ("language", "text"), [(code, text) for code, texts in ONE.items() for text in texts]
)
def test_one_sentence_is_one(language: str, text: str) -> None:
    assert split_sentences(text, language) == [text]


@pytest.mark.parametrize("language", STORIES)
def test_neighbours_come_apart(language: str) -> None:
    lines = STORIES[language].split("\n")
    assert [line for line in lines if split_sentences(line, language) != [line]] == []
    joined = [[f"{one} ", other] for one, other in pairwise(lines)]
    assert [pair for pair in joined if split_sentences("".join(pair), language) != pair] == []


@pytest.mark.thorough
@pytest.mark.parametrize(
    "unit", ["me.", "me. ", "me.  /", "(", '"', "“", "[1] ", "am 1. ", "Nr. ", "。”", "?” ", "' ", "… ", "*"]
)
def test_no_line_takes_long(unit: str) -> None:
    def split(length: int, language: str) -> None:
        text = unit * (length // len(unit)) + "me." + " " * length + "x"
        assert "".join(split_sentences(text, language)) == text

    for language in ("en", "de", "it", "zh"):
        assert is_linear(partial(split, language=language), 2500)


def test_no_sentence_ends_inside_a_protected_span() -> None:
    text = "Use here. There now. Go."
    assert split_sentences(text, "en", kept=[(4, 15)]) == ["Use here. There now. ", "Go."]
    assert len(split_sentences(text, "en")) > 2


@pytest.mark.parametrize("language", ["en", "de", "fr", "ru", "ja", "zh"])
@pytest.mark.parametrize("space", ["\u00a0", "\u202f", "\u2009", "\u2003", "\u3000", "\x85", "\u2028"])
def test_wide_spaces_before_marks(language: str, space: str) -> None:
    text = f"The man eats vitamin C{space}. Two{space}! Three."
    pieces = split_sentences(text, language)
    assert "".join(pieces) == text
    assert pieces[-1] == "Three."  # it was cut


def test_a_text_that_sentencex_fails_for_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class PanicException(BaseException):
        pass

    def failing(*_: str) -> list[str]:
        raise PanicException

    monkeypatch.setattr(module, "_sentencex", lambda: failing)
    assert split_sentences("One. Two.\nThree.", "en") == ["One. Two.\n", "Three."]


def test_long_sentences_are_cut_at_clauses_else_between_words() -> None:
    clauses = "one two, three four; five six"
    assert split_sentences(clauses, "en", longest=22) == ["one two, three four; ", "five six"]
    assert split_sentences("one two three four", "en", longest=9) == ["one two ", "three ", "four"]
    assert split_sentences(clauses, "en", longest=None) == [clauses]


def test_a_long_word_is_cut_but_not_a_protected_one() -> None:
    assert split_sentences("x" * 25, "en", longest=10) == ["x" * 10, "x" * 10, "x" * 5]
    assert split_sentences("x" * 25, "en", longest=10, kept=[(0, 25)]) == ["x" * 25]


@given(st.text(alphabet='aA .!?\n\r。\ud800é1)"“'), st.integers(1, 20))
def test_nothing_is_lost(text: str, longest: int) -> None:
    assert "".join(split_sentences(text, "en", longest=longest)) == text


def test_the_time_grows_with_the_text_and_not_with_its_square() -> None:
    def split(count: int) -> None:
        assert len(split_sentences("a" * LONGEST * count, "xx", longest=LONGEST)) == count

    assert is_linear(split, 500)


def test_a_cut_is_only_made_within_a_word_if_no_space_is_left() -> None:
    assert split_sentences("a" * 25 + " b", "xx", longest=10) == ["a" * 25 + " b"]
    assert split_sentences("a " + "b" * 25, "xx", longest=10) == ["a " + "b" * 25]
    assert split_sentences("a" * 25 + " ", "xx", longest=10) == ["a" * 10, "a" * 10, "aaaaa "]


@pytest.mark.parametrize("unit", ["The dog sleeps. ", "`a", "<?a", "word "])
def test_a_long_line_is_read_in_parts(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of sentencex grows with the square of some lines, in which no other thread runs."""
    segment, sizes = module._sentencex(), []

    def watched(language: str, text: str) -> list[str]:
        sizes.append(len(text))
        return segment(language, text)

    monkeypatch.setattr(module, "_sentencex", lambda: watched)
    text = unit * (50_000 // len(unit))
    found = split_sentences(text, "en", longest=None)

    assert "".join(found) == text
    assert found == [unit] * len(found) if "." in unit else [text]
    assert max(sizes) <= 4000
