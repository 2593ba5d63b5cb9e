"""n lines in, n lines out: any text, in every form of the output."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.cli.nasty.check import program
from tests.cli.nasty.lines import ALL

from dragoman.cli.outcome import run

_SAVED = Path(__file__).parents[1] / "saved/0.2/transformer"
_FORMS = {
    "plain": "",
    "scores": "--scores",
    "jsonl": "--jsonl",
    "n-best": "--n-best 2 --beam 2",
    "alignment": "--alignment",
    "protect": "--protect",
    "one at a time": "--batch-tokens 1",
}
_NASTY = (
    "\r\t\v\f\x1c\x85\u2028\u2029\u200b\u200d\u202e\u2066\ufeff\u0301\u0489▁ \u3000🦊🇩"
    "\U0010ffff\ufffe<%{&\x01\x7f"
)
_LINE = st.text(
    st.one_of(
        st.sampled_from(_NASTY),
        st.sampled_from("aA.1"),
        st.characters(exclude_characters="\0\n", exclude_categories=["Cs"]),
    ),
    max_size=12,
)
_TEXT = st.tuples(st.lists(st.tuples(_LINE, st.sampled_from(["\n", "\r\n"])), max_size=8), _LINE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the texts are written, with a model."""
    folder = tmp_path_factory.mktemp("parity")
    shutil.copytree(_SAVED, folder / "model")
    return folder


@pytest.mark.parametrize("form", _FORMS)
@settings(max_examples=25)
@given(text=_TEXT)
@example(text=([(line, "\n") for line in ALL.decode().split("\n")[:-1]], ""))
def test_as_many_lines_come_out_as_went_in(
    form: str, text: tuple[list[tuple[str, str]], str], folder: Path
) -> None:
    data = "".join(line + end for line, end in text[0]) + text[1]
    (folder / "in.txt").write_bytes(data.encode())
    words = f"{folder}/in.txt -o {folder}/out --max-extra 3 {_FORMS[form]}".split()

    assert run(program(), ["translate", str(folder / "model"), *words, "--quiet"]) == 0

    lines, ends = _lines_and_ends(data)
    out = (folder / "out").read_bytes().decode()
    if form == "jsonl":
        tables = [json.loads(line) for line in out.split("\n")[:-1]]
        assert [table["source"] for table in tables] == lines
        assert [table["line"] for table in tables] == list(range(1, len(lines) + 1))
        assert all("\n" not in table["text"] and "\r" not in table["text"] for table in tables)
    elif form == "n-best":
        rows = [line.split("\t") for line in out.split("\n")[:-1]]
        assert [row[0] for row in rows] == [str(number) for number in range(1, len(lines) + 1) for _ in "12"]
        assert {len(row) for row in rows} <= {3}
    else:
        came, came_ends = _lines_and_ends(out)
        # A last line without an end, whose translation is empty, cannot be seen.
        assert came_ends == ends or came_ends == ends[:-1]
        for line, one in zip(lines, came, strict=False):
            if not line.strip() and form == "plain":
                assert not one.strip()


def _lines_and_ends(text: str) -> tuple[list[str], list[str]]:
    """Split at line feeds alone. A carriage return before one belongs to the end."""
    parts = text.removeprefix("\ufeff").split("\n")
    whole, last = parts[:-1], parts[-1]
    lines = [part.removesuffix("\r") for part in whole]
    ends = ["\r\n" if part.endswith("\r") else "\n" for part in whole]
    # The reader removes a carriage return at the very end, too.
    return (lines + [last.removesuffix("\r")], ends + [""]) if last or text == "\ufeff" else (lines, ends)
