"""Rows of `back-translate` and `data clean --score`. The rows of all parallel text are in `parallel.py`."""

from __future__ import annotations

from tests.cli.nasty.lines import ALL, DOG
from tests.cli.nasty.row import Copied, Fifo, Folder, Link, Locked, Row
from tests.cli.nasty.texts import BAD

_QUICK = "--beam 1 --max-extra 0"
_PAIR = b"The dog sleeps.\tDer Hund.\n"

# words after `back-translate {MODEL} ok`: part of the message
_BACK = {
    "--how": "requires an argument",
    "--how magic": "--how magic",
    "--how beam,noise": "--how beam,noise",
    "--per-line 0": "--per-line 0",
    "--per-line -1": "--per-line -1",
    "--per-line 1.5": "is not a valid int",
    "--per-line 99999999": "n_best",
    "--per-line 2 --how greedy": "--per-line with --how greedy",
    "--how noise --seed -1": "--seed -1",
    "--seed 3": "--seed has no effect with --how beam",
    "--seed x": "is not a valid int",
    "--temperature 2": "--temperature has no effect",
    "--top-k 3 --how noise": "--top-k has no effect",
    "--how sample --temperature 0": "temperature",
    "--how sample --temperature nan": "temperature",
    "--how sample --top-p 2": "--top-p 2",
    "--how sample --top-k -1": "--top-k -1",
    "--how sample --beam 4": "--beam has no effect",
    "--beam 0": "--beam 0",
    "--beam 100000": "beam",
    "--max-length 0": "--max-length 0",
    "--max-extra -1": "--max-extra -1",
    "--to klingon": "klingon",
    "--dtype float16": "float16",
    "--average median": "--average median",
    "-o out.gz": "not compressed",
    "-o out.txt": "tab-separated",
    "-o out": "tab-separated",
    "-o .tsv": "tab-separated",
    "-o out.en-de.tsv": "but its pairs are from de to en",
}

# words after `data clean x.tsv --score {MODEL}`: part of the message
_FILTER = {
    "": "text and an output are needed",
    "-o out.tsv": "--by dual without --reverse",
    "-o out.tsv --by magic": "--by magic",
    "--by round-trip -o out.tsv": "which pairs to keep",
    "--by round-trip -o out.tsv --keep 0": "--keep 0",
    "--by round-trip -o out.tsv --keep -1": "--keep -1",
    "--by round-trip -o out.tsv --keep 50": "--keep 50",
    "--by round-trip -o out.tsv --keep nan": "--keep nan",
    "--by round-trip -o out.tsv --keep inf": "--keep inf",
    "--by round-trip -o out.tsv --keep half": "is not a valid float",
    "--by round-trip -o out.tsv --least nan": "--least nan",
    "--by round-trip -o out.tsv --least 2": "--least 2",
    "--by round-trip -o out.tsv --keep 1 --max-length 0": "--max-length 0",
    "--by round-trip -o out.tsv --keep 1 --batch-tokens 0": "--batch-tokens 0",
    "--by round-trip -o x.tsv --keep 1": "input and output are the same file",
    "--by round-trip -o out.tsv --keep 1 --scores x.tsv": "input and output are the same file",
    "--by round-trip -o out.tsv --scores out.tsv --keep 1": "the same file",
    "--by round-trip -o out.tsv.gz --keep 1": "pairs are written as",
    "--by round-trip -o out.de-en.tsv --keep 1": "but its pairs are from en to de",
    "--by round-trip -o out.tsv --keep 1 --reverse {MODEL}": "--reverse has no effect",
    "-o out.tsv --keep 1 --reverse {MODEL}": "the reverse model translates from en to de",
}


def _back() -> list[Row]:
    rows = [
        Row(
            name=f"back-translate: {name}",
            command=f"back-translate {{MODEL}} {text.file} -o out.tsv {_QUICK}",
            files={text.file: text.content},
            code=3,
            message=text.message,
            outside=name == "a gzip bomb of zeros",
        )
        for name, text in BAD.items()
    ]
    rows += [
        Row(
            name=f"back-translate {words}",
            command=f"back-translate {{MODEL}} ok {words}",
            files={"ok": DOG},
            code=2,
            message=message,
        )
        for words, message in _BACK.items()
    ]
    # The model of these tests hardly ever ends a translation by itself, so that no pair is of use.
    rows += [
        Row(
            name=f"back-translate: every line, {words}",
            command=f"back-translate {{MODEL}} all -o out.tsv --max-extra 0 {words}",
            files={"all": ALL},
            code=3,
            message="all: no usable pair",
        )
        for words in ("--beam 1", "--how greedy", "--how noise --beam 1")
    ]
    return [
        *rows,
        Row(
            name="back-translate: every line, with the shortlist",
            command="back-translate {MODEL} all -o out.tsv --max-extra 0 --shortlist --beam 2",
            files={"all": ALL},
            writes="out.tsv",
        ),
        Row(
            name="back-translate: nothing",
            command="back-translate {MODEL} bad",
            files={"bad": b""},
            code=3,
            message="bad: no usable pair",
        ),
        Row(
            name="back-translate: nothing on standard input",
            command="back-translate {MODEL}",
            code=3,
            message="-: no usable pair",
        ),
        Row(
            name="back-translate: a missing file",
            command="back-translate {MODEL} nowhere",
            code=3,
            message="nowhere: no such file",
        ),
        Row(
            name="back-translate: a pattern without files",
            command="back-translate {MODEL} 'no*where'",
            code=3,
            message="no*where: no file matches",
        ),
        Row(
            name="back-translate: a folder",
            command="back-translate {MODEL} in",
            files={"in": Folder()},
            code=3,
            message="in: a folder, not a file",
        ),
        Row(
            name="back-translate: text of the other language",
            command="back-translate {MODEL} bad.de",
            files={"bad.de": DOG},
            code=2,
            message="bad.de: text in de by its name",
        ),
        Row(
            name="back-translate: pairs",
            command="back-translate {MODEL} bad.tsv",
            files={"bad.tsv": _PAIR},
            code=2,
            message="a file of pairs",
        ),
        Row(
            name="back-translate: a pipe",
            command=f"back-translate {{MODEL}} bad {_QUICK}",
            files={"bad": Fifo(b"dog \0\n")},
            code=3,
            message="bad:1: a NUL byte",
        ),
        Row(
            name="back-translate: a link in a circle",
            command="back-translate {MODEL} bad",
            files={"bad": Link("bad")},
            code=3,
            message="bad: ",
        ),
        Row(
            name="back-translate: a locked file",
            command="back-translate {MODEL} bad",
            files={"bad": Locked(DOG)},
            code=3,
            message="bad: cannot be read",
        ),
        Row(
            name="back-translate: an output that is a folder",
            command=f"back-translate {{MODEL}} ok -o in.tsv {_QUICK}",
            files={"in.tsv": Folder(), "ok": DOG},
            code=1,
            message="in.tsv: cannot be written",
        ),
        Row(
            name="back-translate: no model",
            command="back-translate nowhere ok",
            files={"ok": DOG},
            code=4,
            names="nowhere",
            message="nowhere",
        ),
        Row(
            name="back-translate: a second model that is damaged",
            command="back-translate {MODEL} bad ok",
            files={"bad": Copied({"model.safetensors": b""}), "ok": DOG},
            code=4,
            message="bad",
        ),
    ]


def _filter() -> list[Row]:
    rows = [
        Row(
            name=f"data clean {words}",
            command=f"data clean x.tsv --score {{MODEL}} {words}",
            files={"x.tsv": _PAIR},
            code=2,
            message=message,
        )
        for words, message in _FILTER.items()
    ]
    pairs = b"".join(line.replace(b"\t", b" ") + b"\tDer Hund.\n" for line in ALL.split(b"\n"))
    return [
        *rows,
        Row(
            name="data clean: every line",
            command="data clean x.tsv -o out.tsv --report r.jsonl --workers 1",
            files={"x.tsv": pairs},
            writes="out.tsv",
        ),
        Row(
            name="data clean: every line, a least score",
            command="data clean x.tsv --score {MODEL} --by round-trip --least 0 -o out.tsv --max-length 40",
            files={"x.tsv": pairs},
            writes="out.tsv",
        ),
        Row(
            name="data clean: only empty pairs",
            command="data clean x.tsv --score {MODEL} --by round-trip --keep 1 -o out.tsv",
            files={"x.tsv": b"\t\n\t\n"},
            code=3,
            message="x.tsv: no usable pair",
        ),
        Row(
            name="data clean: scores in a file of other things",
            command="data clean x.tsv --score {MODEL} --by round-trip --scores notes --least 0 -o out.tsv",
            files={"x.tsv": _PAIR, "notes": b"milk\n"},
            code=2,
            message="notes: exists, but does not hold scores",
        ),
        Row(
            name="data clean: scores in a file of bytes",
            command="data clean x.tsv --score {MODEL} --by round-trip --scores notes --least 0 -o out.tsv",
            files={"x.tsv": _PAIR, "notes": b"\xff" * 100_000},
            code=2,
            message="notes: exists, but does not hold scores",
        ),
        Row(
            name="data clean: scores of a number",
            command="data clean x.tsv --score {MODEL} --by round-trip --scores notes --least 0 -o out.tsv",
            files={"x.tsv": _PAIR, "notes": b"# 17\n"},
            code=2,
            message="notes: exists, but does not hold scores",
        ),
        Row(
            name="data clean: scores in a folder",
            command="data clean x.tsv --score {MODEL} --by round-trip --scores in --least 0 -o out.tsv",
            files={"x.tsv": _PAIR, "in": Folder()},
            code=1,
            message="in: cannot be written",
            names="in",
        ),
        Row(
            name="data clean: no reverse model",
            command="data clean x.tsv --score {MODEL} --reverse nowhere --keep 1 -o out.tsv",
            files={"x.tsv": _PAIR},
            code=4,
            message="nowhere: no such model folder",
            names="nowhere",
        ),
    ]


ROWS = [*_back(), *_filter()]
