"""The files of a Hugging Face folder: JSON tables and tensors. Nothing in them is executed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from dragoman.base.errors import ModelError

_AGAIN = "was it copied whole? download it again"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")  # the first that exists is read


def read_table(path: Path) -> dict[str, Any]:
    """Return a JSON object. Raises ModelError if the file is missing or holds something else."""
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ModelError(f"{path}: missing", hint="is this a folder of Hugging Face's Marian?") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path}: cannot be read as JSON ({error})", hint=_AGAIN) from error
    if not isinstance(table, dict):
        raise ModelError(f"{path}: not a JSON object", hint=_AGAIN)
    return table


def read_table_if_any(path: Path) -> dict[str, Any]:
    """Return a JSON object, empty if the file does not exist."""
    return read_table(path) if path.exists() else {}


def read_bytes(path: Path) -> bytes:
    """Return the content of a file. Raises ModelError if it cannot be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"{path}: missing", hint="is this a folder of Hugging Face's Marian?") from error
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})", hint=_AGAIN) from error


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Return the weights by their names, from one file or from several with an index.

    Raises ModelError if they are missing or damaged, or if a pickle holds anything but tensors.
    """
    for name in _WEIGHTS:
        if (folder / name).exists():
            return _read(folder / name)
        if (index := folder / f"{name}.index.json").exists():
            tensors: dict[str, Tensor] = {}
            for part in _parts(index):
                tensors |= _read(folder / part)
            return tensors
    raise ModelError(
        f"{folder}: neither {' nor '.join(_WEIGHTS)}", hint="download the PyTorch weights of this model"
    )


def _parts(index: Path) -> list[str]:
    """Return the names of the files that an index lists."""
    weight_map = read_table(index).get("weight_map")
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
