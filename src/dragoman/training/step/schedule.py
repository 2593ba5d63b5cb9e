"""The learning rate as a function of the update, which is counted from 1."""

from __future__ import annotations

import math


def paper(step: int, *, d_model: int, warmup: int) -> float:
    """d_model^-0.5 * min(step^-0.5, step * warmup^-1.5): eq. 3, section 5.3."""
    return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


def inverse_sqrt(step: int, *, peak: float, warmup: int) -> float:
    """The same shape with a chosen peak: linear up to `peak` at `warmup`, then as 1 / sqrt(step)."""
    return peak * min(step / warmup, math.sqrt(warmup / step))


def cosine(step: int, *, peak: float, warmup: int, last: int, time: float = 0.0) -> float:
    """Linear up to `peak` at `warmup`, then down half a cosine to zero at `last` or when the time is up.

    `time` is the share of the run's time that has passed; its cosine begins with the run, so that the rate
    is zero at the end even if that is within the warmup. Loshchilov and Hutter 2017, without restarts.
    """
    done = min(1.0, max(time, (step - warmup) / max(1, last - warmup)))
    return peak * min(1.0, step / warmup) * 0.5 * (1 + math.cos(math.pi * done))
