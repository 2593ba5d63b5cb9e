"""Write a model as Firefox has it: 8-bit weights with multipliers of their inputs, shortlist, vocabulary.

The names are those of Mozilla's files, model.ende.intgemm.alphas.bin and so on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file
from torch import Tensor

from dragoman.base.errors import ConfigError
from dragoman.base.files import write_whole
from dragoman.interop import marian
from dragoman.interop.firefox.calibration import input_multipliers
from dragoman.interop.firefox.reading import OUTPUTS, UNNAMED
from dragoman.interop.formats import format_of
from dragoman.interop.marian.binary import Item, Matrix, write_binary
from dragoman.interop.marian.files import OPTIONS
from dragoman.interop.marian.shape import EPSILON, MULTIPLIER, Config, name_table, yaml_of
from dragoman.interop.marian.shortlist import binary_shortlist
from dragoman.interop.marian.writing import for_marian, sides_of
from dragoman.models.folder.bundle import Bundle
from dragoman.models.folder.int8 import round_to_int8
from dragoman.models.shapes import SSRUConfig
from dragoman.translation.folder.config import SHORTLIST, WEIGHTS, read_config
from dragoman.translation.folder.quantised import INPUT_MULTIPLIER, SCALE
from dragoman.translation.folder.shortlist import read_shortlist

_STEP = 64  # the inputs of a product: the numbers in a register of AVX-512
_OUTPUTS = 8  # the outputs of a product come in eights
# Mozilla's names of its shapes, by width and decoder layers.
_NAMES = {(256, 2): "tiny", (384, 4): "base-memory", (512, 2): "base"}
# The options with which bergamot translates.
_SEARCH: dict[str, Any] = {
    "beam-size": 1, "normalize": 1.0, "word-penalty": 0, "mini-batch": 64, "maxi-batch": 1000,
    "maxi-batch-sort": "src", "workspace": 128, "max-length-factor": 2.0, "skip-cost": True,
    "alignment": "soft", "gemm-precision": "int8shiftAlphaAll",
}  # fmt: skip
_8BIT = re.compile(r"_W\w?$|Wemb$")  # the matrices that Marian's converter makes 8 bit


def write(bundle: Bundle, output: Path, *, folder: Path, lines: Sequence[str] = ()) -> None:
    """Write the model of `folder` as `output`, a new folder.

    `lines` are text in the source language that the multipliers are found with. A folder of ours that has
    multipliers keeps them, and its numbers. Raises ConfigError with everything that the format cannot hold,
    before anything is written.
    """
    if faults := unsupported(bundle):
        raise ConfigError(
            "Firefox cannot hold this model:\n  " + "\n  ".join(faults),
            hint="each line is an option of a model that can be trained with another value",
        )
    config, options, tensors = for_marian(bundle)
    matrices, multipliers = _kept(bundle, folder, config, tensors)
    if not multipliers:
        if not lines:
            raise ConfigError(
                f"{folder}: an 8-bit model states the range of its inputs, which takes text to find",
                hint="add --calibrate SOURCE REFERENCE, such as the validation text",
            )
        multipliers = input_multipliers(bundle, lines)
    items: dict[str, Item] = {}
    for name, tensor in sorted(tensors.items()):
        items[name] = tensor.numpy()
        if _8BIT.search(name):
            items[name] = matrices.get(name) or _rounded(tensor)
        if name in multipliers:
            number = np.array([multipliers[name]], np.float32)
            items |= {one + MULTIPLIER: number for one in ([name, UNNAMED] if name in OUTPUTS else [name])}
    items |= {OPTIONS: np.frombuffer(yaml_of(options).encode() + b"\0", np.int8)}
    pair = re.sub(r"\W", "", f"{bundle.source_language}{bundle.target_language}")
    sides = sides_of(bundle.tokenizer)
    names = ["vocab"] if sides[0].model == sides[1].model else ["srcvocab", "trgvocab"]
    vocabularies = [f"{name}.{pair}.spm" for name in names]
    for name, side in zip(vocabularies, sides, strict=False):
        write_whole(output / name, side.model)
    lexicon = _write_shortlist(bundle, folder, config, output, pair)
    model = f"model.{pair}.intgemm.alphas.bin"
    write_binary(output / model, items)
    content = (output / model).read_bytes()
    about = {
        "architecture": _NAMES.get((config.d_model, config.decoder_layers), "custom"),
        "byteSize": len(content),
        "hash": sha256(content).hexdigest(),
        "modelConfig": options,
        "modelStatistics": {"parameters": sum(one.numel() for one in tensors.values())},
        "sourceLanguage": bundle.source_language,
        "targetLanguage": bundle.target_language,
    }
    write_whole(output / "metadata.json", json.dumps(about, indent=2) + "\n")
    bergamot: dict[str, Any] = {
        "relative-paths": True,
        "models": [model],
        "vocabs": [vocabularies[0], vocabularies[-1]],
        **({"shortlist": [lexicon, "false"]} if lexicon else {}),
        **_SEARCH,
    }
    write_whole(output / "config.intgemm8bitalpha.yml", yaml_of(bergamot))


def unsupported(bundle: Bundle) -> list[str]:
    """Return the parts of the model that Firefox cannot hold, one reason an item; empty if it can hold it."""
    config = bundle.model.config
    if not isinstance(config, SSRUConfig):
        return [f'model.architecture = "{config.architecture}" (supported: ssru)']
    start = bool(bundle.model.target_embedding.weight[config.start_id].any())
    supported = {
        f'model.norm = "{config.norm}"': config.norm == "post" or "post",
        f'model.positions = "{config.positions}"': config.positions == "sinusoidal-t2t" or "sinusoidal-t2t",
        f"model.embedding_scale = {str(config.embedding_scale).lower()}": config.embedding_scale or "true",
        f"model.norm_epsilon = {config.norm_epsilon}": config.norm_epsilon == EPSILON or EPSILON,
        f'model.tie = "{config.tie}"': config.tie != "none" or "all, decoder",
        "an embedding that starts the decoder": not start or "zeros, by training.zero_start=true",
        f"model.d_model = {config.d_model}": config.d_model % _STEP == 0 or f"a multiple of {_STEP}",
        f"model.d_ff = {config.d_ff}": config.d_ff % _STEP == 0 or f"a multiple of {_STEP}",
    }
    faults = [f"{what} (supported: {which})" for what, which in supported.items() if which is not True]
    for side in sides_of(bundle.tokenizer) if bundle.tokenizer.config.kind != "words" else ():
        if not side.whole:
            faults.append("a vocabulary that is not that of its SentencePiece model")
        elif side.size % _OUTPUTS:
            faults.append(f"a vocabulary of {side.size:,} pieces (supported: a multiple of {_OUTPUTS})")
    others = [fault for fault in marian.unsupported(bundle) if fault.split(" ")[0] not in " ".join(faults)]
    return list(dict.fromkeys(faults + others))


def notes(bundle: Bundle) -> list[str]:
    """Return the changes of an export that the format makes necessary, one sentence each."""
    if bundle.generation.size > 1:
        return ["Firefox and fxtranslate search greedily: compare with dragoman translate --beam 1."]
    return []


def _kept(
    bundle: Bundle, folder: Path, config: Config, tensors: Mapping[str, Tensor]
) -> tuple[dict[str, Matrix], dict[str, float]]:
    """Return the 8-bit matrices and multipliers that a quantised folder has, by Marian's names."""
    if format_of(folder) is not None or read_config(folder).quantised is None:
        return {}, {}
    stored = load_file(folder / WEIGHTS)
    matrices: dict[str, Matrix] = {}
    multipliers: dict[str, float] = {}
    for row in name_table(config).rows:
        count = len(row.theirs)
        if (numbers := stored.get(row.ours)) is None or numbers.dtype != torch.int8:
            continue
        inputs = stored.get(row.ours + INPUT_MULTIPLIER, torch.empty(0))
        parts = zip(row.theirs, numbers.chunk(count), stored[row.ours + SCALE].chunk(count), strict=True)
        for block, (name, part, scale) in enumerate(parts):
            if bool((scale == scale[0]).all()) and scale[0] > 0:
                whole = part.T if row.layout == "transposed" else part[: len(tensors[name])]
                matrices[name] = Matrix(whole.numpy(), np.float32(1) / np.float32(scale[0]))
            if len(inputs):
                multipliers[name] = float(inputs[block % len(inputs)])
    return matrices, multipliers


def _rounded(weight: Tensor) -> Matrix:
    """Round a matrix as training with `training.quantise` does."""
    numbers, q = round_to_int8(weight, [len(weight)])
    # Such a q survives an import, which keeps its reciprocal.
    return Matrix(numbers.numpy(), np.float32(1) / (np.float32(1) / np.float32(q[0])))


def _write_shortlist(bundle: Bundle, folder: Path, config: Config, output: Path, pair: str) -> str | None:
    """Write the shortlist of the folder, if it has one, and return the name of its file.

    Marian always allows the first ids, and the source tokens themselves. All other frequent tokens become
    translations of the end token, which every sentence has there.
    """
    if not (folder / SHORTLIST).exists():
        return None
    read_shortlist(folder, read_config(folder), whole=True)
    tensors = load_file(folder / SHORTLIST)
    frequent = set(tensors["frequent"].tolist())
    candidates_VN, token_V1 = tensors["candidates"], torch.arange(len(tensors["candidates"]))[:, None]
    keep_VN = (candidates_VN >= 0) & (candidates_VN < config.target_vocab)
    source, target = sides_of(bundle.tokenizer)
    if source.model == target.model:
        keep_VN &= (tensors["probability"] > 0) | (candidates_VN != token_V1)
    rows = [candidates_VN[token][keep_VN[token]].tolist() for token in range(config.source_vocab)]
    end = bundle.model.config.end_id
    frequent |= set(rows[end])
    first = next(n for n in range(len(frequent) + 1) if n not in frequent) or 1
    rows[end] = [token for token in sorted(frequent) if first <= token < config.target_vocab]
    best = max(map(len, rows))
    name = f"lex.{first}.{best}.{pair}.s2t.bin"
    write_whole(output / name, binary_shortlist(first, best, rows))
    return name
