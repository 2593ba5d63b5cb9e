"""Documents of PO files, and how their alignment is scored."""

from __future__ import annotations

import sys
from pathlib import Path

import pairs
import pytest
from pairs import message_scores, of_messages

HEAD = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'
NEW = """
msgid "Run B<I<dpkg>> first. Then wait for 14 minutes."
msgstr "Zuerst dpkg aufrufen. Dann 14 Minuten warten."

msgid "A new message."
msgstr ""

#, fuzzy
msgid "The kettle has 2 lids."
msgstr "Ein Kessel."

msgid "Remove it."
msgstr "Entfernen Sie es."
"""
OLD = """
msgid "Run B<I<dpkg>> first. Then wait for 14 minutes."
msgstr "Zuerst dpkg aufrufen, dann 14 Minuten warten."

msgid "It is gone."
msgstr "Es ist weg."

msgid "Remove it."
msgstr "Entfernen Sie es."
"""


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "man" / "po" / name for name in ("new.po", "old.po")]
    paths[0].parent.mkdir(parents=True)
    for path, text in zip(paths, (NEW, OLD), strict=True):
        path.write_text(HEAD + text, encoding="utf-8")
    return paths


def test_messages_without_a_finished_translation_are_in_the_source_alone(files: list[Path]) -> None:
    case = of_messages(files[0], files[0], ("en", "de"))

    assert case.source.sentences[:3] == ["Run dpkg first.", "Then wait for 14 minutes.", "A new message."]
    assert case.source.begins == [True, False, True, True, True]
    assert case.target.sentences == ["Zuerst dpkg aufrufen.", "Dann 14 Minuten warten.", "Entfernen Sie es."]
    assert case.gold == [((0, 1), (0, 1)), ((4,), (2,))]


def test_a_message_is_right_as_a_whole(files: list[Path]) -> None:
    case = of_messages(*files, ("en", "de"))
    assert case.gold == [((0, 1), (0,)), ((4,), (2,))]

    assert message_scores([((0, 1), (0,)), ((4,), (2,))], case) == ((100, 100, 100), [True, True])
    # Half of a message is not enough, and messages of one version alone do not count.
    assert message_scores([((0,), (0,)), ((2,), (1,)), ((4,), (2,))], case) == (
        (50, 50, 50),
        [True, None, True],
    )
    assert message_scores([((0, 1), (0,)), ((3, 4), (2,))], case)[1] == [True, False]
    assert message_scores([], case) == ((0, 0, 0), [])


def test_the_table_has_both_methods_and_the_bands_of_confidence(
    files: list[Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--po", files[0], "--older", files[1], "--only", "Gale-Church", "three passes"]
    monkeypatch.setattr(sys, "argv", ["pairs.py", *map(str, words)])
    pairs.main()
    lines = capsys.readouterr().out.splitlines()

    assert lines[1].split()[1:3] == ["5+3", "Gale-Church"]
    assert lines[2].split()[2:4] == ["three", "passes"]
    assert lines[-2].split()[-4:] == ["0.0", "0.5", "0.8", "0.95"]
    assert lines[-1].count(" of ") == 4
