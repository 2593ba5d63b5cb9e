"""A measured process: the machine's best rate of large matrix products.

Run as `python -m dragoman.bench.ceiling [--threads N] [--device cpu|cuda]`. Answers with operations per
second in float32 and in bfloat16.
"""

from __future__ import annotations

import argparse

import torch

from dragoman.bench.timing import answer
from dragoman.training.peak import product_rates


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    rates = {
        name: product_rates(dtype, options.device, threads=options.threads).best
        for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16))
    }
    answer(**rates)


if __name__ == "__main__":
    main()
