"""Attention to the source of one sentence, as each checkpoint of a run pays it. Imports torch when asked."""

from __future__ import annotations

import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.base.errors import ModelError
from dragoman.base.machine import has_pytorch
from dragoman.training.checkpoints.paths import Checkpoints
from dragoman.translation.folder.checkpoint import model_folder

if TYPE_CHECKING:
    from dragoman.inspection import Trace

LONGEST = 300  # characters of a sentence
FINAL = "final"
_ONE = threading.Lock()  # traces are made one at a time


def available(folder: Path | None) -> tuple[list[str], str]:
    """Return the names of a run's checkpoints by their updates; without any, the reason."""
    if folder is None or not (checkpoints := Checkpoints(folder / "checkpoints")).folder.is_dir():
        return [], "The checkpoints are not on this machine."
    steps = sorted(checkpoints.folder.glob("step-*.safetensors"))
    names = [str(int(number)) for path in steps if (number := path.stem.removeprefix("step-")).isdecimal()]
    names += [FINAL] if checkpoints.final.exists() else []
    if not names:
        return [], "No checkpoint yet. The first comes with the first validation."
    if not has_pytorch():
        return [], "PyTorch is not installed here: pip install 'dragoman[train]'"
    return names, ""


def matrix(
    folder: Path,
    name: str,
    source: str,
    target: str | None,
    *,
    layer: int | None = None,
    head: int | None = None,
) -> dict[str, Any]:
    """Return the weights of a layer and head, by default the last layer but one and the mean of heads.

    `name` is one of `available`. With `target` that translation is looked at, else the checkpoint's own.
    Raises ModelError for a checkpoint that is missing, has no such attention or has several languages,
    DataError for a text that cannot be used.
    """
    checkpoints = Checkpoints(folder / "checkpoints")
    path = checkpoints.final if name == FINAL else checkpoints.step(int(name))
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise ModelError(f"{path}: not found; training keeps the last checkpoints only") from error
    with _ONE:
        trace = _trace(path, changed, source, target)
    cross = next((one for one in trace.attention if one.kind == "cross"), None)
    if cross is None:
        raise ModelError(f"{folder}: this model has no attention to the source")
    layers, heads = cross.weights.shape[:2]
    layer = max(layers - 2, 0) if layer is None else layer
    if not (0 <= layer < layers and (head is None or 0 <= head < heads)):
        raise ModelError(f"{folder}: has {layers} layers and {heads} heads")
    weights = cross.weights[layer]
    weights_TS = weights.mean(0) if head is None else weights[head]
    return {
        "source": [token.text or "·" for token in trace.source.tokens],
        "target": [token.text or "·" for token in trace.target.tokens],
        "translation": trace.target.text,
        "layers": layers,
        "heads": heads,
        "layer": layer,
        "weights": [[round(float(weight), 4) for weight in row] for row in weights_TS],
    }


@lru_cache(maxsize=24)
def _trace(path: Path, changed: int, source: str, target: str | None) -> Trace:
    """The trace of a sentence in a checkpoint that was last `changed` then."""
    from dragoman.inspection import inspect
    from dragoman.models.folder.bundle import load

    bundle = load(model_folder(path))
    if bundle.several:  # it reads marks of languages, and those of the sentence are not known
        raise ModelError(
            "the attention of a model of several languages is shown by dragoman inspect only",
            hint="name the languages with --from and --to",
        )
    return inspect(bundle, source, target=target)
