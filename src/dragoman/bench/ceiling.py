"""A measured process: the machine's best rate of large matrix products.

Run as `python -m dragoman.bench.ceiling [--threads N] [--device cpu|cuda] [--int8]`. Answers with operations
per second in float32 and in bfloat16, and with --int8 also in int8, if torch has such products here.
"""

from __future__ import annotations

import argparse
import time

import torch

from dragoman.bench.timing import answer
from dragoman.models.operations import product
from dragoman.training.peak import product_rates

_SIZE = 2048
_LEAST, _SECONDS = 3, 1.0  # calls, and the time they take together


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--int8", action="store_true")
    options = parser.parse_args()
    rates = {
        name: product_rates(dtype, options.device, threads=options.threads).best
        for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16))
    }
    if options.int8:
        rates |= int8_rate(options.threads)
    answer(**rates)


def int8_rate(threads: int | None) -> dict[str, float]:
    """Operations per second of an int8 product on the CPU, as `{"int8": rate}`; empty without one."""
    torch.set_num_threads(threads or torch.get_num_threads())
    a, b = (torch.randint(-127, 128, (_SIZE, _SIZE), dtype=torch.int8) for _ in range(2))
    times: list[float] = []
    try:
        torch._int_mm(a, b)  # the first call chooses a kernel
        while len(times) < _LEAST or sum(times) < _SECONDS:
            began = time.perf_counter()
            torch._int_mm(a, b)
            times.append(time.perf_counter() - began)
    except (AttributeError, RuntimeError):
        return {}
    return {"int8": product(_SIZE, _SIZE, _SIZE) / min(times)}


if __name__ == "__main__":
    main()
