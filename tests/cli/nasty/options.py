"""Rows of options, recipes and model folders."""

# ruff: noqa: E501 (a file of data: a row reads better on one line)

from __future__ import annotations

from tests.cli.nasty.lines import DOG
from tests.cli.nasty.row import Content, Copied, Fifo, Folder, Locked, Row

# words after `translate {MODEL} ok`: part of the message
_TRANSLATE = {
    "--beem 4": "no such option",
    "--beam": "requires an argument",
    "--beam four": "'four' is not a valid int",
    "--beam 4.5": "'4.5' is not a valid int",
    "--beam 0": "--beam 0",
    "--beam -1": "--beam -1",
    "--beam ٤x": "is not a valid int",
    "--n-best 0": "--n-best 0",
    "--n-best 5 --beam 2": "n_best",
    "--length-penalty nan": "nan",
    "--length-penalty inf": "inf",
    "--length-penalty x": "'x' is not a valid float",
    "--stop never": "never",
    "--quality worst": "worst",
    "--mbr ter": "ter",
    "--candidates 4": "candidates",
    "--sample --temperature 0": "temperature",
    "--sample --temperature nan": "temperature",
    "--sample --top-p 2": "--top-p 2",
    "--sample --top-p 0": "--top-p 0",
    "--sample --top-k -5": "--top-k -5",
    "--sample --seed -1": "seed",
    "--sample --beam 4": "sampling cannot have",
    "--temperature 0.5": "--temperature without --sample",
    "--seed 1": "--seed without --sample",
    "--min-length -1": "--min-length -1",
    "--no-repeat-ngram -1": "--no-repeat-ngram -1",
    "--max-extra -1": "--max-extra -1",
    "--batch-tokens 0": "--batch-tokens 0",
    "--batch-tokens x": "'x' is not a valid int",
    "--dtype float16": "float16",
    "--dtype int4": "int4",
    "--attention 1.1": "--attention without --jsonl",
    "--jsonl --attention 9.9": "9.9",
    "--jsonl --attention 0": "0",
    "--jsonl --attention x": "x",
    "--risk": "--risk without --jsonl",
    "--prefix a --prefix-file ok": "--prefix together with --prefix-file",
    "--to klingon": "klingon",
    "--to": "requires an argument",
    "--format pdf": "unknown format 'pdf'",
    "--retranslate": "--retranslate is for documents, not for lines of text",
    "--report x": "--report is for documents, not for lines of text",
    "--protect --jsonl": "--jsonl is for lines of text, not for lines with --protect",
    "--scores --scores=yes": "scores",
    "--quiet=maybe": "quiet",
    "--terms-mode soft": "terms",
    "-z": "no such option",
    "---": "no such option",
}

_RECIPES: dict[str, tuple[Content, str]] = {
    "no TOML": (b"dog", "r.toml"),
    "half a table": (b"[model\n", "r.toml"),
    "a key twice": (b"seed = 1\nseed = 2\n", "r.toml"),
    "a section twice": (b"[model]\nheads = 1\n[model]\nheads = 2\n", "r.toml"),
    "an unknown key": (b"[model]\nhead = 2\n", "model.heads?"),
    "an unknown section": (b"[modle]\nheads = 2\n", "model"),
    "a section that is a number": (b"model = 5\n", "model"),
    "text for a number": (b'[model]\nheads = "two"\n', "model.heads"),
    "a number for text": (b"title = 5\n", "title"),
    "true for a number": (b"[model]\nheads = true\n", "model.heads"),
    "a list for a number": (b"[model]\nheads = [2]\n", "model.heads"),
    "a date for a number": (b"[model]\nheads = 2020-01-01\n", "model.heads"),
    "NaN": (b"[training]\nlearning_rate = nan\n", "learning_rate"),
    "infinity": (b"[training]\nlearning_rate = inf\n", "learning_rate"),
    "a negative number": (b"[model]\nencoder_layers = -1\n", "encoder_layers"),
    "not UTF-8": (b'title = "M\xfcde"\n', "r.toml"),
    "UTF-16": ('title = "x"\n'.encode("utf-16"), "r.toml"),
    "a NUL": (b'title = "a\0b"\n', "r.toml"),
    "half a surrogate pair": (b'title = "\\ud800"\n', "r.toml"),
    "an unknown architecture": (b'[model]\narchitecture = "mamba"\n', "architecture"),
    "heads that do not divide": (b"[model]\nd_model = 100\nheads = 7\n", "heads"),
    "an unknown preset": (b'preset = "huge"\n', "preset"),
    "a folder": (Folder(), "r.toml"),
}

# overrides of `train ok ok -o out`: part of the message
_OVERRIDES = {
    "model.heads=": "model.heads",
    "model.heads=two": "model.heads",
    "model.heads=0": "model.heads",
    "model.heads=1e3": "model.heads",
    "model=5": "model",
    "=5": "",
    "heads=5": "heads",
    "model.heads.x=5": "model.heads",
    "model..heads=5": "",
    "training.batch_tokens=0": "batch_tokens",
    "training.warmup=-1": "warmup",
    "training.learning_rate=nan": "learning_rate",
    "training.dropout=2": "dropout",
    "model.dropout=1.5": "dropout",
    "tokenizer.kind=bqe": "bpe",
    "tokenizer.vocab_size=abc": "vocab_size",
    "data.filter.max_ratio=nan": "max_ratio",
    "seed=-1": "seed",
    "seed=x": "seed",
    "\u202eseed=1": "",
    "training.schedule=linaer": "schedule",
}

# files of a model folder: name, content, part of the message
_MODELS: list[tuple[str, str, bytes | None]] = [
    ("no configuration", "config.json", None),
    ("an empty configuration", "config.json", b""),
    ("a configuration of zeros", "config.json", bytes(100)),
    ("a configuration of a list", "config.json", b"[]"),
    ("a configuration of text", "config.json", b'"x"'),
    ("a deep configuration", "config.json", b"[" * 100_000),
    ("a configuration that is not UTF-8", "config.json", b'{"a": "\xff"}'),
    ("a configuration of a large number", "config.json", b'{"format_version": ' + b"9" * 5000 + b"}"),
    ("no tokenizer", "tokenizer.json", None),
    ("a tokenizer of a list", "tokenizer.json", b"[]"),
    ("a deep tokenizer", "tokenizer.json", b'{"a":' * 50_000),
    ("no subwords", "tokenizer.spm", None),
    ("empty subwords", "tokenizer.spm", b""),
    ("subwords of noise", "tokenizer.spm", bytes(range(256)) * 8),
    ("no weights", "model.safetensors", None),
    ("empty weights", "model.safetensors", b""),
    ("weights of zeros", "model.safetensors", bytes(4096)),
    ("weights with a header of 2^63 bytes", "model.safetensors", b"\xff" * 7 + b"\x7f" + b"{}"),
    ("weights with a deep header", "model.safetensors", (100_000).to_bytes(8, "little") + b"[" * 100_000),
    ("weights that are a pickle", "model.safetensors", b"\x80\x04cos\nsystem\n(S'true'\ntR."),
    ("a generation of a list", "generation.json", b"[]"),
    ("a generation of text", "generation.json", b'{"beam": "four"}'),
]


def _rows() -> list[Row]:
    rows = [
        Row(
            name=f"translate {words}",
            command=f"translate {{MODEL}} ok {words}",
            files={"ok": DOG},
            code=2,
            message=message,
        )
        for words, message in _TRANSLATE.items()
    ]
    for name, (content, message) in _RECIPES.items():
        for command in ("train --recipe r.toml -o out", "config --recipe r.toml"):
            rows.append(
                Row(
                    name=f"{command.split()[0]} --recipe: {name}",
                    command=command,
                    files={"r.toml": content},
                    code=2,
                    message=message,
                )
            )
    rows += [
        Row(
            name=f"train {word!r}",
            command="train a.en a.de -o out",
            more=[word],
            files={"a.en": DOG, "a.de": DOG},
            code=2,
            message=message,
        )
        for word, message in _OVERRIDES.items()
    ]
    for number, (name, file, content) in enumerate(_MODELS):
        command = ("translate bad ok", "model verify bad")[number % 2]
        rows.append(
            Row(
                name=f"{' '.join(command.split()[: 2 - command.startswith('t')])}: {name}",
                command=command,
                files={"bad": Copied({file: content}), "ok": DOG},
                code=4,
                message=file,
                form="report" if "verify" in command else "any",
            )
        )
    return rows


def _others() -> list[Row]:
    return [
        Row(name="a misspelt command", command="tranlate x", code=2, message="did you mean translate?"),
        Row(name="an unknown command", command="sing", code=2, message="sing"),
        Row(name="a command of surrogates", command="", more=["\udcff"], code=2, message="error: "),
        Row(name="no model", command="translate", code=2, message="missing argument"),
        Row(name="a model that is a file", command="translate ok", files={"ok": DOG}, code=4, message="ok"),
        Row(name="a model that is a pipe", command="translate ok", files={"ok": Fifo(b"")}, code=4, message="ok"),
        Row(name="an empty folder as a model", command="model info bad", files={"bad": Folder()}, code=4,
            message="bad"),
        Row(name="a model of surrogates", command="translate", more=["nowhere\udcff"], code=4, message="nowhere",
            outside=True),
        Row(name="an empty name of a model", command="translate", more=["", "ok"], files={"ok": DOG}, code=4,
            names="", message="error: "),
        Row(name="a model without permission", command="model info bad", files={"bad": Locked(None)}, code=2,
            message="Path 'bad' is not readable"),
        Row(name="config: an unknown option", command="config model.head", code=2, message="model.heads"),
        Row(name="config: an unknown preset", command="config --preset tinny", code=2, message="tiny"),
        Row(name="config: a missing recipe", command="config --recipe no.toml", code=2, message="no.toml"),
        Row(name="train: three files", command="train a b c -o out", code=2, message="3 files: a, b, c"),
        Row(name="train: no output", command="train a b", code=2, message="no folder to write to"),
        Row(name="train: the output is a file", command="train ok.en ok.de -o bad training.max_updates=1",
            files={"bad": DOG, "ok.en": DOG, "ok.de": DOG}, code=1, message="bad"),
        Row(name="train: tune what is no model", command="train ok.en ok.de -o out --from bad",
            files={"bad": DOG, "ok.en": DOG, "ok.de": DOG}, code=4, message="bad"),
        Row(name="score: bootstrap of minus one", command="score ok ok --bootstrap -1", files={"ok": DOG}, code=2,
            message="bootstrap"),
        Row(name="score: an unknown test", command="score ok ok --against o2 --test xx",
            files={"ok": DOG, "o2": DOG}, code=2, message="xx"),
        Row(name="evaluate: min-bleu of text", command="evaluate {MODEL} ok ok --min-bleu high",
            files={"ok": DOG}, code=2, message="'high' is not a valid float"),
        Row(name="evaluate: min-bleu of NaN", command="evaluate {MODEL} ok ok --min-bleu nan",
            files={"ok": DOG}, code=2, message="nan"),
        Row(name="evaluate: unknown types", command="evaluate {MODEL} ok ok --dtype int4,float8",
            files={"ok": DOG}, code=2, message="int4"),
        Row(name="import: a file of noise", command="import bad.zip -o out", files={"bad.zip": bytes(range(256))},
            code=4, message="bad.zip"),
        Row(name="import: an empty folder", command="import bad -o out", files={"bad": Folder()}, code=4,
            message="bad"),
        Row(name="import: a zip file that climbs", command="import bad.tar -o out",
            files={"bad.tar": b"../../evil" + bytes(502) + bytes(1024)}, code=4, message="bad.tar"),
        Row(name="export: an unknown format", command="export {MODEL} --to tensorflow -o out", code=2,
            message="tensorflow"),
        Row(name="export: over a file", command="export {MODEL} --to huggingface -o bad", files={"bad": DOG},
            code=2, message="bad: exists already"),
        Row(name="align: gold that is no alignment", command="align {MODEL} ok ok2 --gold bad",
            files={"bad": b"0-x\n", "ok": DOG, "ok2": DOG}, code=3, message="bad:1: "),
        Row(name="align: gold of a huge number", command="align {MODEL} ok ok2 --gold bad",
            files={"bad": b"0-" + b"9" * 5000 + b"\n", "ok": DOG, "ok2": DOG}, code=3, message="bad"),
        Row(name="align: gold of other length", command="align {MODEL} ok ok2 --gold bad",
            files={"bad": b"0-0\n0-0\n", "ok": DOG, "ok2": DOG}, code=3, names="", message="more gold alignments"),
        Row(name="model average: one model", command="model average bad -o out", files={"bad": Folder()}, code=2,
            names="", message="error: "),
        Row(name="model diff: a text", command="model diff {MODEL} ok", files={"ok": DOG}, code=4, message="ok"),
    ]  # fmt: skip


ROWS = [*_rows(), *_others()]
