"""Measure a model of NLLB-200's shape in int8: the peak of memory, and words a second, beside CTranslate2.

    python benchmarks/interop/multilingual.py FOLDER [--layers 12] [--width 1024] [--hidden 4096] [--heads 16]
        [--vocab 256206] [--sentences 64] [--beam 4] [--threads 1]

Writes a model folder with random weights into FOLDER, by default of the shape of NLLB-200 with 600 million
parameters, its matrices as int8, if the folder is not there yet; and the same model for CTranslate2, if that
is installed. Then each program translates the same sentences in a process of its own, 32 tokens each: random
weights seldom end a translation. Prints the peak of memory after loading and after translating, the seconds
to load, and words of the source a second. Writing for CTranslate2 takes three times the size in float32.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dragoman.base.tables import aligned

TOKENS = 32  # of a translation
LANGUAGES = ("eng_Latn", "deu_Latn")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    for name, default in (
        *(("layers", 12), ("width", 1024), ("hidden", 4096), ("heads", 16), ("vocab", 256_206)),
        *(("sentences", 64), ("beam", 4), ("threads", 1)),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(measured(RUNS[options.run], options)))
        return
    for name, make in (("dragoman", write_model), ("ctranslate2", export)):
        if not (options.folder / name).exists():
            make(options)
    rows = [["program", "after loading", "after translating", "seconds to load", "words a second"]]
    for name in RUNS:
        if not (options.folder / name).exists():
            print(f"{name} is not installed, so it is left out")
            continue
        command = [sys.executable, *sys.argv, "--run", name]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        figures = (f"{found[key]:,.0f} MB" for key in ("loaded", "peak"))
        rows.append([name, *figures, f"{found['load']:.1f}", f"{found['speed']:.1f}"])
    print("\n".join(aligned(rows, right=(1, 2, 3, 4))))


def write_model(options: Any) -> None:
    """Write a folder with random numbers, without a model in float32."""
    import torch

    from dragoman.interop.name_table import shapes_of
    from dragoman.models.folder.bundle import write_folder
    from dragoman.models.shapes import TransformerConfig
    from dragoman.translation.folder.config import FolderConfig
    from dragoman.translation.folder.quantised import SCALE, is_quantised

    shape = TransformerConfig(
        source_vocab=options.vocab, target_vocab=options.vocab, d_model=options.width, d_ff=options.hidden,
        heads=options.heads, encoder_layers=options.layers, decoder_layers=options.layers, norm="pre",
        positions="learned", attention_bias=True, pad_id=1, start_id=2, end_id=2,
    )  # fmt: skip
    torch.manual_seed(1)
    weights = {}
    for name, size in shapes_of(shape, 2 * options.layers, "").items():
        if is_quantised(name):
            weights[name] = torch.randint(-127, 128, size, dtype=torch.int8)
            weights[name + SCALE] = torch.full(size[:1], options.width**-0.5 / 73)
        else:
            weights[name] = torch.full(size, float("norm" in name and name.endswith("weight")))
    folder = options.folder / "dragoman"
    folder.mkdir(parents=True)
    config = FolderConfig(model=shape, source_language="mul", target_language="mul", quantised="int8")
    write_folder(config, tokenizer_of(options.vocab), weights, folder)


def tokenizer_of(size: int) -> Any:
    """NLLB's kind of tokenizer with that many ids, most of which no text is cut into."""
    import sentencepiece

    from dragoman.text.tokenizers.ids import Specials
    from dragoman.text.tokenizers.mapped import Mapped
    from dragoman.text.tokenizers.marks import mark
    from dragoman.text.tokenizers.tokenizer import Tokenizer, TokenizerConfig

    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(sentences(2000)), model_writer=writer, model_type="bpe", vocab_size=1000,
        hard_vocab_limit=False, normalization_rule_name="nmt_nfkc", minloglevel=2,
    )  # fmt: skip
    processor = sentencepiece.SentencePieceProcessor(model_proto=writer.getvalue())
    pieces = ["<s>", "<pad>", "</s>", "<unk>", *processor.id_to_piece(list(range(3, len(processor))))]
    pieces += [f"<piece {i}>" for i in range(len(pieces), size - len(LANGUAGES))] + [*map(mark, LANGUAGES)]
    specials = Specials(pad=1, start=2, end=2, unknown=3)
    vocabulary = Mapped(writer.getvalue(), pieces, specials)
    config = TokenizerConfig(kind="mapped", vocab_size=size, source_mark=True, target_mark="target")
    return Tokenizer(config, vocabulary, vocabulary, specials=specials)


def export(options: Any) -> None:
    """Write the model for CTranslate2, in a process of its own, because it takes much memory."""
    if importlib.util.find_spec("ctranslate2") is None:
        return
    code = (
        "from pathlib import Path; from dragoman.interop.ctranslate2.model import write; "
        "from dragoman.models.folder.bundle import load; "
        f"folder = Path({str(options.folder)!r}); "
        'write(load(folder / "dragoman"), folder / "ctranslate2", quantization="int8")'
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def sentences(count: int) -> list[str]:
    from dragoman.text.toy.corpus import pairs

    return [source for source, _ in pairs(seed=1, count=count)]


def measured(load: Callable[[Any], Callable[[list[str]], None]], options: Any) -> dict[str, float]:
    """The peak of memory in MB, the time to load, and the speed, of this process."""

    def peak() -> float:  # ru_maxrss would have the memory of the process that started this one
        status = Path("/proc/self/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) * 1024 / 1e6

    lines = sentences(options.sentences)
    begin = time.perf_counter()
    translate = load(options)
    loaded, begun = peak(), time.perf_counter()
    translate(lines)
    words = sum(len(line.split()) for line in lines)
    speed = words / (time.perf_counter() - begun)
    return {"loaded": loaded, "peak": peak(), "load": begun - begin, "speed": speed}


def with_dragoman(options: Any) -> Callable[[list[str]], None]:
    from dragoman.text.tokenizers.tokenizer import Tokenizer
    from dragoman.translation.folder.config import read_config
    from dragoman.translation.native.native import NativeEngine
    from dragoman.translation.native.weights import map_weights
    from dragoman.translation.search.engine import Request
    from dragoman.translation.search.options import Beam
    from dragoman.translation.search.rules import Prefix

    folder = options.folder / "dragoman"
    tokenizer, config = Tokenizer.load(folder), read_config(folder)
    engine = NativeEngine(
        config.model, map_weights(folder / "model.safetensors"), dtype="int8", threads=options.threads
    )
    how, start = Beam(size=options.beam), tokenizer.target_start(LANGUAGES[1])

    def translate(lines: list[str]) -> None:
        sources = tokenizer.encode_source([tokenizer.address(LANGUAGES[0], None) + line for line in lines])
        requests = [
            Request(source=one, how=how, max_tokens=TOKENS, rules=(Prefix(start),), unscored=1)
            for one in sources
        ]
        list(engine.search(requests))

    return translate


def with_ctranslate2(options: Any) -> Callable[[list[str]], None]:
    import ctranslate2

    from dragoman.text.tokenizers.tokenizer import Tokenizer

    tokenizer = Tokenizer.load(options.folder / "dragoman")
    translator = ctranslate2.Translator(
        str(options.folder / "ctranslate2"), compute_type="int8", intra_threads=options.threads
    )
    mark = tokenizer.target_pieces(tokenizer.target_start(LANGUAGES[1]))

    def translate(lines: list[str]) -> None:
        read = tokenizer.encode_source([tokenizer.address(LANGUAGES[0], None) + line for line in lines])
        translator.translate_batch(
            [tokenizer.source_pieces(one) for one in read], target_prefix=[mark] * len(lines),
            beam_size=options.beam, max_decoding_length=TOKENS, max_batch_size=2048, batch_type="tokens",
        )  # fmt: skip

    return translate


RUNS = {"dragoman": with_dragoman, "ctranslate2": with_ctranslate2}

if __name__ == "__main__":
    main()
