"""What were commands of `dragoman bench` are scripts now."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    "words", ["complexity -o x.html", "goodput --help", "train dragoman hf --device cuda", ""]
)
def test_commands_that_are_scripts_now(words, dragoman_):
    """They say so, whatever follows them. Help does not list them."""
    ended = dragoman_("bench", *words.split())
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith(f"error: {' '.join(['bench', *words.split()[:1]])} is a script now\nhint: ")
    assert " bench " not in dragoman_("--help").out
