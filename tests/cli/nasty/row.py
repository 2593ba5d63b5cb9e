"""A row of the table of nasty inputs: files, a command line, and what must come of it."""

from __future__ import annotations

import os
import shlex
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

MODEL = "{MODEL}"  # replaced by the folder of a model
Form = Literal["lines", "jsonl", "json", "any", "partial", "report"]


@dataclass(frozen=True)
class Fifo:
    """A named pipe into which something writes these bytes."""

    content: bytes


@dataclass(frozen=True)
class Folder:
    """An empty folder."""


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    to: str


@dataclass(frozen=True)
class Locked:
    """A file or folder that its owner may not read or write."""

    content: bytes | None  # None: a folder
    mode: int = 0


@dataclass(frozen=True)
class Copied:
    """A copy of the model folder, or of a file of it, with some files replaced; None deletes one."""

    changes: Mapping[str, bytes | None] = field(default_factory=dict)


Content = bytes | Callable[[], bytes] | Fifo | Folder | Link | Locked | Copied


@dataclass(frozen=True, kw_only=True)
class Row:
    """One nasty input.

    `command` is split as a shell does; words in `more` are added as they are. `message` is part of standard
    error. If `code` is not 0, standard output must be empty, and the first line of standard error must be an
    error that has `names`: the first file, unless `names` says otherwise. If it is 0, `lines` is how many
    lines come out, None for any number, and `ends` whether the last of them has an end. A `partial` output
    may precede the error; a `report` on standard output has the message.
    """

    name: str
    command: str
    more: Sequence[str] = ()
    files: Mapping[str, Content] = field(default_factory=dict)
    stdin: bytes = b""
    code: int = 0
    message: str = ""
    names: str | None = None
    lines: int | None = None
    ends: bool = True
    form: Form = "any"
    writes: str = ""  # the output file or folder
    outside: bool = False  # run it as a process of its own, too

    def words(self, model: Path) -> list[str]:
        """The command line."""
        return [word.replace(MODEL, str(model)) for word in (*shlex.split(self.command), *self.more)]

    @property
    def named(self) -> str:
        """What the error must name."""
        if self.names is not None:
            return self.names
        return next(iter(self.files), "") if self.code in (3, 4) else ""

    @property
    def locked(self) -> bool:
        """Whether it needs a user whom permissions hold for."""
        return any(isinstance(content, Locked) for content in self.files.values())


def write_files(files: Mapping[str, Content], folder: Path, model: Path) -> None:
    """Make the files of a row in `folder`."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match content:
            case bytes():
                path.write_bytes(content)
            case Fifo(data):
                os.mkfifo(path)
                threading.Thread(target=_feed, args=(path, data), daemon=True).start()
            case Folder():
                path.mkdir()
            case Link(to):
                path.symlink_to(to)
            case Locked(None, mode):
                path.mkdir(mode=mode)
            case Locked(bytes() as data, mode):
                path.write_bytes(data)
                path.chmod(mode)
            case Copied(changes):
                shutil.copytree(model, path)
                for one, new in changes.items():
                    (path / one).unlink() if new is None else (path / one).write_bytes(new)
            case _:
                assert callable(content)
                path.write_bytes(content())


def _feed(path: Path, data: bytes) -> None:
    try:
        with path.open("wb") as pipe:
            pipe.write(data)
    except OSError:  # the reader closed it, or nobody read it and it is gone
        pass
