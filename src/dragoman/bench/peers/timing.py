"""What the contenders that are libraries share: their command line, the batches, the clock.

Run with an environment that need not have dragoman in it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

PAD, START = 0, 1


def arguments(*flags: str) -> tuple[argparse.Namespace, Any]:
    """The command line, and the shape it gives: d_model, d_ff, heads and so on as attributes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("workload", type=Path)
    parser.add_argument("--shape", type=json.loads, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--warm", type=int, default=3, help="steps before the clock runs")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--device", default="cpu")
    for flag in flags:
        parser.add_argument(f"--{flag}", action="store_true")
    options = parser.parse_args()
    return options, SimpleNamespace(**options.shape)


def batches(options: argparse.Namespace) -> list[tuple[np.ndarray, np.ndarray]]:
    """As many as there are steps, first those to warm up on."""
    with np.load(options.workload / "batches.npz") as arrays:
        return [(arrays[f"source_{i}"], arrays[f"target_{i}"]) for i in range(options.warm + options.steps)]


def shifted(target: np.ndarray, first: int) -> np.ndarray:
    """What the decoder reads: `first`, then all but the last of the target."""
    return np.concatenate((np.full((len(target), 1), first), np.where(target == 2, PAD, target)[:, :-1]), 1)


def finish(device: str) -> None:
    """Returns when the device has done what it was given."""
    if device != "cpu":
        import torch

        torch.cuda.synchronize(device)


def measure(
    options: argparse.Namespace, step: Callable[[Any], object], given: list[Any], **about: object
) -> None:
    """Runs `step` on each of `given` and prints the seconds of those after the warm-up, as JSON."""
    seconds = []
    for one in given:
        began = time.perf_counter()
        step(one)
        finish(options.device)
        seconds.append(time.perf_counter() - began)
    print(json.dumps({"seconds": seconds[options.warm :], **about}), flush=True)
