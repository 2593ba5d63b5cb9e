"""The machine's own rate: products of large square matrices, the best of many."""

from __future__ import annotations

import json
import time

import torch
from timing import arguments

options, _ = arguments()
torch.set_num_threads(options.threads)
rates = {}
for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
    a, b = torch.randn(2048, 2048).to(dtype), torch.randn(2048, 2048).to(dtype)
    seconds = []
    for _ in range(30):
        began = time.perf_counter()
        a @ b
        seconds.append(time.perf_counter() - began)
    rates[name] = 2 * 2048**3 / min(seconds)
print(json.dumps(rates))
