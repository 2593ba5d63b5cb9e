"""The files of a Hugging Face folder, read once: JSON tables, vocabularies, tensors. Nothing is executed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from dragoman.base.errors import ModelError
from dragoman.base.files import json_of_model, read_of_model

V = TypeVar("V", int, float, bool, str)

# The class in transformers of each model_type that is read.
CLASSES = {
    "marian": "MarianMTModel",
    "pegasus": "PegasusForConditionalGeneration",
    "m2m_100": "M2M100ForConditionalGeneration",
    "mbart": "MBartForConditionalGeneration",
}
SEGMENTERS = ("source.spm", "target.spm")
MULTILINGUAL = ("m2m_100", "mbart")
SEGMENTER = "sentencepiece.bpe.model"  # of a multilingual model

_REFUSED = {
    "t5": "T5 (MADLAD-400) has heads of a width of their own, a gated GELU and attention without a scale",
    "nllb-moe": "NLLB-MoE has mixtures of experts",
}
# What config.json may leave out, where it differs from Marian's.
_IDS = {"pad_token_id": 1, "decoder_start_token_id": 2, "eos_token_id": 2}
_DEFAULTS: dict[str, dict[str, Any]] = {
    "m2m_100": {
        **_IDS, "vocab_size": 128112, "activation_function": "relu", "attention_dropout": 0.1,
        "scale_embedding": True,
    },
    "mbart": {**_IDS, "vocab_size": 50265},
}  # fmt: skip

_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_AGAIN = "was it copied whole? download it again"
_MARIAN = "is this a folder of Hugging Face's Marian?"
_WANTED = "copy it from the original model: transformers 5 leaves it out when it saves"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # the first that exists is read


class JsonTable:
    """A JSON object with the name of its file, which errors give."""

    def __init__(self, path: Path, values: dict[str, Any]) -> None:
        self.path, self.values = path, values

    @classmethod
    def read(cls, path: Path) -> JsonTable:
        """Raises ModelError if the file is missing or holds something else."""
        return cls(path, json_of_model(path, missing=_MARIAN, damaged=_AGAIN))

    @classmethod
    def read_if_any(cls, path: Path) -> JsonTable:
        """As `read`, but empty if the file does not exist."""
        return cls.read(path) if path.exists() else cls(path, {})

    def get(self, name: str) -> Any:
        """Return a value of any type; None if it is missing."""
        return self.values.get(name)

    def typed(self, name: str, default: V) -> V:
        """Return a value of the type of `default`, or `default` if it is missing or null."""
        value = self.get(name)
        if value is None:
            return default
        if type(default) is float and type(value) is int and abs(value) < 2**53:
            value = float(value)
        if type(value) is not type(default):
            raise self._wrong(name, _KINDS[type(default)])
        return value

    def token(self, name: str) -> int | None:
        """Return a token id, which may be in a list of one."""
        value = self.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is not None and (type(value) is not int or value < 0):
            raise self._wrong(name, "one token id")
        return value

    def tokens(self, name: str) -> list[int]:
        """Return a list of token ids."""
        if not _are_ids(value := [] if self.get(name) is None else self.get(name)):
            raise self._wrong(name, "a list of token ids")
        return list(value)

    def sequences(self, name: str) -> list[list[int]]:
        """Return a list of lists of token ids."""
        value = [] if self.get(name) is None else self.get(name)
        if not isinstance(value, list) or not all(map(_are_ids, value)):
            raise self._wrong(name, "a list of lists of token ids")
        return value

    def _wrong(self, name: str, kind: str) -> ModelError:
        return ModelError(
            f"{self.path}: {name} = {self.get(name)!r} cannot be used", hint=f"it must be {kind}"
        )


@dataclass(frozen=True, kw_only=True)
class Folder:
    """The files of a model, all read once. Tables of files that may be missing are empty."""

    path: Path
    config: JsonTable
    generation: JsonTable  # generation_config.json; config.json in folders of early versions
    tokenizer: JsonTable  # tokenizer_config.json
    added: JsonTable  # added_tokens.json
    vocabularies: tuple[JsonTable, JsonTable]  # of source and target; the same table twice if they share it
    segmenters: tuple[bytes, bytes]  # SentencePiece models of source and target
    tensors: dict[str, Tensor]

    @classmethod
    def read(cls, path: Path) -> Folder:
        """Raises ModelError for a file that is missing or damaged, and for another kind of model."""
        config = JsonTable.read(path / "config.json")
        kind = config.get("model_type")
        if not isinstance(kind, str) or kind not in CLASSES:  # before its large files are read
            why = _REFUSED.get(str(kind), "this reads Marian, M2M-100, NLLB-200 and mBART-50")
            raise ModelError(
                f"{config.path}: model_type {kind!r} cannot be read: {why}",
                hint="choose a model such as Helsinki-NLP/opus-mt-en-de or facebook/nllb-200-distilled-600M",
            )
        many = kind in MULTILINGUAL
        config = JsonTable(config.path, _DEFAULTS.get(kind, {}) | config.values)
        generation = JsonTable.read_if_any(path / "generation_config.json")
        tokenizer = JsonTable.read_if_any(path / "tokenizer_config.json")
        read = JsonTable.read_if_any if many else JsonTable.read
        vocabulary = read(path / "vocab.json")
        separate = tokenizer.get("separate_vocabs") is True
        bytes_of = partial(read_of_model, missing=_MARIAN, damaged=_AGAIN)
        return cls(
            path=path,
            config=config,
            generation=generation if generation.values else config,
            tokenizer=tokenizer,
            added=JsonTable.read_if_any(path / "added_tokens.json"),
            vocabularies=(vocabulary, JsonTable.read(path / "target_vocab.json") if separate else vocabulary),
            segmenters=(read_of_model(path / SEGMENTER, missing=_WANTED, damaged=_AGAIN),) * 2
            if many
            else (bytes_of(path / SEGMENTERS[0]), bytes_of(path / SEGMENTERS[1])),
            tensors=_read_tensors(path),
        )


def _are_ids(value: object) -> bool:
    return isinstance(value, list) and all(type(token) is int for token in value)


def text_of_token(token: object) -> str | None:
    """Return the text of a token, which may be a table with its `content`."""
    if isinstance(token, dict):
        token = token.get("content")
    return token if isinstance(token, str) else None


def _read_tensors(folder: Path) -> dict[str, Tensor]:
    """The weights by their names, from one file or from several with an index. Raises ModelError."""
    for name in _WEIGHTS:
        if (folder / name).exists():
            return _read(folder / name)
        if (index := folder / f"{name}.index.json").exists():
            tensors: dict[str, Tensor] = {}
            for part in _parts(index):
                tensors |= _read(folder / part)
            return tensors
    raise ModelError(f"{folder}: neither {' nor '.join(_WEIGHTS)}", hint="download one of them")


def _parts(index: Path) -> list[str]:
    """Return the names of the files that an index lists."""
    weight_map = JsonTable.read(index).get("weight_map")
    names = sorted(set(map(str, weight_map.values()))) if isinstance(weight_map, dict) else []
    if not names or any(Path(name).name != name for name in names):
        raise ModelError(f"{index}: weight_map does not list files of this folder", hint=_AGAIN)
    return names


def _read(path: Path) -> dict[str, Tensor]:
    if path.suffix == ".safetensors":
        try:
            return load_file(path)
        except (OSError, SafetensorError) as error:
            raise ModelError(f"{path}: cannot be read as weights ({error})", hint=_AGAIN) from error
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})", hint=_AGAIN) from error
    except Exception as error:  # a damaged file or a pickle with code can raise almost anything
        raise ModelError(
            f"{path}: holds more than tensors, or is damaged ({type(error).__name__})",
            hint="code in it is never run. Download it again, or as model.safetensors",
        ) from error
    if not isinstance(tensors, dict) or not all(
        isinstance(name, str) and isinstance(tensor, Tensor) for name, tensor in tensors.items()
    ):
        raise ModelError(f"{path}: not a table of tensors", hint="download it as model.safetensors")
    return dict(tensors)
