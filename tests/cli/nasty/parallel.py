"""Rows of the commands that read parallel text: train, evaluate, align, risk, data, score, memory."""

# ruff: noqa: E501 (a file of data: a row reads better on one line)

from __future__ import annotations

import gzip
from collections.abc import Mapping

from tests.cli.nasty.row import Content, Fifo, Folder, Row
from tests.cli.nasty.texts import BAD, letters

_DOG = b"The dog sleeps.\n"
_TRAIN = "train {files} -o out --preset tiny training.max_updates=1"
_COMMANDS = {
    "train": f"{_TRAIN} --source-language en --target-language de",
    "train without languages": _TRAIN,
    "evaluate": "evaluate {MODEL} {files} --bootstrap 0",
    "align": "align {MODEL} {files} -o out",
    "risk": "risk {MODEL} {files} -o out -q",
    "data clean": "data clean {files} -o out.tsv --workers 1 -q --source-language en --target-language de",
    "score": "score {files} --bootstrap 0",
    "data look": "data look {files} -o out -q",
    "data dedupe": "data dedupe {files} -o out.tsv -q --workers 1 --source-language en --target-language de",
    "data split": "data split {files} -o out -q --workers 1 --source-language en --target-language de",
    "data leak": "data leak {files} --test {files} -q --workers 1 --source-language en --target-language de",
    "memory import": "memory import out.tm {files} --source-language en --target-language de",
}
_EVERYWHERE = (
    "a NUL",
    "Latin-1",
    "UTF-16 with a mark",
    "half a surrogate pair",
    "gzip cut off",
    "a gzip bomb of letters",
    "a name that lies",
)


def _row(command: str, name: str, files: Mapping[str, Content], words: str = "", **more: object) -> Row:
    line = _COMMANDS[command].replace("{files}", words or " ".join(files))
    return Row(name=f"{command}: {name}", command=line, files=files, **more)  # type: ignore[arg-type]


def _two_files() -> list[Row]:
    rows = []
    for command in _COMMANDS:
        if command == "train without languages":
            continue
        for kind in _EVERYWHERE:
            bad = BAD[kind]
            files = {bad.file: bad.content, "ok": _DOG * 3000}
            rows.append(_row(command, kind, files, code=3, message=bad.message))
        rows += [
            _row(
                command,
                "the second side is longer",
                {"one": _DOG * 5, "two": _DOG * 7},
                code=3,
                message="one: 5 lines, but two has 7",
            )
            if command != "score"
            else _row(
                command,
                "the references are longer",
                {"one": _DOG * 5, "two": _DOG * 7},
                code=3,
                message="7 lines",
            ),
            _row(
                command,
                "the second side is empty",
                {"two": b"", "one": _DOG * 5},
                "one two",
                code=3,
                message="two: empty",
            )
            if command != "score"
            else _row(
                command, "no references", {"two": b"", "one": _DOG * 5}, "one two", code=3, message="two"
            ),
            _row(
                command,
                "the first side is missing",
                {"two": _DOG},
                "nowhere two",
                code=3,
                names="nowhere",
                message="nowhere: no such file",
            ),
            _row(
                command,
                "the second side is a folder",
                {"two": Folder(), "one": _DOG},
                "one two",
                code=3,
                message="two: a folder, not a file",
            ),
        ]
    return rows


_JSONL = {
    "not JSON": (b"dog\n", "bad.jsonl:1: not valid JSON"),
    "half an object": (b'{"source": "a", "target": "b"}\n{"source": "a"', "bad.jsonl:2: not valid JSON"),
    "single quotes": (b"{'source': 'a', 'target': 'b'}\n", "bad.jsonl:1: not valid JSON"),
    "a list": (b'["a", "b"]\n', "bad.jsonl:1: not a JSON object"),
    "a number": (b"17\n", "bad.jsonl:1: not a JSON object"),
    "null": (b"null\n", "bad.jsonl:1: not a JSON object"),
    "no keys": (b"{}\n", "bad.jsonl:1: which keys"),
    "other keys": (b'{"src": "a", "tgt": "b"}\n', "bad.jsonl:1: "),
    "no target": (b'{"source": "a"}\n', "bad.jsonl:1: "),
    "no target later": (b'{"source": "a", "target": "b"}\n{"source": "a"}\n', 'bad.jsonl:2: no "target"'),
    "a target of null": (b'{"source": "a", "target": null}\n', 'bad.jsonl:1: "target" is not text'),
    "a target that is a number": (b'{"source": "a", "target": 5}\n', 'bad.jsonl:1: "target" is not text'),
    "a target that is a list": (b'{"source": "a", "target": ["b"]}\n', 'bad.jsonl:1: "target" is not text'),
    "half a surrogate pair": (
        rb'{"source": "a \ud800", "target": "b"}',
        "bad.jsonl:1: half a surrogate pair",
    ),
    "the other half": (rb'{"source": "a", "target": "\udc00"}', "bad.jsonl:1: half a surrogate pair"),
    "an escaped NUL": (rb'{"source": "a\u0000b", "target": "b"}', "bad.jsonl:1: a NUL character"),
    "a key of half a pair": (rb'{"\ud800": "a", "target": "b"}', "bad.jsonl:1: which keys"),
    "deep lists": (b"[" * 100_000, "bad.jsonl:1: not valid JSON"),
    "deep objects": (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "bad.jsonl:1: not valid JSON"),
    "a number of 10,000 digits": (b'{"source": ' + b"9" * 10_000 + b"}", 'bad.jsonl:1: "source" is not text'),
    "NaN": (b'{"source": NaN, "target": "b"}', 'bad.jsonl:1: "source" is not text'),
    "three languages": (b'{"en": "a", "de": "b", "fr": "c"}', "bad.jsonl:1: which keys"),
    "two objects on a line": (
        b'{"source": "a", "target": "b"} {"source": "c"}',
        "bad.jsonl:1: not valid JSON",
    ),
    "a translation that is text": (b'{"translation": "a"}', "bad.jsonl:1: "),
    "an array over lines": (b'[\n{"source": "a", "target": "b"}\n]\n', "bad.jsonl:1: not valid JSON"),
    "a thousand keys": (
        b"{" + b", ".join(b'"key%d": "x"' % i for i in range(1000)) + b"}",
        "bad.jsonl:1: which keys",
    ),
    "a key of 100,000 letters": (b'{"' + b"k" * 100_000 + b'": "a", "x": "b"}', "bad.jsonl:1: which keys"),
}

_TSV = {
    "one column": (b"dog\n", "bad.tsv:1: 1 column, expected 2"),
    "three columns": (b"a\tb\tc\n", "bad.tsv:1: 3 columns, expected 2"),
    "three columns later": (b"a\tb\n\na\tb\tc\n", "bad.tsv:3: 3 columns, expected 2"),
    "a space": (b" \n", "bad.tsv:1: 1 column, expected 2"),
    "commas": (b"a,b\n", "bad.tsv:1: 1 column, expected 2"),
    "10,000 tabs": (b"\t" * 10_000 + b"\n", "bad.tsv:1: 10,001 columns, expected 2"),
    "nothing": (b"", "bad.tsv: empty"),
    "a line separator instead of a line feed": ("a\tb\u2028c\td\n".encode(), "bad.tsv:1: 3 columns"),
    "CR instead of LF": (b"a\tb\rc\td\r", "bad.tsv:1: 3 columns"),
    "a NUL": (b"a\tb\0\n", "bad.tsv:1: a NUL byte"),
}


def tmx(body: str, head: str = "") -> bytes:
    """A translation memory with this body."""
    return f'<?xml version="1.0"?>\n{head}<tmx version="1.4"><body>{body}</body></tmx>'.encode()


def unit(source: str, target: str) -> str:
    return (
        f'<tu><tuv xml:lang="en"><seg>{source}</seg></tuv><tuv xml:lang="de"><seg>{target}</seg></tuv></tu>\n'
    )


_LAUGHS = (
    "<!DOCTYPE tmx ["
    + '<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
    + "]>"
)
_TMX = {
    "a billion laughs": (tmx(unit("&j;", "b"), _LAUGHS), "bad.tmx:2: declares or uses an entity"),
    "one entity": (
        tmx(unit("&x;", "b"), '<!DOCTYPE tmx [<!ENTITY x "a">]>'),
        "bad.tmx:2: declares or uses an entity",
    ),
    "an entity of a file": (
        tmx(unit("&x;", "b"), '<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
        "bad.tmx:2: declares or uses an entity",
    ),
    "an entity nobody declared": (tmx(unit("&x;", "b")), "bad.tmx:2: "),
    "HTML": (b"<html><body>dog</body></html>", "bad.tmx:1: not a TMX file"),
    "no XML": (b"dog\n", "bad.tmx:1: not valid XML"),
    "nothing": (b"", "bad.tmx"),
    "cut off": (tmx(unit("a", "b"))[:-20], "not valid XML"),
    "tags that cross": (tmx("<tu><tuv></tu></tuv>"), "bad.tmx:2: not valid XML"),
    "no units": (tmx(""), "bad.tmx: "),
    "one language": (tmx('<tu><tuv xml:lang="en"><seg>a</seg></tuv></tu>'), "bad.tmx: "),
    "no languages": (tmx("<tu><tuv><seg>a</seg></tuv><tuv><seg>b</seg></tuv></tu>"), "bad.tmx: "),
    "a forbidden control": (tmx(unit("a\x01", "b")), "bad.tmx:2: not valid XML"),
    "a character reference to NUL": (tmx(unit("a&#0;", "b")), "bad.tmx:2: not valid XML"),
    "a reference to a surrogate": (tmx(unit("a&#xD800;", "b")), "bad.tmx:2: not valid XML"),
    "an unknown encoding": (b'<?xml version="1.0" encoding="x-klingon"?><tmx/>', "bad.tmx: "),
    "Latin-1 without a word": (tmx(unit("Muede", "b")).replace(b"ue", b"\xfc"), "bad.tmx:2: not valid XML"),
    "a unit of 5 million letters": (
        lambda: tmx(unit("a" * 5_000_000, "b")),
        "a unit of more than 4,194,304 characters",
    ),
    "a million open tags": (lambda: b"<tmx>" + b"<a>" * 300_000, "bad.tmx:1: not valid XML"),
    "an attribute of 5 million letters": (
        lambda: tmx(unit("a", "b").replace("<tu>", f'<tu x="{"a" * 5_000_000}">', 1)),
        "bad.tmx:2: a tag or a name of more than 4,194,304 bytes",
    ),
    "gzip cut off": (gzip.compress(tmx(unit("a", "b") * 500))[:-12], "bad.tmx: a damaged gzip file"),
    "a gzip bomb": (letters, "bad.tmx:1: a tag or a name of more than 4,194,304 bytes"),
}


def _one_file() -> list[Row]:
    rows = []
    for table, suffix in ((_JSONL, "jsonl"), (_TSV, "tsv"), (_TMX, "tmx")):
        for number, (name, (content, message)) in enumerate(table.items()):
            commands = ("train", "evaluate", "memory import", "align", "risk", "data clean", "data look")
            commands += ("data dedupe", "data split", "data leak")
            command = commands[number % len(commands)]
            if "which keys" in message:  # of a file whose languages nobody has named
                command = "train without languages"
            files = {f"bad.{suffix}": content}
            rows.append(_row(command, f"{suffix}: {name}", files, code=3, message=message))
    return rows


def _good() -> list[Row]:
    odd = "a\u2028b\tc\u0085d\v\fe\r\n\t\n\u202e\u200b\tx\u0301\U0001f98a\n".encode()
    escaped = rb'{"source": "a\nb\r\nc\u2028\ud83e\udd8a", "target": "\u202e\u0085\u000b"}' + b"\n"
    return [
        _row("align", "tsv: separators within", {"x.tsv": odd}, lines=3, form="lines", writes="out"),
        _row("risk", "tsv: separators within", {"x.tsv": odd}, lines=3, form="jsonl", writes="out"),
        _row("risk", "jsonl: escaped", {"x.jsonl": escaped}, lines=1, form="jsonl", writes="out"),
        _row("align", "jsonl: escaped", {"x.jsonl": escaped * 3}, lines=3, form="lines", writes="out"),
        _row("align", "jsonl: blank lines", {"x.jsonl": escaped + b"\n \n"}, lines=3, form="lines", writes="out"),
        _row("align", "gzip of tsv", {"x.tsv.gz": gzip.compress(odd)}, lines=3, form="lines", writes="out"),
        _row("align", "tmx: odd", {"x.tmx": tmx(unit("a &#x202e;&#x85;", "<b>&amp;</b>"))}, lines=1,
             form="lines", writes="out"),
        _row("data look", "tsv: separators within", {"x.tsv": odd}, writes="out"),
        _row("data look", "jsonl: escaped", {"x.jsonl": escaped}, writes="out"),
        _row("data look", "only empty lines", {"a": b"\n\n\n", "b": b"\n\n\n"}, code=3,
             message="a and b: only blank lines"),
        _row("data look", "a combining flood", {"a": ("d" + "\u0301" * 3000 + "\n").encode(), "b": _DOG},
             writes="out"),
        _row("data look", "one side alone", {"a.en": "x\u2028y\n\u0085\n".encode()}, writes="out"),
        _row("data look", "one side alone with a NUL", {"a.en": b"x\0y\n"}, code=3, message="a.en:1: a NUL byte"),
        _row("data look", "the output is an input", {"out": _DOG, "b": _DOG}, code=2, names="",
             message="input and output are the same file"),
        _row("memory import", "tsv: separators within", {"x.tsv": odd}, writes="out.tm"),
        _row("evaluate", "tsv: separators within", {"x.en-de.tsv": odd}),
        _row("score", "only empty lines", {"b": b"\n\n\n", "a": b"\n\n\n"}, "a b", code=3,
             message="b: only blank lines"),
        _row("score", "separators within", {"a": "x\u2028y\n\u0085\n".encode(), "b": b"x\ny\n"}),
        _row("score", "a combining flood", {"a": ("d" + "\u0301" * 3000 + "\n").encode(), "b": _DOG}),
        _row("train", "tsv: separators within", {"x.en-de.tsv": odd * 40}, writes="out",
             words="x.en-de.tsv tokenizer.vocab_size=300 model.d_model=16 model.heads=2 model.d_ff=32 "
             "data.filter.drop_duplicates=false training.batch_tokens=400"),
        _row("train", "only empty lines", {"a": b"\n\n\n", "b": b"\n\n\n"}, code=3, message="a"),
        _row("train", "only zero width", {"a": "\u200b\n".encode() * 9, "b": "\u200b\n".encode() * 9}, code=3,
             writes="out", form="partial", message="a and b: no usable pair"),
        _row("train", "one short pair", {"a": b"a\n", "b": b"b\n"}, writes="out"),
        _row("train", "one pipe for both", {"a": Fifo(b"x\n")}, "a", code=2, message="a: one text file holds"),
        _row("train", "the same file twice, empty", {"a": b""}, "a a", code=3, message="a: empty"),
        _row("train", "/dev/null", {}, "/dev/null /dev/null", code=3, message="/dev/null: empty"),
        _row("score", "a reference that is a pipe with a NUL", {"a": Fifo(b"\0\n"), "b": _DOG}, "b a",
             code=3, message="a:1: a NUL byte"),
    ]  # fmt: skip


ROWS = [*_two_files(), *_one_file(), *_good()]
