"""Inside a measured process: its command line, its batches, the clock, and its answer.

The drivers run in environments that have numpy, but neither dragoman nor its other dependencies. So this file
finds the source by its place, and imports nothing else.

B batch, T target length.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))  # which contains only dragoman

from dragoman.base.machine import peak_memory

T = TypeVar("T")
PAD, START, END = 0, 1, 2


def arguments(*flags: str) -> tuple[argparse.Namespace, SimpleNamespace]:
    """Parse the command line. Return the options, and the sizes of the model, such as d_model."""
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
    """source_BS and target_BT of one batch for each step, beginning with the warm-up."""
    with np.load(options.workload / "batches.npz") as arrays:
        return [(arrays[f"source_{i}"], arrays[f"target_{i}"]) for i in range(options.warm + options.steps)]


def shifted(target_BT: np.ndarray, first: int) -> np.ndarray:
    """Return the input of the decoder: `first`, then each target without its end."""
    without_end_BT = np.where(target_BT == END, PAD, target_BT)
    return np.concatenate((np.full((len(target_BT), 1), first), without_end_BT[:, :-1]), 1)


def wait_for(device: str) -> None:
    """Return when the device has finished its work."""
    if device != "cpu":
        import torch

        torch.cuda.synchronize(device)


def time_steps(
    options: argparse.Namespace, step: Callable[[T], object], batches: Sequence[T], **about: object
) -> None:
    """Run `step` on each batch. Answer with the seconds of each step after the warm-up, and `about`."""
    seconds = []
    for batch in batches:
        began = time.perf_counter()
        step(batch)
        wait_for(options.device)
        seconds.append(time.perf_counter() - began)
    answer(seconds=seconds[options.warm :], peak_memory=peak_memory(), **about)


def answer(**facts: Any) -> None:
    """Write the facts as one line of JSON, for the process that started this one."""
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()
