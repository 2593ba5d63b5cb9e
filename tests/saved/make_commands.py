"""Writes the commands of README and docs, which later versions must accept, into commands.txt.

    PYTHONPATH=. python tests/saved/make_commands.py

A later version keeps what is in the file, and may add lines.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.program import refusal
from tests.test_readme import PAGES, blocks

ENDS = {"|", "||", "&&", "&", ";", "(", ")", ">", ">>", "<", ">&", "2>"}


def commands_of(script: str) -> Iterator[list[str]]:
    """The words of each `dragoman` command in a line for the shell, without pipes and redirections."""
    lexer = shlex.shlex(script, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    command: list[str] | None = None
    for word in [*lexer, ";"]:
        if word in ENDS or re.fullmatch(r"[|&;()<>]+", word):
            if command:
                yield command
            command = None
        elif command is not None:
            command.append(word)
        elif word == "dragoman":
            command = [word]


def main() -> None:
    lines = []
    for page, text in PAGES.items():
        lines += re.findall(r"`(dragoman [^`]+)`", text)
        for block in blocks(text, page):
            if block.language == "console":
                body = re.sub(r"\\\n\s*", "", block.body)
                lines += re.findall(r"^\$ (.*\bdragoman .*)", body, re.MULTILINE)
    commands = {shlex.join(words) for line in lines for words in commands_of(line) if not refusal(words[1:])}
    text = "".join(f"{command}\n" for command in sorted(commands))
    Path(__file__).with_name("commands.txt").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
