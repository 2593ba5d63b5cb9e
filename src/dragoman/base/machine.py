"""What the operating system says about this machine: cores, memory, how busy it is.

Where it does not say (other systems than Linux, containers that hide it), the answer is None.
"""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

PROC = Path("/proc")
CGROUP = Path("/sys/fs/cgroup")


def cores() -> int:
    """Cores this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


def core_quota(cgroup: Path = CGROUP) -> float | None:
    """Cores' worth of time a container is given, by cgroup version 2 or 1; None for no limit."""
    quota, _, period = _read(cgroup / "cpu.max").partition(" ")
    if not quota:
        quota = _read(cgroup / "cpu/cpu.cfs_quota_us")
        period = _read(cgroup / "cpu/cpu.cfs_period_us")
    try:
        limit = int(quota) / int(period)
    except (ValueError, ZeroDivisionError):  # "max", or no such file
        return None
    return limit if limit > 0 else None


def busy_cores(seconds: float = 0.3, proc: Path = PROC) -> float | None:
    """How many cores others keep busy now: measured while this process sleeps for `seconds`.

    Counts time which a hypervisor gave to other guests (steal) as busy.
    """
    before = _ticks(proc)
    time.sleep(seconds)
    after = _ticks(proc)
    if before is None or after is None:
        try:
            return os.getloadavg()[0]
        except (AttributeError, OSError):
            return None
    idle, total = after[0] - before[0], after[1] - before[1]
    return (1 - idle / total) * (os.cpu_count() or 1) if total else None


def busy_seconds(proc: Path = PROC) -> float | None:
    """Seconds of work that all cores together have done since the machine started."""
    ticks = _ticks(proc)
    return None if ticks is None else (ticks[1] - ticks[0]) / os.sysconf("SC_CLK_TCK")


def memory(proc: Path = PROC, cgroup: Path = CGROUP) -> tuple[int | None, int | None]:
    """Bytes in all and bytes available, of the machine or of the container, whichever is less."""
    total = available = None
    fields = dict(line.split(":", 1) for line in _read(proc / "meminfo").splitlines() if ":" in line)
    if "MemTotal" in fields:
        total = 1024 * int(fields["MemTotal"].split()[0])
        available = 1024 * int(fields.get("MemAvailable", fields["MemTotal"]).split()[0])
    elif hasattr(os, "sysconf") and {"SC_PHYS_PAGES", "SC_PAGE_SIZE"} <= os.sysconf_names.keys():
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit_name, used_name in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        limit, used = _read(cgroup / limit_name), _read(cgroup / used_name)
        if limit.isdecimal() and used.isdecimal() and (total is None or int(limit) < total):
            total = int(limit)
            available = min(total - int(used), total if available is None else available)
    return total, available


def processor(proc: Path = PROC) -> str:
    """The processor's name, or its architecture."""
    for line in _read(proc / "cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _ticks(proc: Path) -> tuple[int, int] | None:
    """Idle ticks and all ticks of all cores since the start."""
    head, *fields = (_read(proc / "stat").splitlines() or [""])[0].split() or [""]
    if head != "cpu" or len(fields) < 5:
        return None
    ticks = [int(field) for field in fields[:8]]  # guest time, after these, is in user time already
    return ticks[3] + ticks[4], sum(ticks)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def cache_folder() -> Path:
    """Where what can be made again is kept: $XDG_CACHE_HOME/dragoman or ~/.cache/dragoman."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "dragoman"
