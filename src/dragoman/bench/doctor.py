"""What `dragoman doctor` finds: whether this machine can train and translate, how fast, what to change."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import dragoman.base.machine as machine
from dragoman.version import __version__

if TYPE_CHECKING:
    import torch

Status = Literal["fine", "note", "warning", "problem"]
_MARKS = {"fine": " ", "note": "·", "warning": "!", "problem": "✗"}
_LIBRARIES = ("torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "rich", "typer")
_GIGA = 1e9


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing looked at. A note can be left so, a warning costs time or results, a problem stops work."""

    name: str
    value: str
    status: Status = "fine"
    advice: str = ""
    data: dict[str, Any] = field(default_factory=dict)  # the figures behind `value`


def examine(*, measure: bool = True, folders: Sequence[Path] | None = None) -> list[Finding]:
    """Everything worth knowing, in about two seconds; without `measure` no speed is taken.

    `folders` are those that must be writable: by default the current one, the one for temporary files
    and the cache. Never raises on account of what it finds.
    """
    findings = [_python(), _packages()]
    try:
        import torch
    except Exception as error:  # a broken build can raise anything
        advice = "install it again: pip install --force-reinstall torch"
        findings.append(
            Finding(name="torch", value=f"cannot be imported: {error}", status="problem", advice=advice)
        )
    else:
        findings += [_torch(torch), _processor(torch), _loops(), _threads(torch), _gpu(torch)]
    findings += [
        _busy(),
        _memory(),
        *_folders(default_folders() if folders is None else folders),
        _encoding(),
    ]
    if measure and "torch" in sys.modules:
        findings.append(_speed(sys.modules["torch"]))
    return findings


def default_folders() -> tuple[Path, ...]:
    return Path.cwd(), Path(tempfile.gettempdir()), machine.cache_folder()


def to_table(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """Plain values, for JSON."""
    return [asdict(finding) for finding in findings]


def to_text(findings: Sequence[Finding]) -> str:
    """A line a finding, advice below it, and a verdict; no last newline."""
    width = max((len(finding.name) for finding in findings), default=0)
    margin = " " * (width + 4)
    lines = []
    for finding in findings:
        head = f"{_MARKS[finding.status]} {finding.name:<{width}}  "
        lines += textwrap.wrap(finding.value, 100, initial_indent=head, subsequent_indent=margin)
        if finding.advice:
            advice = margin + "-> "
            lines += textwrap.wrap(finding.advice, 100, initial_indent=advice, subsequent_indent=margin)
    problems = sum(finding.status == "problem" for finding in findings)
    warnings = sum(finding.status == "warning" for finding in findings)
    verdict = [
        f"{n} {word}{'' if n == 1 else 's'}"
        for n, word in ((problems, "problem"), (warnings, "warning"))
        if n
    ]
    return "\n".join([*lines, "", " and ".join(verdict) if verdict else "nothing stands in the way"])


def _python() -> Finding:
    version = platform.python_version()
    value = f"{version} ({platform.python_implementation()}), {platform.system()} {platform.machine()}"
    old = sys.version_info < (3, 11)
    return Finding(
        name="Python",
        value=value,
        status="problem" if old else "fine",
        advice="dragoman needs Python 3.11 or newer" if old else "",
        data={"version": version, "executable": sys.executable, "system": platform.platform()},
    )


def _packages() -> Finding:
    floors = _floors()
    found: dict[str, str | None] = {}
    wrong: list[str] = []
    for name in _LIBRARIES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
        version, floor = found[name], floors.get(name, "")
        if version is None or _numbers(version) < _numbers(floor):
            wrong.append(f"{name}>={floor}" if floor else name)
    return Finding(
        name="packages",
        value=f"dragoman {__version__}, " + ", ".join(f"{n} {v or '(missing)'}" for n, v in found.items()),
        status="problem" if wrong else "fine",
        advice="pip install " + " ".join(f"'{requirement}'" for requirement in wrong) if wrong else "",
        data={"dragoman": __version__, **found},
    )


def _floors() -> dict[str, str]:
    """The lowest version of each library that dragoman was written for, as its package says."""
    try:
        requirements = importlib.metadata.requires("dragoman") or []
    except importlib.metadata.PackageNotFoundError:  # run from the sources
        requirements = []
    matches = [re.match(r"([\w.-]+)\s*>=\s*([\d.]+)\s*$", requirement) for requirement in requirements]
    return {match[1]: match[2] for match in matches if match}


def _numbers(version: str) -> tuple[int, ...]:
    """`2.13.0+cpu` as (2, 13): trailing zeros and what follows the numbers do not count."""
    release = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in release[0].split(".")] if release else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _torch(torch: Any) -> Finding:
    if torch.version.cuda:
        build = f"for CUDA {torch.version.cuda}"
    elif getattr(torch.version, "hip", None):
        build = f"for ROCm {torch.version.hip}"
    else:
        build = "for the CPU"
    onednn = torch.backends.mkldnn.is_available()
    return Finding(
        name="torch",
        value=f"{torch.__version__}, built {build}, {'with' if onednn else 'without'} oneDNN",
        status="fine" if onednn or "CPU" not in build else "note",
        advice=""
        if onednn
        else "without oneDNN, bf16 on the CPU is slow: train with training.precision=fp32",
        data={"version": str(torch.__version__), "cuda": torch.version.cuda, "onednn": onednn},
    )


def _processor(torch: Any) -> Finding:
    """What the processor multiplies natively, and which precision training takes for that."""
    from dragoman.training.precision import precision_on

    has = torch.cpu.get_capabilities()
    named = {
        "AVX2": has.get("avx2"),
        "AVX-512": has.get("avx512_f"),
        "VNNI": has.get("avx512_vnni") or has.get("avx_vnni"),
        "NEON": has.get("neon"),
        "SVE": has.get("sve"),
        "bf16": has.get("avx512_bf16") or has.get("bf16"),
        "AMX": has.get("amx_bf16"),
    }
    features = ", ".join(name for name, there in named.items() if there) or "no vector extensions known"
    precision = precision_on(torch.device("cpu"))
    return Finding(
        name="processor",
        value=f"{machine.processor()}: {features}; trains in {precision}",
        status="fine" if precision == "bf16" else "note",
        advice="" if precision == "bf16" else "without native bf16 training takes about twice as long",
        data={"precision": precision, "capabilities": {name: bool(there) for name, there in named.items()}},
    )


def _loops() -> Finding:
    """Whether training uses the loops in C; compiles them if that was never done."""
    from dragoman import native

    works = native.enable()
    off = os.environ.get("DRAGOMAN_NATIVE", "1") == "0"
    reason = "switched off by DRAGOMAN_NATIVE=0" if off else "no C compiler that works"
    return Finding(
        name="loops in C",
        value="compiled for this processor" if works else f"not in use: {reason}",
        status="fine" if works else "note",
        advice="" if works or off else "with gcc or clang installed training on a CPU is faster",
        data={"compiled": works},
    )


def _threads(torch: Any) -> Finding:
    cores, quota, threads = machine.cores(), machine.core_quota(), torch.get_num_threads()
    usable = cores if quota is None else min(cores, max(1, int(quota)))
    value = f"{usable} usable of {os.cpu_count()}, torch uses {threads} thread{'' if threads == 1 else 's'}"
    status: Status = "fine"
    advice = ""
    if threads > usable:
        status = "warning"
        advice = f"more threads than cores wait for one another: set OMP_NUM_THREADS={usable}"
    elif threads < usable and "OMP_NUM_THREADS" in os.environ:
        status = "note"
        advice = (
            f"OMP_NUM_THREADS={os.environ['OMP_NUM_THREADS']} leaves cores unused; unset it to train faster"
        )
    data = {"cores": cores, "quota": quota, "usable": usable, "threads": threads}
    return Finding(name="cores", value=value, status=status, advice=advice, data=data)


def _gpu(torch: Any) -> Finding:
    devices = []
    if torch.cuda.is_available():
        for n in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(n)
            devices.append({"name": properties.name, "memory": properties.total_memory})
    if devices:
        shown = ", ".join(f"{d['name']} ({d['memory'] / _GIGA:.0f} GB)" for d in devices)
        bf16 = torch.cuda.is_bf16_supported()
        return Finding(
            name="GPU",
            value=f"{shown}, bf16 {'yes' if bf16 else 'no'}",
            data={"devices": devices, "bf16": bf16},
        )
    if Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi"):
        advice = (
            "install a torch built for CUDA: see https://pytorch.org/get-started/locally"
            if not torch.version.cuda
            else "is the driver older than this torch? Compare nvidia-smi with the CUDA version above"
        )
        value = "an NVIDIA GPU is here, but torch cannot use it"
        return Finding(name="GPU", value=value, status="warning", advice=advice, data={"devices": []})
    return Finding(name="GPU", value="none; the CPU does the work", data={"devices": []})


def _busy() -> Finding:
    busy, cores = machine.busy_cores(), machine.cores()
    if busy is None:
        return Finding(name="load", value="not known here")
    warn = busy > 0.25 * cores
    return Finding(
        name="load",
        value=f"others keep {busy:.1f} of {os.cpu_count()} cores busy",
        status="warning" if warn else "fine",
        advice="training will be slower, and speeds measured now are too low: see top" if warn else "",
        data={"busy_cores": round(busy, 2)},
    )


def _memory() -> Finding:
    total, available = machine.memory()
    data = {"total": total, "available": available}
    if total is None:
        return Finding(name="memory", value="not known here", data=data)
    if available is None:
        return Finding(name="memory", value=f"{total / _GIGA:.1f} GB", data=data)
    low = available < 2 * _GIGA
    return Finding(
        name="memory",
        value=f"{available / _GIGA:.1f} GB free of {total / _GIGA:.1f} GB",
        status="warning" if low else "fine",
        advice="training wants 2 GB: close programs, or lower training.batch_tokens" if low else "",
        data=data,
    )


def _folders(folders: Iterable[Path]) -> list[Finding]:
    findings = []
    for folder in folders:
        nearest = next((path for path in (folder, *folder.parents) if path.is_dir()), folder)
        try:
            # Asking the file system lies less than asking for permissions (read-only mounts, root).
            with tempfile.TemporaryFile(dir=nearest):
                pass
            free = shutil.disk_usage(nearest).free
        except OSError as error:
            value = f"{folder} cannot be written ({error.strerror or error})"
            advice = "choose another: cd elsewhere, or set TMPDIR or XDG_CACHE_HOME"
            data: dict[str, Any] = {"path": str(folder), "writable": False}
            findings.append(Finding(name="folder", value=value, status="problem", advice=advice, data=data))
            continue
        low = free < _GIGA
        findings.append(
            Finding(
                name="folder",
                value=f"{folder} can be written, {free / _GIGA:.1f} GB free",
                status="warning" if low else "fine",
                advice="checkpoints want 1 GB: make room" if low else "",
                data={"path": str(folder), "writable": True, "free": free},
            )
        )
    return findings


def _encoding() -> Finding:
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    fine = encoding.replace("-", "") == "utf8"
    return Finding(
        name="text",
        value=f"output is {encoding}",
        status="fine" if fine else "warning",
        advice="" if fine else "translations may not print: set PYTHONUTF8=1",
        data={"encoding": encoding},
    )


def _speed(torch: Any) -> Finding:
    """Matrix products, which are nearly all of the work."""
    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    data: dict[str, float] = {}
    shown: list[str] = []
    for device in devices:
        for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
            size = 1024 if device == "cpu" else 8192
            data[f"{device}_{name}"] = speed = matmul_gflops(dtype, device, size=size)
            shown.append(f"{name} {speed:,.0f}" if device == "cpu" else f"GPU {name} {speed:,.0f}")
    slow = data["cpu_bf16"] < 1.2 * data["cpu_fp32"]
    return Finding(
        name="speed",
        value=f"matrix products: {', '.join(shown)} GFLOP/s",
        status="note" if slow and len(devices) == 1 else "fine",
        advice="bf16 brings nothing on this processor: training.precision=fp32"
        if slow and len(devices) == 1
        else "",
        data=data,
    )


def matmul_gflops(
    dtype: torch.dtype, device: str = "cpu", *, size: int = 1024, seconds: float = 0.3
) -> float:
    """Billions of operations a second in (size x size) @ (size x size), the best within `seconds`.

    The best, as whatever else runs on the machine can only take time away.
    """
    import torch

    a, b = (torch.rand(size, size, device=device).to(dtype) for _ in range(2))
    best = float("inf")
    with torch.inference_mode():
        float((a @ b)[0, 0])  # the first call chooses a kernel
        end = time.perf_counter() + seconds
        while (began := time.perf_counter()) < end or best == float("inf"):
            float((a @ b)[0, 0])  # read, as a GPU answers before it has finished
            best = min(best, time.perf_counter() - began)
    return 2 * size**3 / best / 1e9
