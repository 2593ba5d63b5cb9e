"""Small models in Marian's own layout, of random weights. Names and shapes are those that Marian saves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tests.interop.opus import SENTENCES, spm

WIDTH, INNER = 16, 24
LINES = [
    "A man rides a red bike along the river.",
    "Two dogs run through the deep snow",
    "Why?",
    "it's cold: xyz ß (hard)",
    "The musician sings a slow song for his friends. An old boat lies near the stone bridge.",
]

# The options that decide the shape, as `special:model.yml` has them.
OPTIONS = {
    "type": "transformer",
    "dim-emb": WIDTH,
    "enc-depth": 2,
    "dec-depth": 2,
    "transformer-heads": 4,
    "transformer-dim-ffn": INNER,
    "transformer-ffn-activation": "relu",
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": "",
    "transformer-decoder-autoreg": "self-attention",
    "dec-cell": "gru",
    "tied-embeddings": False,
    "tied-embeddings-all": True,
    "tied-embeddings-src": False,
    "enc-type": "bidirectional",
    "version": "v1.12.42 b7be0e964 2025-05-24 22:34:42 -0700",
}
PRE = {"transformer-preprocess": "n", "transformer-postprocess": "da"}
SSRU = {"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"}
UNTIED = {"tied-embeddings-all": False}
DECODER = {"beam-size": 3, "normalize": 0.6, "word-penalty": 0, "relative-paths": True}


def vocabulary(language: str = "en", size: int = 60) -> bytes:
    """A SentencePiece model as Marian trains it: the end has id 0, unknown pieces 1, and no id starts."""
    return spm(language, size, bos_id=-1, eos_id=0, unk_id=1)


def size_of(model: bytes) -> int:
    import sentencepiece

    return len(sentencepiece.SentencePieceProcessor(model_proto=model))


def weights(options: Mapping[str, Any], sizes: tuple[int, int], seed: int = 1) -> dict[str, Any]:
    """Weights by their names in Marian, loud enough that every part of the model matters."""
    rng = np.random.default_rng(seed)
    shapes = dict(_shapes(options, sizes))
    found = {
        name: rng.normal(scale=_scale(name, options["dim-emb"]), size=shape) for name, shape in shapes.items()
    }
    for name in found:
        if "_ln_scale" in name:
            found[name] += 1
    if (bias := found.get("decoder_ff_logit_out_b")) is not None:
        bias[0, 0] += 3  # end now and then
    return {name: array.astype(np.float32) for name, array in found.items()}


def write(
    folder: Path,
    options: Mapping[str, Any] = {},
    *,
    vocabularies: Sequence[bytes] | None = None,
    decoder: Mapping[str, Any] | None = DECODER,
    seed: int = 1,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Write model.npz, vocabularies and decoder.yml. Return the weights and all options."""
    folder.mkdir(parents=True, exist_ok=True)
    models = vocabularies or [vocabulary()]
    sizes = [size_of(model) for model in models]
    names = ["vocab.spm"] if len(models) == 1 else ["source.spm", "target.spm"]
    for name, model in zip(names, models, strict=True):
        (folder / name).write_bytes(model)
    both = OPTIONS | {"dim-vocabs": [sizes[0], sizes[-1]]} | dict(options)
    arrays = weights(both, (sizes[0], sizes[-1]), seed)
    save(folder, arrays, both)
    if decoder is not None:
        files = {"models": ["model.npz"], "vocabs": [names[0], names[-1]]}
        (folder / "decoder.yml").write_text(yaml(files | dict(decoder)), "utf-8")
    return arrays, both


def save(folder: Path, arrays: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    text = np.frombuffer(yaml(options).encode() + b"\0", np.int8)
    np.savez(folder / "model.npz", **{**arrays, "special:model.yml": text})


def yaml(table: Mapping[str, Any]) -> str:
    """YAML: JSON is a part of it."""
    return "".join(f"{name}: {json.dumps(value)}\n" for name, value in table.items())


def _scale(name: str, width: int) -> float:
    if name.endswith("Wemb") or name.startswith("decoder_ff_logit_out_W"):
        return width**-0.5
    return 0.1 if "_b" in name or "_ln_" in name else 0.4


def _shapes(options: Mapping[str, Any], sizes: tuple[int, int]) -> Any:
    width, inner = options["dim-emb"], options["transformer-dim-ffn"]
    both = options["tied-embeddings-all"] or options["tied-embeddings-src"]
    if both:
        yield "Wemb", (sizes[1], width)
    else:
        yield from (("encoder_Wemb", (sizes[0], width)), ("decoder_Wemb", (sizes[1], width)))
    if not (options["tied-embeddings-all"] or options["tied-embeddings"]):
        yield "decoder_ff_logit_out_Wt", (sizes[1], width)
    if not options.get("output-omit-bias"):
        yield "decoder_ff_logit_out_b", (1, sizes[1])
    pre = "_pre" if options["transformer-preprocess"] == "n" else ""
    for side, depth in (("encoder", options["enc-depth"]), ("decoder", options["dec-depth"])):
        numbers = range(1, depth + 1)
        if side == "decoder" and options.get("transformer-tied-layers"):
            numbers = sorted(set(options["transformer-tied-layers"]))
        for number in numbers:
            layer = f"{side}_l{number}"
            if side == "decoder" and options["transformer-decoder-autoreg"] == "rnn":
                yield from ((f"{layer}_rnn_{name}", (width, width)) for name in ("W", "Wf"))
                yield f"{layer}_rnn_bf", (1, width)
                yield from _norm(f"{layer}_rnn" if pre else f"{layer}_rnn_ffn", pre, width)
            else:
                yield from _attention(f"{layer}_self", pre, options)
            if side == "decoder":
                yield from _attention(f"{layer}_context", pre, options)
            yield from ((f"{layer}_ffn_W1", (width, inner)), (f"{layer}_ffn_W2", (inner, width)))
            yield from ((f"{layer}_ffn_b1", (1, inner)), (f"{layer}_ffn_b2", (1, width)))
            yield from _norm(f"{layer}_ffn_ffn", pre, width)
        if options["transformer-postprocess-top"] == "n":
            yield from _norm(f"{side}_top", "", width)


def _attention(prefix: str, pre: str, options: Mapping[str, Any]) -> Any:
    width = options["dim-emb"]
    for part in "qkv" if options.get("transformer-no-projection") else "qkvo":
        yield from ((f"{prefix}_W{part}", (width, width)), (f"{prefix}_b{part}", (1, width)))
    yield from _norm(f"{prefix}_Wo", pre, width)


def _norm(prefix: str, pre: str, width: int) -> Any:
    return [(f"{prefix}_ln_scale{pre}", (1, width)), (f"{prefix}_ln_bias{pre}", (1, width))]


__all__ = [
    "DECODER",
    "LINES",
    "OPTIONS",
    "PRE",
    "SENTENCES",
    "SSRU",
    "UNTIED",
    "vocabulary",
    "weights",
    "write",
]
