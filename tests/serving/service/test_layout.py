from __future__ import annotations

import pytest

from dragoman.serving.service.layout import LONGEST, Layout, laid_out
from dragoman.text.guidance import Match

TEXTS = [
    "",
    " ",
    "\n\n",
    "One.",
    "  One.  Two.\tThree.\r\n\r\n\tFour\x0b\u2028 five.\n",
    "One.\n\nTwo.\n",
    "No end here",
    "x" * (3 * LONGEST + 5),
    "word " * 500,
    "e\u0301 \ud7ff 🙂. Next.",
]


@pytest.mark.parametrize("how", ["split", "lines", "one"])
@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_nothing_is_lost(text: str, how: str) -> None:
    layout = laid_out(text, "en", "de", how)  # type: ignore[arg-type]

    pieces = [one.body for one in layout.slivers]
    joined = "".join(one.before + one.body + one.after for one in layout.slivers)
    assert joined == text
    assert max(map(len, pieces), default=0) <= LONGEST
    assert all(text[one.start :].startswith(one.body) for one in layout.slivers)


def test_sentences_lines_or_the_whole() -> None:
    text = "One dog. Two dogs.\nThree dogs.\n"

    assert laid_out(text, "en", "de", "split").sentences == ["One dog.", "Two dogs.", "Three dogs."]
    assert laid_out(text, "en", "de", "lines").sentences == ["One dog. Two dogs.", "Three dogs."]
    assert laid_out(text, "en", "de", "one").sentences == ["One dog. Two dogs. Three dogs."]


def test_white_space_stays_around_translations() -> None:
    layout = laid_out("\n One.  Two.\r\n\r\n", "en", "de", "split")

    assert layout.text(["EINS.", "ZWEI."]) == "\n EINS.  ZWEI.\r\n\r\n"


def test_chinese_has_no_space_between_sentences() -> None:
    layout = laid_out("One dog. Two dogs. ", "en", "zh-Hans", "split")

    assert layout.text(["一。", "二。"]) == "一。二。 "
    assert laid_out("一只狗。两只狗。", "zh", "en", "split").text(["One.", "Two."]) == "One. Two."


def test_what_is_no_language_is_copied() -> None:
    layout = laid_out("12 + 3\nOne dog.\n---", "en", "de", "split")

    assert layout.sentences == ["One dog."]
    assert layout.text(["EIN HUND."]) == "12 + 3\nEIN HUND.\n---"
    assert laid_out("12", "en", "de", "split", asked=True).sentences == ["12"]


def known(*lines: str) -> dict[str, Match]:
    return {line: Match(line, line.upper(), 100.0) for line in lines}


@pytest.mark.parametrize("line", ["One dog. Two dogs.\nThree dogs.", "One dog. Two dogs.", "Two dogs."])
def test_what_is_known_is_not_cut(line: str) -> None:
    text = "One dog. Two dogs.\nThree dogs."
    memory = known(line)

    layout = laid_out(text, "en", "de", "split", known=memory.get)

    assert line.upper() in layout.text([one.lower() for one in layout.sentences])
    assert [one.match for one in layout.slivers if one.match] == list(memory.values())
    assert not any(one in line for one in layout.sentences)


def test_a_known_line_stays_one_line() -> None:
    layout = laid_out("a dog\nb", "en", "de", "split", known={"a dog": Match("a dog", "x\ny", 100.0)}.get)

    assert layout.text(["B"]) == "x y\nB"


def test_a_text_without_pieces() -> None:
    assert Layout(()).text([]) == ""
