"""What a process that trains keeps in memory."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from dragoman.training.step.malloc import keep_few_products

CAPACITIES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")
GROWTH = """
import sys, torch
from dragoman.base.machine import peak_memory
from dragoman.training.step.malloc import keep_few_products

if sys.argv[1] == "few":
    keep_few_products()
torch.set_num_threads(1)
states, weight = torch.ones(1400, 256, dtype=torch.bfloat16), torch.ones(256, 256, dtype=torch.bfloat16)
before = None
for rows in range(1000, 1400):
    states[:rows] @ weight.T, states[:rows] @ weight, states[:rows].T @ states[:rows]
    before = before or peak_memory()
print(peak_memory() - before)
"""


def test_the_environment_has_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CAPACITIES[0], "7")
    monkeypatch.delenv(CAPACITIES[1], raising=False)

    keep_few_products()

    assert [os.environ[name] for name in CAPACITIES] == ["7", "64"]


@pytest.mark.thorough
@pytest.mark.skipif(not torch.ops.mkldnn._is_mkldnn_bf16_supported(), reason="no bf16 in this processor")
def test_products_of_many_shapes_take_little_memory() -> None:
    """Over 400 numbers of rows: a third at most of what it is with the caches as they come."""
    clean = {name: value for name, value in os.environ.items() if name not in CAPACITIES}
    few, many = (
        int(subprocess.check_output([sys.executable, "-c", GROWTH, how], env=clean)) for how in ("few", "all")
    )

    assert few < many / 3
