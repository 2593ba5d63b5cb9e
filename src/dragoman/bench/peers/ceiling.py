"""The machine's own rate: products of large square matrices, the best of many. A GPU needs larger ones."""

from __future__ import annotations

import json
import time

import torch
from timing import arguments, finish

options, _ = arguments()
torch.set_num_threads(options.threads)
size = 2048 if options.device == "cpu" else 8192
rates = {}
for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
    a, b = (torch.randn(size, size).to(options.device, dtype) for _ in range(2))
    seconds = []
    for _ in range(30):
        began = time.perf_counter()
        a @ b
        finish(options.device)
        seconds.append(time.perf_counter() - began)
    rates[name] = 2 * size**3 / min(seconds)
print(json.dumps(rates))
