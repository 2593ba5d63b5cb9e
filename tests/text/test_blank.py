"""Texts that show nothing."""

from __future__ import annotations

import unicodedata

import pytest

from dragoman.text.blank import is_blank

# Ranges of Unicode's Default_Ignorable_Code_Point, from DerivedCoreProperties.txt, without the unassigned.
IGNORABLE = [
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x180B, 0x180E, 0x200B, 0x200E, 0x200F, 0x202A),
    *(0x202E, 0x2060, 0x2064, 0x2066, 0x206F, 0x3164, 0xFE00, 0xFE0F, 0xFEFF, 0xFFA0, 0xE0001, 0xE0020),
    *(0xE007F, 0xE0100, 0xE01EF, 0x1D173, 0x1D17A, 0x1BCA0),
]


@pytest.mark.parametrize("code", IGNORABLE)
def test_characters_without_a_shape_are_blank(code: int) -> None:
    assert is_blank(chr(code))
    assert is_blank(f" {chr(code)}\t{chr(code)}")
    assert not is_blank(f"{chr(code)}a")


def test_spaces_and_controls_are_blank_and_all_else_is_not() -> None:
    for code in range(0x11000):
        one = chr(code)
        if one.isspace() or unicodedata.category(one) == "Cc" or not one:
            assert is_blank(one), hex(code)
        elif unicodedata.category(one)[0] in "NPS" or unicodedata.category(one) in ("Lu", "Ll", "Lt"):
            assert is_blank(one) == (one == "\u2800"), hex(code)
    assert is_blank("")
    assert not is_blank("👩\u200d💻")
