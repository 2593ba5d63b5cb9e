"""Commands and options that are scripts now: they say where they went."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "words",
    [
        "complexity -o complexity.html",
        "cost --preset base training.recompute=true",
        "goodput --help",
        "peers huggingface",
        "quality --recipe r.toml --bleu 40 -o x",
        "train dragoman hf --device cuda",
        "translate dragoman --only start",
    ],
)
def test_commands_that_are_scripts_now(words, dragoman_):
    """They say where they are, whatever follows them. Only the help of `bench` lists them."""
    name = words.split()[0]

    ended = dragoman_("bench", *words.split())

    assert (ended.code, ended.out) == (2, "")
    first, second = ended.err.splitlines()
    script = first.removeprefix(f"error: bench {name} moved to ")
    assert (ROOT / script).is_file()
    assert second == f"hint: in a checkout of the source: python {script} --help"
    assert f"{name} {script}" in " ".join(dragoman_("bench", "--help").out.split())
    assert " bench " not in dragoman_("--help").out
