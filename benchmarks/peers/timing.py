"""The package's own `timing.py`, for drivers in environments that do not have dragoman installed."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))  # which contains only dragoman

from dragoman.base.machine import peak_memory
from dragoman.bench.timing import PAD, START, answer, arguments, batches, shifted, time_steps

__all__ = ["PAD", "START", "answer", "arguments", "batches", "peak_memory", "shifted", "time_steps"]
