"""Models of Firefox: written in its layout by hand, and one of ours that knows some pairs by heart."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tests.interop import marian_models as models
from tests.interop.memorised import PAIRS, SOURCES, memorised, tokenizer

from dragoman.interop.marian.shortlist import binary_shortlist
from dragoman.models.folder.bundle import Bundle
from dragoman.models.seq2seq import build_model
from dragoman.models.shapes import SSRUConfig
from dragoman.translation.search.options import Beam

KINDS = {"f": 0x0404, "i": 0x0101}
INT8 = 0x4101
LARGE = {"dim-emb": 64, "transformer-dim-ffn": 64}


def packed(items: Mapping[str, tuple[int, tuple[int, ...], bytes]]) -> bytes:
    """A binary file: type, shape and content of each item, as src/common/binary.cpp writes them."""
    out = struct.pack("<QQ", 1, len(items))
    padded = {name: content + bytes(-len(content) % 256) for name, (_, _, content) in items.items()}
    for name, (kind, shape, _) in items.items():
        out += struct.pack("<QQQQ", len(name) + 1, kind, len(shape), len(padded[name]))
    for name in items:
        out += name.encode() + b"\0"
    for _, shape, _ in items.values():
        out += struct.pack(f"<{len(shape)}i", *shape)
    offset = ((len(out) + 8) // 256 + 1) * 256 - len(out) - 8
    out += struct.pack("<Q", offset) + bytes(offset)
    return out + b"".join(padded.values())


def quantised(weight: np.ndarray, name: str) -> tuple[int, tuple[int, ...], bytes]:
    multiplier = np.float32(127) / np.abs(weight).max()
    numbers = np.rint(weight * multiplier).astype(np.int8)
    numbers = numbers if "Wemb" in name else numbers.T
    return INT8, weight.shape, numbers.tobytes() + np.float32(multiplier).tobytes()


def firefox(
    folder: Path,
    options: Mapping[str, Any] = {},
    *,
    int8: bool = True,
    alphas: bool = True,
    pair: str = "ende",
) -> dict[str, np.ndarray]:
    """Write the files of a model of random weights, and return these."""
    folder.mkdir(parents=True, exist_ok=True)
    both = models.OPTIONS | models.SSRU | {"dim-emb": 16} | dict(options)
    shared = both["tied-embeddings-all"]
    vocabularies = [
        models.vocabulary(size=64),
        models.vocabulary(size=64) if shared else models.vocabulary("de", 72),
    ]
    sizes = [models.size_of(one) for one in vocabularies]
    both["dim-vocabs"] = sizes
    arrays = models.weights(both, (sizes[0], sizes[1]))
    items: dict[str, tuple[int, tuple[int, ...], bytes]] = {}
    for name, array in sorted(arrays.items()):
        items[name] = KINDS["f"], array.shape, array.tobytes()
        if int8 and re.search("_W.?$|Wemb", name):
            items[name] = quantised(array, name)
            if alphas and name != "encoder_Wemb":  # no product has its inputs
                # Matrices of the same input have one multiplier.
                same = re.sub("_W[kv]$", "_Wkv", name.replace("self_Wq", "self_Wkv")).replace(
                    "rnn_Wf", "rnn_W"
                )
                one = np.float32(20 + sum(same.encode()) % 50).tobytes()
                items[name + "_QuantMultA"] = KINDS["f"], (1,), one
                if name in ("Wemb", "decoder_Wemb"):
                    items["none_QuantMultA"] = KINDS["f"], (1,), one
    text = models.yaml(both).encode() + b"\0"
    items["special:model.yml"] = KINDS["i"], (len(text),), text
    (folder / f"model.{pair}.intgemm.alphas.bin").write_bytes(packed(items))
    rows = [range(token % 5) for token in range(sizes[0])]
    (folder / f"lex.20.4.{pair}.s2t.bin").write_bytes(binary_shortlist(20, 4, rows))
    for name, one in zip(["vocab"] if shared else ["srcvocab", "trgvocab"], vocabularies, strict=False):
        (folder / f"{name}.{pair}.spm").write_bytes(one)
    return arrays


def by_heart(width: int = 64) -> Bundle:
    """An SSRU model that Firefox can hold, trained on a few pairs. Its decoder starts from zeros."""
    torch.manual_seed(1)
    cutter = tokenizer(kind="unigram", vocab_size=120, placeholders=0)
    config = SSRUConfig(
        source_vocab=cutter.source_size, target_vocab=cutter.target_size, d_model=width, d_ff=width, heads=2,
        encoder_layers=2, decoder_layers=1, norm="post", norm_epsilon=1e-6, positions="sinusoidal-t2t",
        activation="relu", attention_bias=True, output_bias=True, tie="all", dropout=0.0,
    )  # fmt: skip
    model = build_model(config)
    bundle = Bundle(
        model=model, tokenizer=cutter, source_language="en", target_language="de", generation=Beam(size=1)
    )
    for _ in range(6):
        memorised(bundle, updates=20, rate=0.005)
        with torch.no_grad():
            model.target_embedding.weight[config.start_id] = 0
    return bundle


__all__ = ["INT8", "KINDS", "PAIRS", "SOURCES", "by_heart", "firefox", "packed"]
