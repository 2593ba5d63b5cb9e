from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dragoman.base import machine


def put(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_DOT_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_cores() -> None:
    assert 1 <= machine.cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({"cpu_DOT_max": "150000 100000\n"}, 1.5),
        ({"cpu_DOT_max": "max 100000\n"}, None),
        ({"cpu__cpu_DOT_cfs_quota_us": "200000", "cpu__cpu_DOT_cfs_period_us": "100000"}, 2.0),
        ({"cpu__cpu_DOT_cfs_quota_us": "-1", "cpu__cpu_DOT_cfs_period_us": "100000"}, None),
        ({}, None),
    ],
)
def test_core_quota(tmp_path: Path, files: dict[str, str], cores: float | None) -> None:
    assert machine.core_quota(put(tmp_path, **files)) == cores


def test_memory_of_the_machine_and_of_a_container(tmp_path: Path) -> None:
    proc = put(tmp_path / "proc", meminfo="MemTotal: 8000000 kB\nMemFree: 1 kB\nMemAvailable: 6000000 kB\n")
    free = tmp_path / "none"
    assert machine.memory(proc, free) == (8_192_000_000, 6_144_000_000)
    box = put(tmp_path / "box", memory_DOT_max="1000000000\n", memory_DOT_current="300000000\n")
    assert machine.memory(proc, box) == (1_000_000_000, 700_000_000)
    unlimited = put(tmp_path / "unlimited", memory_DOT_max="max\n", memory_DOT_current="300000000\n")
    assert machine.memory(proc, unlimited) == (8_192_000_000, 6_144_000_000)
    old = put(
        tmp_path / "old",
        memory__memory_DOT_limit_in_bytes="9223372036854771712",
        memory__memory_DOT_usage_in_bytes="300000000",
    )
    assert machine.memory(proc, old) == (8_192_000_000, 6_144_000_000)


def test_busy_cores(tmp_path: Path, monkeypatch) -> None:
    """Between the two looks 100 ticks pass: 60 idle, 10 waiting for a disk, 30 at work."""
    put(tmp_path, stat="cpu 100 0 50 800 50 0 0 0 7 0\ncpu0 1 1 1 1 1\n")
    later = "cpu 115 0 55 860 60 0 0 10 9 0\ncpu0 1 1 1 1 1\n"
    sleeping = SimpleNamespace(sleep=lambda _: put(tmp_path, stat=later))
    monkeypatch.setattr(machine, "time", sleeping)
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 4)
    assert machine.busy_cores(proc=tmp_path) == pytest.approx(0.3 * 4)


def test_busy_cores_elsewhere_is_the_load(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(machine.os, "getloadavg", lambda: (1.5, 0, 0), raising=False)
    assert machine.busy_cores(0, tmp_path) == 1.5
    put(tmp_path, stat="nothing we know\n")
    assert machine.busy_cores(0, tmp_path) == 1.5


def test_processor(tmp_path: Path) -> None:
    put(tmp_path, cpuinfo="processor : 0\nmodel name\t: Abacus 9\nmodel name\t: Abacus 9\n")
    assert machine.processor(tmp_path) == "Abacus 9"
    assert machine.processor(tmp_path / "none") == (platform.processor() or platform.machine())


@pytest.mark.parametrize(
    ("flags", "name"),
    [
        ("fpu avx512_bf16 amx_tile amx_bf16", "Abacus 9 (AMX)"),
        ("fpu avx512_bf16", "Abacus 9 (AVX-512 BF16)"),
        ("fpu avx512_bf16x amx_tile", "Abacus 9"),
    ],
)
def test_processor_says_how_it_multiplies_bf16(tmp_path: Path, flags: str, name: str) -> None:
    put(tmp_path, cpuinfo=f"model name : Abacus 9\nflags\t\t: {flags}\n\nmodel name : Abacus 9\nflags : x\n")
    assert machine.processor(tmp_path) == name
    assert machine.processor_name(tmp_path) == "Abacus 9"


def test_peak_memory_of_this_process(tmp_path: Path) -> None:
    put(tmp_path, self__status="Name:\tx\nVmPeak:\t 900 kB\nVmHWM:\t   123 kB\nVmRSS:\t 100 kB\n")
    assert machine.peak_memory(proc=tmp_path) == 123 * 1024
    grown = (  # in a new process, whose peak is what it holds
        "from dragoman.base.machine import peak_memory\n"
        "before = peak_memory()\nblock = bytearray(200_000_000)\nprint(peak_memory() - before)"
    )
    run = subprocess.run([sys.executable, "-c", grown], check=True, capture_output=True, text=True)
    assert 0.9 * 200_000_000 <= int(run.stdout) <= 1.2 * 200_000_000


def test_peak_memory_of_children() -> None:
    subprocess.run([sys.executable, "-c", "x = bytearray(300_000_000)"], check=True)
    peak = machine.peak_memory(of_children=True)
    assert peak is not None
    assert peak >= 300_000_000
