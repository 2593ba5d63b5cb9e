"""Measure adapters in the native engine: files, memory, loading, and the speed of translation.

    python benchmarks/engine/adapters.py [--width 512] [--layers 6] [--vocab 16000] [--rank 16]

Makes a Transformer with random weights and three adapters on all of its layers. Loads it in a separate
process with 0, 1 and 3 adapters, in each number type. Prints the memory that each adapter adds, the seconds
to load it, and the time of a sentence: with the model, with an adapter, and with all adapters translating at
once in threads. All times are CPU time; sentence times are the minimum of `--rounds`.

Then it prints the cost of the alternative without merging: the two narrow products of an adapter, in float32,
as a share of the time of each product of the model. The engine merges adapters instead, because with int8
this share is far above a tenth.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import multiprocessing
import random
import tempfile
import threading
import time
from ctypes import c_char_p, c_double, c_int, c_int64, c_void_p
from pathlib import Path
from typing import Any

from dragoman.base.tables import aligned
from dragoman.models.shapes import TransformerConfig
from dragoman.translation.native.build import library
from dragoman.translation.native.library import TYPES
from dragoman.translation.native.native import NativeEngine
from dragoman.translation.native.weights import map_weights
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam

LOADED = (0, 1, 3)  # adapters
ROWS = 20  # of a step: four sentences with a beam of 5
ALPHA = 1e-3  # so small that all translations have the length of the model's
LENGTH = 25  # tokens of a source


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--vocab", type=int, default=16_000)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--sentences", type=int, default=16)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    config = TransformerConfig(
        source_vocab=options.vocab, target_vocab=options.vocab, d_model=options.width,
        d_ff=4 * options.width, heads=options.width // 64, encoder_layers=options.layers,
        decoder_layers=options.layers,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        apart(make, config, options.rank, folder)
        for path in sorted(folder.iterdir()):
            print(f"{path.name}: {path.stat().st_size / 1e6:,.1f} MB")
        rows = [
            ["type", "adapters", "MB", "MB each", "load s", "each s", "ms/sentence", "adapted", "at once"]
        ]
        for dtype in TYPES:
            cases = [apart(measure, config, dtype, count, folder, options) for count in LOADED]
            for count, case in zip(LOADED, cases, strict=True):
                each = f"{(case['memory'] - cases[0]['memory']) / count:,.1f}" if count else ""
                rows.append([dtype, str(count), f"{case['memory']:,.1f}", each, *case["cells"]])
    print("\n" + "\n".join(aligned(rows, right=range(1, len(rows[0])))))
    print("\nlow-rank products beside the model's, in float32:")
    for dtype in TYPES:
        print(f"  {dtype}: +{beside(config, dtype, options.rank):.0%}")


def apart(function: Any, *arguments: Any) -> Any:
    """Call a function in a new process, so that memory is its own and torch stays out."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return json.loads(pool.apply(answer, (function, *arguments)))


def answer(function: Any, *arguments: Any) -> str:
    return json.dumps(function(*arguments))


def make(config: TransformerConfig, rank: int, folder: Path) -> None:
    import torch

    from dragoman.models.folder.weights import weights_of, write_weights
    from dragoman.models.lora import add_lora, lora_weights
    from dragoman.models.seq2seq import build_model

    torch.manual_seed(1)
    model = build_model(config)
    write_weights(folder / "model.safetensors", weights_of(model))
    add_lora(model, rank=rank, alpha=ALPHA)
    for number in range(max(LOADED)):
        weights = {name: torch.randn_like(weight) for name, weight in lora_weights(model).items()}
        write_weights(folder / f"adapter-{number}.safetensors", weights)


def measure(
    config: TransformerConfig, dtype: str, count: int, folder: Path, options: argparse.Namespace
) -> dict[str, Any]:
    """Memory in MB with `count` adapters, and the cells of its times."""
    draw = random.Random(1)
    requests = [
        Request(
            source=[draw.randrange(3, options.vocab) for _ in range(LENGTH)],
            how=Beam(size=5, banned=(config.end_id,)),
            max_tokens=LENGTH,
        )
        for _ in range(options.sentences)
    ]
    base, seconds = clocked(lambda: NativeEngine(
        config, map_weights(folder / "model.safetensors"), dtype=dtype, threads=options.threads
    ))  # fmt: skip
    engines, adapting = [base], 0.0
    for number in range(count):
        weights = map_weights(folder / f"adapter-{number}.safetensors")
        engine, added = clocked(lambda w=weights: base.adapted(w, ALPHA / options.rank))
        engines.append(engine)
        adapting += added
    memory = resident()
    milliseconds = [1e3 * translating([one], requests, options.rounds) for one in (base, engines[-1])]
    together = 1e3 * translating(engines[1:], requests, options.rounds) if count else 0.0
    cells = [
        f"{seconds:.2f}", f"{adapting / count:.2f}" if count else "", f"{milliseconds[0]:.1f}",
        f"{milliseconds[1]:.1f}" if count else "", f"{together:.1f}" if count else "",
    ]  # fmt: skip
    return {"memory": memory, "cells": cells}


def clocked(make_: Any) -> tuple[Any, float]:
    began = time.process_time()
    return make_(), time.process_time() - began


def resident() -> float:
    """Memory of this process in MB, without pages that are only mapped from files."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1e3


def translating(engines: list[NativeEngine], requests: list[Request], rounds: int) -> float:
    """Seconds of CPU time for a sentence, all engines at once."""
    times = []
    for _ in range(rounds):
        began = time.process_time()
        threads = [threading.Thread(target=lambda e=one: list(e.search(requests))) for one in engines]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        times.append((time.process_time() - began) / len(requests) / len(engines))
    return min(times)


def beside(config: TransformerConfig, dtype: str, rank: int) -> float:
    """Time of the narrow products of a layer as a share of the time of its products."""
    loops, message = library(), c_char_p()
    loops.dragoman_kernels_find.restype = c_void_p
    loops.dragoman_kernels_pack.restype = c_void_p
    loops.dragoman_kernels_pack.argtypes = [
        c_int, c_int, c_void_p, c_void_p, c_int64, c_int64, c_void_p, ctypes.c_float,
    ]  # fmt: skip
    timed = loops.dragoman_kernels_time_product
    timed.restype, timed.argtypes = c_double, [c_void_p, c_void_p, c_int64, c_int64]
    level = loops.dragoman_kernels_find(None, ctypes.byref(message))

    def seconds(kind: str, outputs: int, inputs: int) -> float:
        numbers = (ctypes.c_float * (outputs * inputs))(*([0.5] * (outputs * inputs)))
        packed = loops.dragoman_kernels_pack(
            TYPES.index(kind), 0, ctypes.addressof(numbers), None, outputs, inputs, None, 0.0
        )
        return min(timed(level, packed, ROWS, 200) for _ in range(5))

    width, hidden = config.d_model, config.d_ff
    products = [(1, 3 * width, width), (1, width, width), (1, hidden, width), (1, width, hidden)]
    blocks = [3, 1, 1, 1]
    own = sum(seconds(dtype, outputs, inputs) for _, outputs, inputs in products)
    narrow = sum(
        seconds("float32", count * rank, inputs) + count * seconds("float32", outputs // count, rank)
        for count, (_, outputs, inputs) in zip(blocks, products, strict=True)
    )
    return narrow / own


if __name__ == "__main__":
    main()
