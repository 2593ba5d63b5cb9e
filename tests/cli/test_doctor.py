from __future__ import annotations

import builtins
import json
import os
import subprocess
import sys
import types
from dataclasses import asdict
from pathlib import Path

import pytest

from dragoman.base import machine
from dragoman.base.errors import ConfigError
from dragoman.cli import doctor
from dragoman.cli.doctor import Finding, examine, to_text
from dragoman.training import rates
from dragoman.training.step import precision


@pytest.fixture(autouse=True)
def quiet_machine(monkeypatch) -> None:
    """What other programs do meanwhile is none of the tests' business, and looking takes time."""
    monkeypatch.setattr(doctor.machine, "busy_cores", lambda: 0.0)
    monkeypatch.setattr(doctor.machine, "memory", lambda: (16_000_000_000, 12_000_000_000))


def by_name(**options) -> dict[str, Finding]:
    return {finding.name: finding for finding in examine(**({"measure": False} | options))}


def test_this_machine_passes() -> None:
    found = by_name()
    assert {name for name, finding in found.items() if finding.status == "problem"} == set()
    assert list(found) == [
        "Python", "packages", "native engine", "torch", "processor", "loops in C", "cores", "GPU", "load",
        "memory", "folder", "text",
    ]  # fmt: skip
    import torch

    assert found["torch"].data["version"] == torch.__version__
    assert found["cores"].data["threads"] == torch.get_num_threads()
    assert "torch " + torch.__version__ in found["packages"].value
    assert found["processor"].data["precision"] in ("fp32", "bf16")


def test_findings_are_json() -> None:
    table = json.loads(json.dumps([asdict(finding) for finding in examine(measure=False)]))
    assert table[0]["name"] == "Python"
    assert set(table[0]) == {"name", "value", "status", "advice", "data"}


def test_text() -> None:
    findings = [
        Finding(name="load", value="other programs use 1.0 of 2 cores", status="warning", advice="see top"),
        Finding(name="memory", value="12 GB"),
        Finding(name="folder", value="/x is not writable", status="problem", advice="choose another"),
    ]
    assert to_text(findings).splitlines() == [
        "! load    other programs use 1.0 of 2 cores",
        "          -> see top",
        "  memory  12 GB",
        "✗ folder  /x is not writable",
        "          -> choose another",
        "",
        "1 problem and 1 warning",
    ]
    assert to_text(findings[1:2]).endswith("no problems")
    long = Finding(name="packages", value="torch 2.13.0, " * 20, status="note", advice="install " * 20)
    assert max(map(len, to_text([long]).splitlines())) <= 100


def test_missing_and_old_packages(monkeypatch) -> None:
    def version(name: str) -> str:
        if name == "sentencepiece":
            raise doctor.importlib.metadata.PackageNotFoundError(name)
        return {"sacrebleu": "1.5.1", "torch": "2.13.0+cpu", "rich": "13.7"}.get(name, "99")

    requirements = [
        "torch>=2.11",
        "sacrebleu>=2.4",
        "sentencepiece>=0.2",
        "rich>=13.7.0",
        "pytest>=8; extra == 'dev'",
    ]
    monkeypatch.setattr(doctor.importlib.metadata, "version", version)
    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda _: requirements)
    packages = by_name()["packages"]
    assert packages.status == "problem"
    assert packages.advice == "pip install 'sentencepiece>=0.2' 'sacrebleu>=2.4'"
    assert "sentencepiece (missing)" in packages.value


def test_a_broken_torch_is_a_finding(monkeypatch) -> None:
    real = builtins.__import__

    def broken(name: str, *rest, **options):
        if name == "torch":
            raise OSError("libtorch.so: no such file")
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", broken)
    monkeypatch.delitem(sys.modules, "torch")
    torch = by_name(measure=True)["torch"]
    assert torch.status == "problem"
    assert "libtorch.so" in torch.value


@pytest.mark.parametrize(
    ("cores", "quota", "threads", "variable", "status", "advice"),
    [
        (4, None, 4, None, "fine", ""),
        (8, 2.5, 8, None, "warning", "OMP_NUM_THREADS=2"),
        (2, None, 4, "4", "warning", "OMP_NUM_THREADS=2"),
        (4, None, 1, "1", "note", "OMP_NUM_THREADS=1 leaves cores unused"),
        (4, 0.5, 1, None, "fine", ""),
    ],
)
def test_threads_and_cores(monkeypatch, cores, quota, threads, variable, status, advice) -> None:
    monkeypatch.setattr(doctor.machine, "cores", lambda: cores)
    monkeypatch.setattr(doctor.machine, "core_quota", lambda: quota)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if variable:
        monkeypatch.setenv("OMP_NUM_THREADS", variable)
    finding = doctor._threads(types.SimpleNamespace(get_num_threads=lambda: threads))
    assert finding.status == status
    assert advice in finding.advice
    assert bool(finding.advice) == (status != "fine")


def test_busy_cores_are_a_warning(monkeypatch) -> None:
    monkeypatch.setattr(doctor.machine, "cores", lambda: 2)
    monkeypatch.setattr(doctor.machine, "busy_cores", lambda: 1.4)
    load = by_name()["load"]
    assert load.status == "warning"
    assert "1.4 of" in load.value
    monkeypatch.setattr(doctor.machine, "busy_cores", lambda: 0.4)
    assert by_name()["load"].status == "fine"
    monkeypatch.setattr(doctor.machine, "busy_cores", lambda: None)
    assert by_name()["load"].value == "unknown"


def test_memory(monkeypatch) -> None:
    assert by_name()["memory"].value == "12.0 GB free of 16.0 GB"
    monkeypatch.setattr(doctor.machine, "memory", lambda: (4_000_000_000, 1_500_000_000))
    assert by_name()["memory"].status == "warning"
    for unknown in ((None, None), (8_000_000_000, None)):
        monkeypatch.setattr(doctor.machine, "memory", lambda unknown=unknown: unknown)
        assert by_name()["memory"].status == "fine"


def test_folders(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    not_there = tmp_path / "a" / "b"
    found = examine(measure=False, folders=[tmp_path, not_there])
    folders = [finding for finding in found if finding.name == "folder"]
    assert [finding.data["writable"] for finding in folders] == [True, True]
    assert not not_there.exists()  # looking changes nothing
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]

    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", refuse)
    folder = by_name(folders=[tmp_path])["folder"]
    assert folder.status == "problem"
    assert "is not writable (Permission denied)" in folder.value


def test_the_cache_follows_xdg(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert machine.cache_folder() == tmp_path / "dragoman"
    assert machine.cache_folder() in doctor.default_folders()
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert machine.cache_folder() == Path.home() / ".cache" / "dragoman"


def gpu_torch(**options) -> types.SimpleNamespace:
    properties = types.SimpleNamespace(name="Abacus G1", total_memory=24_000_000_000)
    cuda = {
        "is_available": lambda: True, "device_count": lambda: 2, "is_bf16_supported": lambda: True,
        "get_device_properties": lambda n: properties,
    } | options  # fmt: skip
    return types.SimpleNamespace(
        cuda=types.SimpleNamespace(**cuda), version=types.SimpleNamespace(cuda="12.8")
    )


def test_gpu(monkeypatch) -> None:
    found = doctor._gpu(gpu_torch())
    assert found.value == "Abacus G1 (24 GB), Abacus G1 (24 GB), bf16 yes"
    blind = gpu_torch(is_available=lambda: False)
    monkeypatch.setattr(doctor.shutil, "which", lambda _: "/usr/bin/nvidia-smi")
    assert "driver" in doctor._gpu(blind).advice
    blind.version.cuda = None
    assert "torch built for CUDA" in doctor._gpu(blind).advice
    assert doctor._gpu(blind).status == "warning"


def test_output_that_is_not_utf8(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdout", types.SimpleNamespace(encoding="ascii"))
    assert doctor._encoding().status == "warning"
    assert "PYTHONUTF8" in doctor._encoding().advice


def test_speed(monkeypatch) -> None:
    import torch

    speeds = {torch.float32: 200e9, torch.bfloat16: 900e9}

    def product_rates(dtype, device, *, size, seconds):
        assert (device, size) == ("cpu", 1024)
        return speeds[dtype]

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(rates, "product_rates", product_rates)
    speed = by_name(measure=True)["speed"]
    assert speed.value == "matrix products: fp32 200, bf16 900 GFLOP/s"
    assert speed.data == {"cpu_fp32": 200.0, "cpu_bf16": 900.0}
    assert speed.status == "fine"
    speeds[torch.bfloat16] = 210e9
    for native, advised in ((True, True), (False, False)):  # without bf16, training is in float32 anyway
        monkeypatch.setattr(precision, "multiplies_bf16", lambda _, native=native: native)
        assert ("fp32" in by_name(measure=True)["speed"].advice) == advised


def test_the_processor_is_named_once() -> None:
    """Its units are in the list of features, not also behind the name."""
    assert by_name()["processor"].value.count("AMX") <= 1


def test_the_features_of_arm(monkeypatch) -> None:
    features = {"neon": True, "fp16_arith": True, "dot": True, "i8mm": True, "bf16": True, "sve": False}
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: features)

    assert ": NEON, dotprod, i8mm, bf16; trains in" in by_name()["processor"].value


@pytest.mark.thorough
def test_importing_it_imports_no_torch() -> None:
    code = "import sys, dragoman.cli.doctor; sys.exit('torch' in sys.modules)"
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONSTARTUP"}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


def test_the_native_engine(monkeypatch) -> None:
    from dragoman.translation.native import build, library

    monkeypatch.delenv("DRAGOMAN_ENGINE", raising=False)
    monkeypatch.setattr(build, "unavailable", lambda: None)
    monkeypatch.setattr(library, "instructions", lambda: "avx2")
    assert doctor._engine().value == "avx2 (float32, bfloat16, int8)"
    assert doctor._engine().status == "fine"
    monkeypatch.setenv("DRAGOMAN_ENGINE", "pytorch")
    assert doctor._engine().value.endswith("switched off by DRAGOMAN_ENGINE=pytorch")

    def refuse() -> str:
        raise ConfigError("DRAGOMAN_INSTRUCTIONS = amx: not on this processor", hint="unset it")

    monkeypatch.setattr(library, "instructions", refuse)
    assert (doctor._engine().status, doctor._engine().advice) == ("problem", "unset it")
    monkeypatch.setattr(build, "unavailable", lambda: "no C++ compiler")
    assert doctor._engine().value == "not in use: no C++ compiler; PyTorch translates"
    assert "g++" in doctor._engine().advice


@pytest.mark.parametrize(("reason", "status"), [(None, "note"), ("no C++ compiler", "problem")])
def test_without_torch(monkeypatch, reason: str | None, status: str) -> None:
    """It is a problem only if nothing else translates."""
    from dragoman.translation.native import build, library

    monkeypatch.setattr(build, "unavailable", lambda: reason)
    monkeypatch.setattr(library, "instructions", lambda: "avx2")
    monkeypatch.setattr(doctor, "has_pytorch", lambda: False)
    monkeypatch.setitem(sys.modules, "torch", None)
    real = doctor.importlib.metadata.version

    def version(name: str) -> str:
        if name == "torch":
            raise doctor.importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(doctor.importlib.metadata, "version", version)
    found = by_name(measure=True)

    assert found["torch"].status == status
    assert found["torch"].advice == "pip install 'dragoman[train]'"
    assert "torch" not in found["packages"].advice
    assert "speed" not in found


def test_floors_of_all_libraries_are_known(monkeypatch) -> None:
    requirements = [
        "typer<0.29,>=0.15",
        "torch>=2.11; extra == 'train'",
        "ruff>=0.11; extra == 'dev'",
        "rich>=13",
    ]
    monkeypatch.setattr(doctor.importlib.metadata, "requires", lambda _: requirements)

    assert doctor._floors() == {"typer": "0.15", "torch": "2.11", "rich": "13"}


def test_an_engine_that_does_not_exist_is_a_problem(monkeypatch) -> None:
    monkeypatch.setenv("DRAGOMAN_ENGINE", "bogus")
    found = by_name()["native engine"]
    assert (found.status, "bogus" in found.value) == ("problem", True)


def test_a_user_without_a_home_gets_findings(monkeypatch) -> None:
    def home() -> Path:
        raise RuntimeError("could not determine the home directory")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", home)
    assert by_name()["folder"].value
