"""A measured process: the machine's best rate of large matrix products.

Run as `python benchmarks/measuring/ceiling.py [--threads N] [--device cpu|cuda] [--int8]`. Answers with
operations per second in float32 and in bfloat16, and with --int8 also in int8, if torch has such products
here.
"""

from __future__ import annotations

import argparse
import json
import sys

import torch

from dragoman.training.rates import product_rates


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--int8", action="store_true")
    options = parser.parse_args()
    types = {"fp32": torch.float32, "bf16": torch.bfloat16} | ({"int8": torch.int8} if options.int8 else {})
    rates = {}
    for name, dtype in types.items():
        try:
            rates[name] = product_rates(dtype, options.device, threads=options.threads)
        except RuntimeError:
            if dtype != torch.int8:  # of which torch does not have products everywhere
                raise
    sys.stdout.write(json.dumps(rates) + "\n")


if __name__ == "__main__":
    main()
