"""Makes the model folders and half-done runs that later versions must load, translate with and resume.

    PYTHONPATH=. python tests/saved/make.py tests/saved/0.2

Run it with the version whose format is to be kept, and commit what it writes: tests/saved/0.1 is from release
0.1, and tests/saved/0.2 has the formats that came after it. What is there is never made again. The text
comes from the embedded grammar. Each folder holds `expected.json`: translations with their scores and, for a
half-done run, where it ended when this version resumed it.
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


# Formats after 0.1: reserved pieces, an adapter, a shortlist, risk.json, int8, other special ids, marks.
NEWER = (*SMALL, "tokenizer.vocab_size=330", "tokenizer.placeholders=2", "tokenizer.byte_fallback=true")
NEWER_HALF_DONE = {"half-done": (*NEWER, "data.terms=0.3", "data.matches=0.3", "model.dropout=0.1")}
SEARCHES = {
    "greedy": {"beam": 1},
    "beam": {"beam": 3, "n_best": 2, "no_repeat_ngram": 2, "max_extra_tokens": 8},
}


# What a model of several languages also needs to translate.
LANGUAGES = {"several": {"source": "en", "to": "de"}}


def main() -> None:
    target = Path(sys.argv[1])
    text = target / "text"
    if target.name != "0.1":
        text = target.parent / "0.1/text"
        make_newer(target, text)
        make_several(target / "several", text)
        make_half_done(target, text, NEWER_HALF_DONE)
        return
    write_text(text)
    for name, options in MODELS.items():
        folder = fresh(target / name)
        run(folder, text, options)
        shutil.rmtree(folder / "checkpoints")
        write_expected(folder, text)
    make_half_done(target, text, HALF_DONE)


def make_half_done(target: Path, text: Path, runs: dict[str, tuple[str, ...]]) -> None:
    for name, options in runs.items():
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


def make_newer(target: Path, text: Path) -> None:
    """A model with all that may lie beside it; the same as int8; one from elsewhere; one with other ids."""
    from tests.interop.memorised import random_bundle

    from dragoman.evaluation.risk.calibrate import calibrate_folder
    from dragoman.interop.imports import import_model
    from dragoman.models.folder import bundle
    from dragoman.models.folder.quantisation import quantise_folder
    from dragoman.text.corpora.corpus import open_corpus
    from dragoman.text.tokenizers.tokenizer import Specials, Tokenizer, TokenizerConfig
    from dragoman.translation.folder.shortlist import make_shortlist
    from dragoman.translation.memory.store import TranslationMemory

    model, files = fresh(target / "transformer"), [text / "train.en", text / "train.de"]
    run(model, text, NEWER)
    shutil.rmtree(model / "checkpoints")
    pairs = [(line.source, line.target) for line in open_corpus(files)]
    make_shortlist(model, open_corpus(files), frequent=20, candidates=10)
    calibrate_folder(model, pairs)
    write_expected(model, text, SHORTLIST={"beam": 2, "shortlist": True}, RISK={"beam": 1, "risk": True})
    quantise_folder(model, fresh(target / "int8"))
    write_expected(target / "int8", text)

    tuned, adapter = fresh(target / "tuned"), fresh(target / "adapter")
    train(files, base=model, valid=[text / "valid.en", text / "valid.de"], output=tuned,
          overrides=("tuning.lora_rank=2", "tuning.interpolate=1", "training.max_updates=4",
                     "training.learning_rate=0.05", "training.warmup=1"))  # fmt: skip
    shutil.move(tuned / "adapter", adapter)
    shutil.rmtree(tuned)
    write_expected(model, text, into=adapter, adapter=adapter)

    memory = fresh(target / "memory") / "app.tm"
    memory.parent.mkdir()
    with TranslationMemory.create(memory, source_language="en", target_language="de") as store:
        for source, translation in pairs[:20]:
            store.add(source, translation, author="somebody", origin="app.po")
        expected = [store.match(pairs[0][0]), store.match(f"{pairs[1][0]} Yes.")]
    rows = [{"source": one.source, "target": one.target, "score": round(one.score, 3)} for one in expected]
    (memory.parent / "expected.json").write_text(
        json.dumps(rows, ensure_ascii=False, indent=1) + "\n", "utf-8"
    )

    import_model(str(Path(__file__).parents[1] / "interop/fixtures/hf-opus"), fresh(target / "imported"),
                 verified=False, source_language="en", target_language="de")  # fmt: skip
    write_expected(target / "imported", text)

    words = Tokenizer.train(pairs, TokenizerConfig(kind="words", vocab_size=200), seed=1)
    starts_with_padding = Specials(pad=0, start=0, end=words.specials.end, unknown=words.specials.unknown)
    cutter = Tokenizer(words.config, *words.vocabularies, specials=starts_with_padding)
    ids = {"pad_id": 0, "start_id": 0, "end_id": cutter.end_id}
    other = fresh(target / "other-ids")
    other.mkdir()
    bundle.save(random_bundle(cutter, **ids), other)
    write_expected(other, text)


def make_several(folder: Path, text: Path) -> None:
    """A model of two directions, with marks of languages."""
    corpus = '{name="a", train=["train.en","train.de"], valid=["valid.en","valid.de"], both=true}'
    options = (*TINY, *SMALL, *BYTES, f"data.corpora=[{corpus}]", "tokenizer.source_mark=true")
    train(output=fresh(folder), preset="tiny", data_root=text, overrides=options)
    shutil.rmtree(folder / "checkpoints")
    write_expected(folder, text)


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


def write_expected(
    folder: Path, text: Path, *, into: Path | None = None, adapter: Path | None = None, **more: object
) -> None:
    """Write expected.json. A name in capitals is another search, with its options."""
    translator = Translator.load(folder, device="cpu", adapter=adapter)
    lines = (text / "test.en").read_text(encoding="utf-8").splitlines()
    searches = {**SEARCHES, **{name.lower(): more.pop(name) for name in list(more) if name.isupper()}}
    own = LANGUAGES.get(folder.name, {})
    expected = {name: list(shown(translator, lines, **own, **one)) for name, one in searches.items()} | more
    path = (into or folder) / "expected.json"
    path.write_text(json.dumps(expected, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def shown(translator: Translator, lines: list[str], **options: object) -> Iterator[dict[str, object]]:
    for found in translator.translate(lines, **options):
        for one in (found, *found.alternatives):
            risk = {} if one.risk is None else {"risk": round(one.risk.probability, 4)}
            yield {"text": one.text, "score": round(one.score, 5), **risk}


def fresh(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    return folder


if __name__ == "__main__":
    main()
