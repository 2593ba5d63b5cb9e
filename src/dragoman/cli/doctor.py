"""`dragoman doctor`: whether this machine can train and translate, how fast, and advice."""

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
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import typer

from dragoman.base import machine
from dragoman.base.errors import ConfigError
from dragoman.base.machine import has_pytorch
from dragoman.base.tables import count
from dragoman.cli.options import Json
from dragoman.cli.outcome import to_json
from dragoman.version import __version__

Status = Literal["fine", "note", "warning", "problem"]
_MARKS = {"fine": " ", "note": "·", "warning": "!", "problem": "✗"}
_LIBRARIES = ("torch", "numpy", "sentencepiece", "sacrebleu", "safetensors", "rich", "typer")
_GIGA = 1e9


def doctor(as_json: Json = False) -> None:
    """Check this machine: Python, native engine, torch, cores, bf16, memory and GPU. Suggest changes.

    Exits with 1 if a problem stops dragoman from working.

    \b
      dragoman doctor
      dragoman doctor --json
    """
    findings = examine()
    print(to_json([asdict(finding) for finding in findings]) if as_json else to_text(findings))
    if any(finding.status == "problem" for finding in findings):
        raise typer.Exit(1)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that was checked.

    A note needs no action, a warning costs time or results, a problem stops work.
    """

    name: str
    value: str
    status: Status = "fine"
    advice: str = ""
    data: dict[str, Any] = field(default_factory=dict)  # the figures in `value`


def examine(*, measure: bool = True, folders: Sequence[Path] | None = None) -> list[Finding]:
    """Return all findings, in about two seconds. Without `measure` the speed is left out.

    `folders` must be writable: by default the current folder, the one for temporary files and the cache.
    A problem is a finding, never an exception.
    """
    engine = _engine()
    findings = [_python(), _packages(), engine]
    try:
        import torch
    except Exception as error:  # a broken build can raise anything
        findings.append(_no_torch(error, needed=not engine.data["available"]))
    else:
        findings += [_torch(torch), _processor(torch), _loops(), _threads(torch), _gpu(torch)]
    places = default_folders() if folders is None else folders
    findings += [_busy(), _memory(), *_folders(places), _encoding()]
    if measure and (loaded := sys.modules.get("torch")):
        findings.append(_speed(loaded))
    return findings


def default_folders() -> tuple[Path, ...]:
    """Folders that training and translating write to."""
    return Path.cwd(), Path(tempfile.gettempdir()), machine.cache_folder()


def to_text(findings: Sequence[Finding]) -> str:
    """One line for each finding with its advice below, then a verdict. Without a final newline."""
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
    verdict = [count(n, word) for n, word in ((problems, "problem"), (warnings, "warning")) if n]
    return "\n".join([*lines, "", " and ".join(verdict) or "no problems"])


def _judged(
    name: str, value: str, data: dict[str, Any], otherwise: Status, advice: str, *, fine: bool
) -> Finding:
    """A finding that is fine, or otherwise has that status and this advice."""
    if fine:
        return Finding(name=name, value=value, data=data)
    return Finding(name=name, value=value, data=data, status=otherwise, advice=advice)


def _python() -> Finding:
    version = platform.python_version()
    value = f"{version} ({platform.python_implementation()}), {platform.system()} {platform.machine()}"
    data = {"version": version, "executable": sys.executable, "system": platform.platform()}
    new = sys.version_info >= (3, 11)
    return _judged("Python", value, data, "problem", "dragoman needs Python 3.11 or newer", fine=new)


def _packages() -> Finding:
    floors = _floors()
    versions: dict[str, str | None] = {}
    wrong: list[str] = []
    for name in _LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
        version, floor = versions[name], floors.get(name, "")
        if version is None and name == "torch":
            continue  # optional: it has a finding of its own
        if version is None or _numbers(version) < _numbers(floor):
            wrong.append(f"{name}>={floor}" if floor else name)
    data = {"dragoman": __version__, **versions}
    value = ", ".join(f"{name} {version or '(missing)'}" for name, version in data.items())
    advice = "pip install " + " ".join(f"'{requirement}'" for requirement in wrong)
    return _judged("packages", value, data, "problem", advice, fine=not wrong)


def _floors() -> dict[str, str]:
    """Lowest supported version of each library, from the metadata of the package."""
    try:
        requirements = importlib.metadata.requires("dragoman") or []
    except importlib.metadata.PackageNotFoundError:  # run from the source
        requirements = []
    # torch is in an extra, and some have an upper limit, too.
    form = re.compile(r"([\w.-]+)\s*(?:<[\d.]+,)?>=\s*([\d.]+)\s*(?:;\s*extra == ['\"]train['\"])?$")
    matches = [form.match(requirement) for requirement in requirements]
    return {match[1]: match[2] for match in matches if match}


def _numbers(version: str) -> tuple[int, ...]:
    """`2.13.0+cpu` as (2, 13): without trailing zeros and suffixes."""
    release = re.match(r"\d+(\.\d+)*", version)
    numbers = [int(part) for part in release[0].split(".")] if release else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _engine() -> Finding:
    """Whether the native engine translates. Compiles it the first time."""
    from dragoman.translation.native.build import unavailable
    from dragoman.translation.native.choice import wanted_engine
    from dragoman.translation.native.library import TYPES, instructions

    name = "native engine"
    try:
        off, reason = wanted_engine() == "pytorch", unavailable()
        chosen = instructions() if reason is None else ""
    except ConfigError as error:
        data = {"available": False, "reason": str(error)}
        return Finding(name=name, value=str(error), status="problem", advice=error.hint, data=data)
    if reason is not None:
        value, data = f"not in use: {reason}; PyTorch translates", {"available": False, "reason": reason}
        advice = "install g++ or clang++: translation is then faster, and needs no PyTorch"
        return Finding(name=name, value=value, status="note", advice=advice, data=data)
    value = f"{chosen} ({', '.join(TYPES)})" + (", switched off by DRAGOMAN_ENGINE=pytorch" if off else "")
    data = {"available": True, "instructions": chosen, "types": list(TYPES)}
    return Finding(name=name, value=value, data=data)


def _no_torch(error: Exception, *, needed: bool) -> Finding:
    if has_pytorch():
        value, advice = f"cannot be imported: {error}", "reinstall it: pip install --force-reinstall torch"
        return Finding(name="torch", value=value, status="problem", advice=advice)
    value = "not installed: training, inspection, and translation without the native engine need it"
    status: Status = "problem" if needed else "note"
    return Finding(name="torch", value=value, status=status, advice="pip install 'dragoman[train]'")


def _torch(torch: Any) -> Finding:
    if torch.version.cuda:
        build = f"for CUDA {torch.version.cuda}"
    elif getattr(torch.version, "hip", None):
        build = f"for ROCm {torch.version.hip}"
    else:
        build = "for the CPU"
    onednn = torch.backends.mkldnn.is_available()
    value = f"{torch.__version__}, built {build}, {'with' if onednn else 'without'} oneDNN"
    data = {"version": str(torch.__version__), "cuda": torch.version.cuda, "onednn": onednn}
    status: Status = "note" if "CPU" in build else "fine"
    advice = "bf16 on a CPU is slow without oneDNN: set training.precision=fp32"
    return _judged("torch", value, data, status, advice, fine=onednn)


def _processor(torch: Any) -> Finding:
    """The features of the processor, and the precision that training chooses for it."""
    from dragoman.training.step.precision import precision_for

    has = torch.cpu.get_capabilities()
    named = {
        "AVX2": has.get("avx2"),
        "AVX-512": has.get("avx512_f"),
        "VNNI": has.get("avx512_vnni") or has.get("avx_vnni"),
        "NEON": has.get("neon"),
        "dotprod": has.get("dot"),
        "i8mm": has.get("i8mm"),
        "SVE": has.get("sve"),
        "bf16": has.get("avx512_bf16") or has.get("bf16"),
        "AMX": has.get("amx_bf16"),
    }
    features = ", ".join(name for name, there in named.items() if there) or "no known vector extensions"
    precision = precision_for("auto", torch.device("cpu"))
    value = f"{machine.processor_name()}: {features}; trains in {precision}"
    data = {"precision": precision, "capabilities": {name: bool(there) for name, there in named.items()}}
    advice = "training takes about twice as long without native bf16"
    return _judged("processor", value, data, "note", advice, fine=precision == "bf16")


def _loops() -> Finding:
    """Whether training uses the loops in C. Compiles them the first time."""
    from dragoman.models import loops as native

    works = native.enable()
    off = os.environ.get("DRAGOMAN_NATIVE", "1") == "0"
    reason = "switched off by DRAGOMAN_NATIVE=0" if off else "no working C compiler"
    value = "compiled for this processor" if works else f"not in use: {reason}"
    advice = "" if off else "install gcc or clang: training on a CPU is then faster"
    return _judged("loops in C", value, {"compiled": works}, "note", advice, fine=works)


def _threads(torch: Any) -> Finding:
    cores, quota, threads = machine.cores(), machine.core_quota(), torch.get_num_threads()
    usable = cores if quota is None else min(cores, max(1, int(quota)))
    value = f"{usable} usable of {os.cpu_count()}, torch uses {count(threads, 'thread')}"
    data = {"cores": cores, "quota": quota, "usable": usable, "threads": threads}
    if threads > usable:
        advice = f"more threads than cores slow each other down: set OMP_NUM_THREADS={usable}"
        return Finding(name="cores", value=value, data=data, status="warning", advice=advice)
    set_to = os.environ.get("OMP_NUM_THREADS")
    advice = f"OMP_NUM_THREADS={set_to} leaves cores unused; unset it to train faster"
    return _judged("cores", value, data, "note", advice, fine=threads == usable or set_to is None)


def _gpu(torch: Any) -> Finding:
    devices = []
    if torch.cuda.is_available():
        for n in range(torch.cuda.device_count()):
            properties = torch.cuda.get_device_properties(n)
            devices.append({"name": properties.name, "memory": properties.total_memory})
    if devices:
        shown = ", ".join(f"{d['name']} ({d['memory'] / _GIGA:.0f} GB)" for d in devices)
        bf16 = torch.cuda.is_bf16_supported()
        value = f"{shown}, bf16 {'yes' if bf16 else 'no'}"
        return Finding(name="GPU", value=value, data={"devices": devices, "bf16": bf16})
    if Path("/dev/nvidiactl").exists() or shutil.which("nvidia-smi"):
        advice = (
            "install a torch built for CUDA: see https://pytorch.org/get-started/locally"
            if not torch.version.cuda
            else "compare the CUDA version in nvidia-smi with the one above: the driver may be too old"
        )
        value = "this machine has an NVIDIA GPU, but torch cannot use it"
        return Finding(name="GPU", value=value, status="warning", advice=advice, data={"devices": []})
    return Finding(name="GPU", value="none, the CPU is used", data={"devices": []})


def _busy() -> Finding:
    busy, cores = machine.busy_cores(), machine.cores()
    if busy is None:
        return Finding(name="load", value="unknown")
    value = f"other programs use {busy:.1f} of {os.cpu_count()} cores"
    advice = "they slow training down and falsify measured speeds: see top"
    data = {"busy_cores": round(busy, 2)}
    return _judged("load", value, data, "warning", advice, fine=busy <= 0.25 * cores)


def _memory() -> Finding:
    total, available = machine.memory()
    data = {"total": total, "available": available}
    if total is None:
        return Finding(name="memory", value="unknown", data=data)
    if available is None:
        return Finding(name="memory", value=f"{total / _GIGA:.1f} GB", data=data)
    value = f"{available / _GIGA:.1f} GB free of {total / _GIGA:.1f} GB"
    advice = "training needs about 2 GB: close programs, or lower training.batch_tokens"
    return _judged("memory", value, data, "warning", advice, fine=available >= 2 * _GIGA)


def _folders(folders: Iterable[Path]) -> list[Finding]:
    findings = []
    for folder in folders:
        nearest = next((path for path in (folder, *folder.parents) if path.is_dir()), folder)
        try:
            # Permissions alone can mislead (read-only mounts, root), so try.
            with tempfile.TemporaryFile(dir=nearest):
                pass
            free = shutil.disk_usage(nearest).free
        except OSError as error:
            value = f"{folder} is not writable ({error.strerror or error})"
            advice = "use another folder: cd elsewhere, or set TMPDIR or XDG_CACHE_HOME"
            data: dict[str, Any] = {"path": str(folder), "writable": False}
            findings.append(Finding(name="folder", value=value, status="problem", advice=advice, data=data))
            continue
        value = f"{folder} is writable, {free / _GIGA:.1f} GB free"
        advice = "checkpoints need about 1 GB: free some space"
        data = {"path": str(folder), "writable": True, "free": free}
        findings.append(_judged("folder", value, data, "warning", advice, fine=free >= _GIGA))
    return findings


def _encoding() -> Finding:
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    value, advice = f"output is {encoding}", "some translations cannot be printed: set PYTHONUTF8=1"
    fine = encoding.replace("-", "") == "utf8"
    return _judged("text", value, {"encoding": encoding}, "warning", advice, fine=fine)


def _speed(torch: Any) -> Finding:
    """The rate of matrix products, which are most of the work."""
    from dragoman.training.rates import product_rates
    from dragoman.training.step.precision import precision_for

    devices = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    data: dict[str, float] = {}
    shown: list[str] = []
    for device in devices:
        for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
            size = 1024 if device == "cpu" else None  # smaller than a benchmark's, so that it is quick
            speed = product_rates(dtype, device, size=size, seconds=0.3) / _GIGA
            data[f"{device}_{name}"] = speed
            shown.append(f"{name} {speed:,.0f}" if device == "cpu" else f"GPU {name} {speed:,.0f}")
    chosen = precision_for("auto", torch.device(devices[-1]))
    slow = chosen == "bf16" and len(devices) == 1 and data["cpu_bf16"] < 1.2 * data["cpu_fp32"]
    value = f"matrix products: {', '.join(shown)} GFLOP/s"
    advice = "bf16 is no faster on this processor: set training.precision=fp32"
    return _judged("speed", value, data, "note", advice, fine=not slow)
