"""Rows of `translate` with lines, and of the commands that read lines or one text."""

from __future__ import annotations

from tests.cli.nasty.row import Copied, Fifo, Folder, Form, Link, Locked, Row
from tests.cli.nasty.texts import BAD, GOOD

_FORMS: dict[str, tuple[str, Form]] = {
    "--scores": ("--scores", "lines"),
    "--jsonl": ("--jsonl", "jsonl"),
    "--jsonl --alignment --risk": ("--jsonl --alignment --risk", "jsonl"),
    "--n-best 2": ("--n-best 2", "any"),
    "--alignment": ("--alignment", "lines"),
    "--plain": ("--plain", "lines"),
    "--protect": ("--protect", "lines"),
    "--quality best": ("--quality best --candidates 2", "lines"),
    "--shortlist": ("--shortlist", "lines"),
    "--sample": ("--sample --seed 3", "lines"),
    "--prefix": ("--prefix Ein", "lines"),
    "-o": ("-o out", "lines"),
    "int8": ("--dtype int8", "lines"),
}
_TOO_LONG_FOR_FORMS = 250  # bytes


def all_good() -> bytes:
    """Every good text of one line that is not long, a line each."""
    chosen = [
        text.content.removesuffix(b"\n")
        for text in GOOD.values()
        if isinstance(text.content, bytes) and len(text.content) < _TOO_LONG_FOR_FORMS
        if text.content[:2] != b"\x1f\x8b" and text.lines < 50
    ]
    return b"\n".join(chosen) + b"\n"


ALL = all_good()
_COUNT = ALL.count(b"\n")

DOG = b"The dog sleeps.\n"
_MORE = "--max-extra 4 --beam 1"


def _good() -> list[Row]:
    return [
        Row(
            name=f"translate: {name}",
            command=f"translate {{MODEL}} {_MORE}",
            more=[text.file],
            files={text.file: text.content},
            lines=text.lines,
            ends=text.ends,
            form="lines",
            outside=name == "a name that is not UTF-8",
        )
        for name, text in GOOD.items()
    ]


def _bad() -> list[Row]:
    return [
        Row(
            name=f"translate: {name}",
            command=f"translate {{MODEL}} {text.file} -o out {_MORE}",
            files={text.file: text.content},
            code=3,
            message=text.of_documents or text.message,
            writes="out",
            outside=name == "a gzip bomb of zeros",
        )
        for name, text in BAD.items()
    ]


# Each of these options excludes --beam, or is given one.
def _forms() -> list[Row]:
    rows = [
        Row(
            name=f"translate: every line, {name}",
            command=f"translate {{MODEL}} all --max-extra 4 {words}",
            files={"all": ALL},
            lines=_COUNT * (2 if name == "--n-best 2" else 1),
            form=form,
            writes="out" if name == "-o" else "",
        )
        for name, (words, form) in _FORMS.items()
        if name != "--n-best 2"
    ]
    rows.append(
        Row(
            name="translate: every line, --n-best 2",
            command="translate {MODEL} all --max-extra 4 --n-best 2 --beam 2",
            files={"all": ALL},
            lines=2 * _COUNT,
        )
    )
    rows.append(
        Row(
            name="translate: every line from standard input",
            command=f"translate {{MODEL}} {_MORE}",
            stdin=ALL,
            lines=_COUNT,
            form="lines",
            outside=True,
        )
    )
    return rows


# Each: name, files, words after the model, code, message, lines
def _places() -> list[Row]:
    dog = b"The dog sleeps.\n"
    return [
        Row(
            name="translate: a folder without documents",
            command="translate {MODEL} in",
            files={"in": Folder()},
            code=3,
            message="no document in this folder",
        ),
        Row(
            name="translate: a folder as lines",
            command="translate {MODEL} in --format lines",
            files={"in": Folder()},
            code=3,
            message="in: a folder, not a file",
        ),
        Row(
            name="translate: a missing file",
            command="translate {MODEL} nowhere",
            code=3,
            message="nowhere: no such file",
        ),
        Row(
            name="translate: an empty name",
            command="translate {MODEL}",
            more=[""],
            code=3,
            message="no document in this folder",
        ),
        Row(
            name="translate: a name of 5,000 letters",
            command="translate {MODEL} " + "a" * 5000,
            code=3,
            message="File name too long",
        ),
        Row(
            name="translate: a path below a file",
            command="translate {MODEL} bad/x",
            files={"bad": dog},
            code=3,
            message="bad/x: cannot be read (Not a directory)",
        ),
        Row(
            name="translate: a link to nothing",
            command="translate {MODEL} bad",
            files={"bad": Link("nowhere")},
            code=3,
            message="bad: no such file",
        ),
        Row(
            name="translate: a link in a circle",
            command="translate {MODEL} bad",
            files={"bad": Link("bad")},
            code=3,
            message="bad: ",
        ),
        Row(
            name="translate: a link to a file",
            command=f"translate {{MODEL}} bad {_MORE}",
            files={"bad": Link("real"), "real": dog},
            lines=1,
            form="lines",
        ),
        Row(
            name="translate: a file without permission",
            command="translate {MODEL} bad",
            files={"bad": Locked(dog)},
            code=3,
            message="bad: cannot be read (Permission denied)",
        ),
        Row(
            name="translate: a file in a folder without permission",
            command="translate {MODEL} shut/bad",
            files={"shut": Locked(None)},
            code=3,
            names="shut/bad",
            message="shut/bad: cannot be read (Permission denied)",
        ),
        Row(
            name="translate: a named pipe",
            command=f"translate {{MODEL}} bad {_MORE}",
            files={"bad": Fifo(dog * 3)},
            lines=3,
            form="lines",
            outside=True,
        ),
        Row(
            name="translate: a named pipe with a NUL",
            command=f"translate {{MODEL}} bad {_MORE}",
            files={"bad": Fifo(b"\0\n")},
            code=3,
            message="bad:1: a NUL byte",
        ),
        Row(name="translate: /dev/null", command="translate {MODEL} /dev/null", lines=0),
        Row(
            name="translate: /dev/zero",
            command="translate {MODEL} /dev/zero",
            code=3,
            message="/dev/zero:1: a line of more than 16 MB",
            outside=True,
        ),
        Row(
            name="translate: /dev/null as output",
            command="translate {MODEL} bad -o /dev/null",
            files={"bad": dog},
            lines=None,
        ),
        Row(
            name="translate: a folder as output",
            command="translate {MODEL} bad -o out",
            files={"bad": dog, "out": Folder()},
            code=1,
            message="out: cannot be written (it is a folder)",
        ),
        Row(
            name="translate: an output in a folder without permission",
            command="translate {MODEL} bad -o shut/out",
            files={"bad": dog, "shut": Locked(None, 0o555)},
            code=1,
            message="cannot be written (Permission denied)",
            names="shut/out",
        ),
        Row(
            name="translate: an output without permission",
            command="translate {MODEL} bad -o out",
            files={"bad": dog, "out": Locked(b"old\n", 0o444)},
            code=1,
            message="out: cannot be written (it is write-protected)",
        ),
        Row(
            name="translate: the output is the input",
            command="translate {MODEL} bad -o bad",
            files={"bad": dog},
            code=2,
            message="bad: input and output are the same file",
        ),
        Row(
            name="translate: the output is a link to the input",
            command="translate {MODEL} bad -o out",
            files={"bad": dog, "out": Link("bad")},
            code=2,
            message="out: input and output are the same file",
        ),
        Row(
            name="translate: two files, the second bad",
            command="translate {MODEL} good bad -o out",
            files={"good": dog, "bad": b"dog\n\xff\n"},
            code=3,
            message="bad:2: not valid UTF-8",
            names="bad",
            writes="out",
        ),
        Row(
            name="translate: two files, the first without an end",
            command=f"translate {{MODEL}} one two {_MORE}",
            files={"one": b"The dog", "two": b"The cat\n"},
            lines=2,
            form="lines",
        ),
        Row(
            name="translate: text and a document",
            command="translate {MODEL} one.en two.po",
            files={"one.en": dog, "two.po": b""},
            code=2,
            message="one.en is text and two.po a document",
        ),
        Row(
            name="translate: standard input is not UTF-8",
            command="translate {MODEL}",
            stdin=b"dog\n\xff\n",
            code=3,
            message="standard input:2: not valid UTF-8",
            form="partial",
            outside=True,
        ),
        Row(
            name="translate: too short a file of prefixes",
            command=f"translate {{MODEL}} bad --prefix-file begin {_MORE}",
            files={"begin": b"Ein\n", "bad": dog * 3},
            code=3,
            message="prefix",
            names="",
            form="partial",
        ),
        Row(
            name="translate: too long a file of prefixes",
            command=f"translate {{MODEL}} bad --prefix-file begin {_MORE}",
            files={"begin": b"Ein\n" * 5, "bad": dog * 3},
            code=3,
            message="prefix",
            names="",
            form="partial",
        ),
        Row(
            name="translate: prefixes that are not UTF-8",
            command=f"translate {{MODEL}} bad --prefix-file begin {_MORE}",
            files={"begin": b"\xff\n", "bad": dog},
            code=3,
            message="begin:1: not valid UTF-8",
        ),
        Row(
            name="translate: a missing file of prefixes",
            command="translate {MODEL} bad --prefix-file nowhere",
            files={"bad": dog},
            code=3,
            names="nowhere",
            message="nowhere: no such file",
        ),
        Row(
            name="translate: a prefix of surrogates",
            command="translate {MODEL} bad --prefix",
            more=["\udcff\udc80"],
            files={"bad": dog},
            code=3,
            names="",
            message="half of a surrogate pair",
            outside=True,
        ),
        Row(
            name="translate: a prefix of two lines",
            command=f"translate {{MODEL}} bad {_MORE} --prefix",
            more=["Ein\nHund\u2028"],
            files={"bad": dog},
            lines=1,
            form="lines",
        ),
        Row(
            name="translate: a prefix of 500 letters",
            command=f"translate {{MODEL}} bad {_MORE} --prefix {'x' * 500}",
            files={"bad": dog},
            lines=1,
            form="lines",
        ),
        Row(
            name="translate: a damaged file goes into a pipe",
            command=f"translate {{MODEL}} good bad {_MORE} --jsonl -o out",
            files={"good": dog * 100, "bad": b"\xff"},
            code=3,
            names="bad",
            message="bad:1: not valid UTF-8",
            writes="out",
        ),
        Row(
            name="translate: a model folder after text",
            command="translate {MODEL} in copy",
            files={"in": dog, "copy": Copied()},
            code=2,
            message="in is text and copy a document",
        ),
        Row(
            name="translate: the weights as text",
            command="translate {MODEL} {MODEL}/model.safetensors",
            code=3,
            message="model.safetensors: unknown format: a binary file",
        ),
    ]


# The text of one argument
_TEXTS = {
    "surrogates": ("The \udcff\udc80 dog", 3, ""),
    "a NUL": ("The \0 dog", 3, "NUL"),
    "nothing": ("", 3, "the text is empty"),
    "spaces": (" \t\n", 3, "the text is empty"),
    "zero width": ("\u200b\u2060", 0, ""),
    "controls": ("\x1b[31mThe\a dog\x85\v", 0, ""),
    "directions": ("\u202eThe \u2066dog", 0, ""),
    "a combining flood": ("dog" + "\u0301" * 15, 0, ""),
    "many tokens": ("dog" + "\u0301" * 300, 3, "at most 512 can be inspected"),
    "markup": ("<script>alert('x')</script> ]]> &amp; </style>", 0, ""),
    "noncharacters": ("\uffff\ufffe\U0010ffff", 0, ""),
    "emoji": ("👨‍👩‍👧 🇩🇪 🏴\U000e0067\U000e007f", 0, ""),
    "two lines": ("The dog\nThe cat\r\nx\u2028y", 0, ""),
}


def _inspected() -> list[Row]:
    rows = []
    for name, (text, code, message) in _TEXTS.items():
        for form in ("txt", "json", "html", "svg"):
            if form != "txt" and code:
                continue
            rows.append(
                Row(
                    name=f"inspect: {name}, {form}",
                    command=f"inspect {{MODEL}} --beam 1 -o out.{form}",
                    more=["--", text],
                    code=code,
                    message=message,
                    writes=f"out.{form}",
                )
            )
    return rows


ROWS = [*_good(), *_bad(), *_forms(), *_places(), *_inspected()]
