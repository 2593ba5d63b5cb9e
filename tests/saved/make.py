"""Makes the model folders and half-done runs that later versions must load, translate with and resume.

    python tests/saved/make.py tests/saved/0.1

Run it with the version whose format is to be kept, and commit what it writes. The text comes from the
embedded grammar. Each folder holds `expected.json`: translations with their scores and, for a half-done
run, where it ended when this version resumed it.
"""

from __future__ import annotations

import json
import shutil
import signal
import sys
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from dragoman import Translator, train
from dragoman.base.errors import Interrupted

TINY = ("model.d_model=16", "training.max_updates=24", "training.validate_every=8", "training.average=2",
        "training.batch_tokens=256", "training.precision=fp32", "training.log_every=4")  # fmt: skip
BYTES = ("tokenizer.vocab_size=330",)
SMALL = ("model.d_ff=32", "model.heads=2", "model.encoder_layers=2", "model.decoder_layers=2")
MODELS = {
    "transformer": (*SMALL, *BYTES),
    "window": (*SMALL, "tokenizer.kind=words", "tokenizer.vocab_size=200", "tokenizer.shared=false",
               "model.tie=none", "model.window=4", "model.positions=relative", "model.activation=swiglu",
               "model.attention_bias=true", "model.output_bias=true"),
    "recurrent": ("tokenizer.kind=words", "tokenizer.vocab_size=200", "model.architecture=recurrent",
                  "model.cell=lstm", "model.attention=dot"),
    "convolutional": ("tokenizer.kind=characters", "tokenizer.vocab_size=320",
                      "model.architecture=convolutional", "model.encoder_layers=2", "model.decoder_layers=2"),
}  # fmt: skip
HALF_DONE = {
    "half-done": (*SMALL, *BYTES, "training.optimizer=muon",
                  "training.consistency=2.0", "training.accumulate=2", "model.dropout=0.1"),
    "half-done-recurrent": (*MODELS["recurrent"], "training.stop_on=bleu", "training.average_of=best"),
}  # fmt: skip


def main() -> None:
    target = Path(sys.argv[1])
    text = target / "text"
    write_text(text)
    for name, options in MODELS.items():
        folder = fresh(target / name)
        run(folder, text, options)
        shutil.rmtree(folder / "checkpoints")
        write_expected(folder, text)
    for name, options in HALF_DONE.items():
        whole, half = fresh(target / "whole"), fresh(target / name)
        run(whole, text, options)
        asked = count(1)
        try:
            run(half, text, options, stop=lambda asked=asked: signal.SIGTERM if next(asked) == 13 else 0)
        except Interrupted as stopped:
            print(stopped)
        last = [json.loads(line) for line in (whole / "metrics.jsonl").read_text().splitlines()]
        write_expected(
            whole, text, into=half,
            losses=[line["loss"] for line in last if line["kind"] == "train"],
            validations=[line["loss"] for line in last if line["kind"] == "valid"],
        )  # fmt: skip
        shutil.rmtree(whole)


def write_text(text: Path) -> None:
    from dragoman.text import toy

    text.mkdir(parents=True)
    pairs = toy.splits(train=1000, valid=20, test=8)
    for part in ("train", "valid", "test"):
        for side, language in enumerate(("en", "de")):
            lines = "".join(f"{pair[side]}\n" for pair in getattr(pairs, part)[:300])
            (text / f"{part}.{language}").write_text(lines, encoding="utf-8")


def run(folder: Path, text: Path, options: tuple[str, ...], **more: object) -> Translator:
    return train(
        [text / "train.en", text / "train.de"],
        valid=[text / "valid.en", text / "valid.de"],
        output=folder,
        preset="tiny",
        overrides=(*TINY, *options),
        **more,
    )


def write_expected(folder: Path, text: Path, *, into: Path | None = None, **more: object) -> None:
    translator = Translator.load(folder, device="cpu")
    lines = (text / "test.en").read_text(encoding="utf-8").splitlines()
    expected = {
        "greedy": list(shown(translator, lines, beam=1)),
        "beam": list(shown(translator, lines, beam=3, n_best=2, no_repeat_ngram=2, max_extra_tokens=8)),
        **more,
    }
    path = (into or folder) / "expected.json"
    path.write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def shown(translator: Translator, lines: list[str], **options: object) -> Iterator[dict[str, object]]:
    for found in translator.translate(lines, **options):
        for one in (found, *found.alternatives):
            yield {"text": one.text, "score": round(one.score, 5)}


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


if __name__ == "__main__":
    main()
