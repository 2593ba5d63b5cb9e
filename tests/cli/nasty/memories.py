"""Rows of translation memories and lists of terms."""

from __future__ import annotations

from pathlib import Path

from tests.cli.nasty.lines import DOG
from tests.cli.nasty.parallel import _LAUGHS
from tests.cli.nasty.row import Content, Fifo, Folder, Link, Row

_LANGUAGES = "--source-language en --target-language de"
_SQLITE = b"SQLite format 3\0"
# As a memory: name: content, part of the message
_NO_MEMORY: dict[str, tuple[Content, str]] = {
    "text": (b"dog\n", "bad.tm: "),
    "zeros": (bytes(8192), "bad.tm: "),
    "the head of a database": (_SQLITE, "bad.tm: "),
    "a head and zeros": (_SQLITE + bytes(8176), "bad.tm: "),
    "a head and noise": (_SQLITE + bytes(range(256)) * 32, "bad.tm: "),
    "a folder": (Folder(), "bad.tm"),
    "a link to nothing": (Link("nowhere"), "bad.tm"),
    "a pipe": (Fifo(b"dog\n"), "bad.tm"),
}

# As a list of terms: name: content, part of the message
_NO_TERMS: dict[str, tuple[Content, str]] = {
    "nothing": (b"", "bad.csv"),
    "one column": (b"dog\ncat\n", "bad.csv:1: "),
    "a translation without a term": (b",Hund\n", "bad.csv:1: "),
    "a quotation mark that never ends": (b'dog,"Hund\n', "bad.csv"),
    "not UTF-8": (b"dog,M\xfcde\n", "bad.csv"),
    "a NUL": (b"dog,Hu\0nd\n", "bad.csv"),
    "other languages": (b"en,fr\ndog,chien\n", "bad.csv:1: columns for en, fr, but not for both en and de"),
    "a cell of 200,000 letters": (b'dog,"' + b"x" * 200_000 + b'"\n', "bad.csv"),
    "TBX with a billion laughs": (
        f'<?xml version="1.0"?>\n{_LAUGHS.replace("DOCTYPE tmx", "DOCTYPE tbx")}<tbx>&j;</tbx>'.encode(),
        "bad.csv",
    ),
    "TBX cut off": (b'<?xml version="1.0"?>\n<tbx><text><body><conceptEntry>', "bad.csv"),
    "TBX without terms": (b'<?xml version="1.0"?>\n<tbx style="dca"><text><body/></text></tbx>', "bad.csv"),
    "a folder": (Folder(), "bad.csv"),
    "UTF-16 without a mark": ("dog,Hund\n".encode("utf-16-le"), "bad.csv"),
}

# The text of an argument: code, part of the message
_TEXTS = {
    "surrogates": ("dog \udcff", 3, "surrogate"),
    "nothing": ("", 3, ""),
    "spaces": (" \t", 3, ""),
    "separators": ("dog\u2028\x85\v cat", 0, ""),
    "controls and directions": ("\x1b[2J\u202edog\u2066", 0, ""),
    "a combining flood": ("d" + "\u0301" * 5000, 0, ""),
    "a wildcard": ("% _ * ' \" ; -- DROP TABLE", 0, ""),
    "50,000 letters": ("x" * 50_000, 0, ""),
}


def _saved() -> bytes:
    return (Path(__file__).parents[2] / "saved/0.2/memory/app.tm").read_bytes()


def _rows() -> list[Row]:
    rows = []
    for number, (name, (content, message)) in enumerate(_NO_MEMORY.items()):
        for command in ("memory info bad.tm", "memory search bad.tm dog")[number % 2 :]:
            rows.append(
                Row(
                    name=f"{' '.join(command.split()[:2])}: {name}",
                    command=command,
                    files={"bad.tm": content},
                    code=3,
                    message=message,
                )
            )
    for name, (content, message) in list(_NO_MEMORY.items())[:5]:
        rows.append(
            Row(
                name=f"translate --memory: {name}",
                command="translate {MODEL} ok --memory bad.tm -o out",
                files={"bad.tm": content, "ok": DOG},
                code=3,
                message=message,
            )
        )
        rows.append(
            Row(
                name=f"memory add: {name}",
                command=f"memory add bad.tm dog Hund {_LANGUAGES}",
                files={"bad.tm": content},
                code=3,
                message=message,
            )
        )
    for name, (content, message) in _NO_TERMS.items():
        rows.append(
            Row(
                name=f"translate --terms: {name}",
                command="translate {MODEL} ok --terms bad.csv -o out",
                files={"bad.csv": content, "ok": DOG},
                code=3,
                message=message,
            )
        )
    for name, (text, code, message) in _TEXTS.items():
        rows.append(
            Row(
                name=f"memory add: {name}",
                command=f"memory add out.tm {_LANGUAGES} --",
                more=[text, "Hund"],
                code=code,
                message=message,
                names="",
                writes="out.tm",
            )
        )
    return rows


def _options() -> list[Row]:
    return [
        Row(name="memory: no languages", command="memory add out.tm a b", code=2, message="which languages"),
        Row(
            name="memory: the same language twice",
            command="memory add out.tm a b --source-language en --target-language en",
            code=2,
            message="name two languages",
        ),
        Row(
            name="memory: a missing folder",
            command=f"memory add nowhere/out.tm a b {_LANGUAGES}",
            code=3,
            names="nowhere",
            message="the folder does not exist",
        ),
        Row(name="memory: a missing memory", command="memory info nowhere.tm", code=3, message="nowhere.tm"),
        Row(
            name="memory: an export to another suffix",
            command="memory export bad.tm out.xyz",
            files={"bad.tm": b"dog"},
            code=3,
            message="bad.tm: ",
        ),
        Row(
            name="memory: most of zero",
            command="memory search x.tm dog --most 0",
            code=2,
            message="--most 0",
        ),
        Row(
            name="memory: a likeness that is no number",
            command="memory search x.tm dog --least nan",
            files={"x.tm": _saved},
            code=2,
            message="least",
        ),
        Row(
            name="memory: a likeness above 100",
            command="memory search x.tm dog --least 101",
            files={"x.tm": _saved},
            code=2,
            message="101",
        ),
        Row(
            name="translate --memory: a missing memory",
            command="translate {MODEL} ok --memory nowhere.tm",
            files={"ok": DOG},
            code=3,
            names="nowhere.tm",
            message="no such translation memory",
        ),
        Row(
            name="translate --memory: TMX of other languages",
            command="translate {MODEL} ok --memory bad.tmx",
            files={"bad.tmx": b"<tmx><body/></tmx>", "ok": DOG},
            code=3,
            message="bad.tmx",
        ),
        Row(
            name="translate --match-least: above 100",
            command="translate {MODEL} ok --memory bad.tsv --match-least 1000",
            files={"ok": DOG, "bad.tsv": b"a\tb\n"},
            code=2,
            message="1000",
        ),
    ]


ROWS = [*_rows(), *_options()]
