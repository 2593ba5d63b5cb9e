"""COMET (Rei et al. 2020), a score by a neural network, computed in a process of its own.

COMET needs older libraries than dragoman, so it is installed in another environment. Its models are never
downloaded: the model is a file, a folder, or a name that is in the cache of Hugging Face.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dragoman.base.errors import ConfigError
from dragoman.evaluation.results import Comparison, Difference, Score, Scores

_SEED = 12345
_NO_COMET, _NO_MODEL = 3, 4
# What the other Python runs, which may be an old one. COMET writes to standard output.
_PROGRAM = f"""
import json, os, sys
model, rows, answer = sys.argv[1:]
try:
    from comet import load_from_checkpoint
except ImportError:
    sys.exit({_NO_COMET})
try:
    if not os.path.exists(model):
        from huggingface_hub import snapshot_download
        model = snapshot_download(model, local_files_only=True)
except Exception:
    sys.exit({_NO_MODEL})
if os.path.isdir(model):
    model = os.path.join(model, "checkpoints", "model.ckpt")
if not os.path.exists(model):
    sys.exit({_NO_MODEL})
torch = sys.modules.get("torch")
gpus = int(torch is not None and torch.cuda.is_available())
with open(rows, encoding="utf-8") as file:
    rows = json.load(file)
scores = []
if rows:
    scores = load_from_checkpoint(model).predict(rows, batch_size=16, gpus=gpus, progress_bar=False).scores
with open(answer, "w", encoding="utf-8") as file:
    json.dump([float(score) for score in scores], file)
"""


def comet_scores(
    model: str,
    sources: Sequence[str],
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    *,
    python: str | None = None,
) -> dict[str, list[float]]:
    """Return COMET's score of each line by system, times 100. `python` has COMET; by default, this one.

    Raises ConfigError if COMET or the model is not there, or fails; without systems it only looks for them.
    """
    python = python or sys.executable
    rows = [
        {"src": source, "mt": text, "ref": reference}
        for texts in systems.values()
        for source, text, reference in zip(sources, texts, references, strict=True)
    ]
    path = os.path.abspath(model) if os.path.exists(model) else model
    offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        given, answer = Path(folder, "rows.json"), Path(folder, "scores.json")
        given.write_text(json.dumps(rows), encoding="utf-8")
        command = [os.path.abspath(python) if os.sep in python else python, "-c", _PROGRAM, path]
        try:
            done = subprocess.run(
                [*command, str(given), str(answer)],
                cwd=folder,
                env=os.environ | offline,
                capture_output=True,
                text=True,
                errors="replace",
            )
        except OSError as error:
            raise ConfigError(f"{python}: {error.strerror}", hint="name the Python of COMET") from error
        if done.returncode == _NO_COMET:
            hint = "pip install unbabel-comet in another environment, and pass its Python as --comet-python"
            raise ConfigError(f"{python}: COMET is not installed", hint=hint)
        if done.returncode == _NO_MODEL:
            hint = "download it, such as with: hf download Unbabel/wmt22-comet-da; or name its folder"
            raise ConfigError(f"{model}: no such model of COMET on this machine", hint=hint)
        if done.returncode:
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            raise ConfigError(f"{model}: COMET failed: {last}", hint=f"try it in {python}")
        scores = [100 * score for score in json.loads(answer.read_text(encoding="utf-8"))]
    lines = len(sources)
    return {name: scores[at * lines : (at + 1) * lines] for at, name in enumerate(systems)}


def with_comet(
    result: Scores | Comparison, scores: Mapping[str, Sequence[float]], model: str, samples: int
) -> Scores | Comparison:
    """Add COMET to the scores: the mean of the lines, with intervals and p-values by paired bootstrap."""
    of = np.array([*scores.values()])
    draw, lines = np.random.default_rng(_SEED), of.shape[1]
    means = np.array(
        [of[:, draw.integers(lines, size=lines)].mean(1) for _ in range(samples)] or [of.mean(1)]
    )
    made: dict[str, Score] = {}
    differences: list[Difference] = []
    for at, name in enumerate(scores):
        low, high = np.quantile(means[:, at], (0.025, 0.975))
        made[name] = Score(
            name="COMET",
            value=float(of[at].mean()),
            signature=f"model:{model}" + (f"|bs:{samples}|seed:{_SEED}" if samples else ""),
            mean=float(means[:, at].mean()) if samples and lines > 1 else None,
            half_width=float(high - low) / 2 if samples and lines > 1 else None,
        )
        if at:
            change = float(of[at].mean() - of[0].mean())
            spread = means[:, at] - means[:, 0]
            beyond = np.sum(abs(spread - spread.mean()) > abs(change)) if change else samples
            least = 2.0 ** (1 - np.sum(of[at] != of[0])) if change else 1.0  # if the signs are drawn
            p = max(float(beyond + 1) / (samples + 1), float(least))
            differences.append(
                Difference(system=name, metric="comet", difference=change, p_value=p, better=change > 0)
            )
    if isinstance(result, Scores):
        return replace(result, by_metric=result.by_metric | {"comet": next(iter(made.values()))})
    together = {
        name: replace(each, by_metric=each.by_metric | {"comet": made[name]})
        for name, each in result.scores.items()
    }
    return replace(result, scores=together, differences=(*result.differences, *differences))
