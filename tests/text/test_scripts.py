"""Which texts have no spaces between words."""

import pytest

from dragoman.text.scripts import is_unspaced


@pytest.mark.parametrize("text", ["打印", "プリント", "พิมพ์", "ພິມ", "ပုံနှိပ်", "បោះពុម្ព", "Print 打印"])
def test_no_spaces(text: str) -> None:
    assert is_unspaced(text)


@pytest.mark.parametrize("text", ["", "print", "인쇄", "печать", "छापो", "طباعة"])
def test_spaces(text: str) -> None:
    assert not is_unspaced(text)
