"""Facts about this machine from the operating system: cores, memory, processor, how busy it is.

A function returns None if the system does not provide the fact (outside Linux, or hidden by a container).
"""

from __future__ import annotations

import os
import platform
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dragoman.base.errors import ConfigError

PROC = Path("/proc")
CGROUP = Path("/sys/fs/cgroup")
_BF16_UNITS = {"amx_bf16": "AMX", "avx512_bf16": "AVX-512 BF16"}  # Linux flag: name, the fastest first


def cores() -> int:
    """Number of cores this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


def core_quota(cgroup: Path = CGROUP) -> float | None:
    """Cores that a container may use, from cgroup version 2 or 1; None without a limit."""
    quota, _, period = _read(cgroup / "cpu.max").partition(" ")
    if not quota:
        quota = _read(cgroup / "cpu/cpu.cfs_quota_us")
        period = _read(cgroup / "cpu/cpu.cfs_period_us")
    try:
        limit = int(quota) / int(period)
    except (ValueError, ZeroDivisionError):  # "max", or no such file
        return None
    return limit if limit > 0 else None


def usable_cores() -> int:
    """Threads that are worth starting: the cores of this process, its container and OMP_NUM_THREADS allow."""
    quota, asked = core_quota(), os.environ.get("OMP_NUM_THREADS", "")
    usable = cores() if quota is None else min(cores(), max(1, int(quota)))
    return min(usable, int(asked)) if asked.isdecimal() and int(asked) else usable


def busy_cores(seconds: float = 0.3, proc: Path = PROC) -> float | None:
    """Cores that other processes keep busy, measured while this process sleeps for `seconds`.

    Time that a hypervisor gave to other guests (steal) counts as busy. Without /proc, the load average.
    """
    before = ticks(proc)
    time.sleep(seconds)
    after = ticks(proc)
    if before is None or after is None:
        try:
            return os.getloadavg()[0]
        except (AttributeError, OSError):
            return None
    idle, total = after[0] - before[0], after[1] - before[1]
    return (1 - idle / total) * (os.cpu_count() or 1) if total else None


def memory(proc: Path = PROC, cgroup: Path = CGROUP) -> tuple[int | None, int | None]:
    """Total and available bytes, of the machine or of the container, whichever is less."""
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


def peak_memory(*, of_children: bool = False, proc: Path = PROC) -> int | None:
    """Most bytes that this process has held in memory so far (peak resident set size).

    With `of_children`, the most that any one finished descendant held. Pages shared with other processes
    count in full.
    """
    if not of_children:
        # Not getrusage: after an exec its figure still contains the memory of the process that forked.
        for line in _read(proc / "self/status").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    try:
        import resource
    except ImportError:  # Windows
        return None
    used = resource.getrusage(resource.RUSAGE_CHILDREN if of_children else resource.RUSAGE_SELF)
    return used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def processor(proc: Path = PROC) -> str:
    """Name of the processor, and its unit for bf16 products: `Intel(R) Xeon(R) Processor (AMX)`."""
    flags = _cpuinfo("flags", proc).split()
    units = [unit for flag, unit in _BF16_UNITS.items() if flag in flags]
    return processor_name(proc) + (f" ({units[0]})" if units else "")


def processor_name(proc: Path = PROC) -> str:
    """Name of the processor, or its architecture if it has none."""
    return _cpuinfo("model name", proc) or platform.processor() or platform.machine()


def _cpuinfo(field: str, proc: Path) -> str:
    """A field of the first core that has it."""
    for line in _read(proc / "cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return ""


def ticks(proc: Path = PROC) -> tuple[int, int] | None:
    """Idle ticks and all ticks, of all cores together, since the machine started."""
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
    """Folder for files that can be recreated: $XDG_CACHE_HOME/dragoman or ~/.cache/dragoman."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path(os.path.expanduser("~")) / ".cache") / "dragoman"


def optional_package(module: str, extra: str) -> Any:
    """Import a module of a package that an `extra` of dragoman installs. Raises ConfigError without it."""
    try:
        return import_module(module)
    except ImportError as error:
        what = f"{module.partition('.')[0]} is not installed"
        raise ConfigError(what, hint=f"pip install 'dragoman[{extra}]'") from error


def has_pytorch() -> bool:
    """Whether PyTorch is installed. Does not import it."""
    try:
        return "torch" in sys.modules or find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


def require_pytorch(what: str) -> None:
    """Raise ConfigError, which says that `what` needs PyTorch, if it is not installed."""
    if not has_pytorch():
        raise _error(what)


def missing_pytorch(error: Exception, what: str) -> ConfigError | None:
    """Return the error of `require_pytorch` if `error` is a failed import of PyTorch."""
    return _error(what) if isinstance(error, ModuleNotFoundError) and error.name == "torch" else None


def _error(what: str) -> ConfigError:
    return ConfigError(f"{what} needs PyTorch", hint="pip install 'dragoman[train]'")
