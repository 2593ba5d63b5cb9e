"""The wheels of all platforms: tags, contents, and their libraries in emulators.

$WHEELS is a folder with the wheels to test; without it they are built. $QEMU_LD_PREFIX is the folder of an
arm64 system, for qemu. In it may be Python, and the loader of musl.
"""

from __future__ import annotations

import email
import functools
import importlib.util
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
ROOT = Path(__file__).parents[1]
spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
assert spec is not None
assert spec.loader is not None
hatch_build = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hatch_build)

TARGETS = hatch_build.TARGETS
ARM64 = Path(os.environ.get("QEMU_LD_PREFIX", "/usr/aarch64-linux-gnu"))
MODEL = ROOT / "tests/saved/0.1/transformer"
TEXT = ROOT / "tests/saved/0.1/text/test.en"
LEVELS = ("portable", "avx2", "avx-vnni", "avx512", "avx512-bf16", "amx")
ARM_LEVELS = ("neon", "neon-dotprod", "neon-i8mm", "neon-bf16")


# ---- names -------------------------------------------------------------------------------------------


def test_a_tag_promises_what_its_target_keeps() -> None:
    """Processor and oldest system of the tag, as in PEP 600, PEP 656 and the tags of macOS."""
    for tag, target in TARGETS.items():
        machine, system = target.split("-", 1)
        own = "arm64" if "macos" in target and machine == "aarch64" else machine
        assert all(part.endswith("amd64" if part == "win_amd64" else own) for part in tag.split("."))
        if glibc := re.fullmatch(r"linux-gnu\.2\.(\d+)", system):
            assert tag.startswith(f"manylinux_2_{glibc[1]}_")
        elif macos := re.fullmatch(r"macos\.(\d+)\.(\d+)", system):
            assert tag.startswith(f"macosx_{macos[1]}_{macos[2]}_")
        else:
            assert (system, tag.partition("_")[0]) in {("linux-musl", "musllinux"), ("windows-gnu", "win")}


def test_this_machine_has_a_wheel() -> None:
    from packaging.tags import platform_tags

    if platform.machine() not in ("x86_64", "aarch64", "arm64", "AMD64"):
        pytest.skip("there is no wheel for this processor")
    assert {*platform_tags()} & {part for tag in TARGETS for part in tag.split(".")}


def test_the_library_has_the_name_that_the_system_looks_for() -> None:
    assert [hatch_build.suffix(tag) for tag in TARGETS] == [".so"] * 4 + [".dylib"] * 2 + [".dll"]


# ---- what is inside ----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("wheels")


def built(folder: Path, tag: str) -> Path:
    """The wheel for a platform. It is built once."""
    if made := os.environ.get("WHEELS"):
        (wheel,) = Path(made).glob(f"dragoman-*-py3-none-{tag}.whl")
        (folder / tag).mkdir(exist_ok=True)
        return wheel
    if not any((folder / tag).glob("*.whl")):
        if importlib.util.find_spec("ziglang") is None:
            pytest.skip("needs the package ziglang")
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / tag)]
        environment = os.environ | {"DRAGOMAN_WHEEL": tag}
        subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=3000)
    (wheel,) = (folder / tag).glob("*.whl")
    return wheel


def library(folder: Path, tag: str) -> Path:
    """The engine of the wheel for a platform."""
    place = folder / tag / f"_engine{hatch_build.suffix(tag)}"
    with zipfile.ZipFile(built(folder, tag)) as wheel:
        place.write_bytes(wheel.read(f"dragoman/translation/native/{place.name}"))
    return place


def driver(folder: Path, tag: str) -> Path:
    """tests/wheel_driver.c as a program for a platform."""
    library(folder, tag)
    program = folder / tag / "driver.exe"
    command = [sys.executable, "-m", "ziglang", "cc", "-target", TARGETS[tag], "-O1", "-w"]
    linked = [] if "windows" in TARGETS[tag] else ["-lm", "-ldl", "-dynamic"]
    source = str(ROOT / "tests/wheel_driver.c")
    subprocess.run([*command, source, *linked, "-o", str(program)], check=True, timeout=600)
    return program


def needs(*programs: str, package: str) -> str:
    """The first of these programs on this machine."""
    for program in programs:
        if found := shutil.which(program):
            return found
    pytest.skip(f"needs {package}")


@pytest.mark.slow
@pytest.mark.parametrize("tag", TARGETS)
def test_a_wheel_has_its_tag_and_one_library(folder: Path, tag: str) -> None:
    wheel = built(folder, tag)

    assert wheel.name.endswith(f"-py3-none-{tag}.whl")
    with zipfile.ZipFile(wheel) as inside:
        names = inside.namelist()
        about = email.message_from_bytes(inside.read(next(n for n in names if n.endswith("/WHEEL"))))
    assert {*about.get_all("Tag", [])} == {f"py3-none-{part}" for part in tag.split(".")}
    assert about["Root-Is-Purelib"] == "false"
    compiled = [
        name for name in names if Path(name).suffix in {".so", ".dylib", ".dll", ".pyd", ".lib", ".pdb"}
    ]
    assert compiled == [f"dragoman/translation/native/_engine{hatch_build.suffix(tag)}"]


# ---- Linux -------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("tag", [tag for tag in TARGETS if tag.startswith("manylinux")])
def test_auditwheel_finds_nothing_that_the_tag_does_not_promise(folder: Path, tag: str) -> None:
    pytest.importorskip("auditwheel")
    command = [sys.executable, "-m", "auditwheel", "show", str(built(folder, tag))]
    shown = subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout

    text = " ".join(shown.split())
    assert f'consistent with the following platform tag: "{tag.split(".")[0]}"' in text


@pytest.mark.slow
@pytest.mark.parametrize("tag", [tag for tag in TARGETS if tag.startswith("musllinux")])
def test_the_library_for_musl_needs_only_musl(folder: Path, tag: str) -> None:
    """Read here, because auditwheel takes the libc.so of a system with glibc for a library."""
    elf = pytest.importorskip("elftools.elf.elffile", reason="needs the package pyelftools")
    with library(folder, tag).open("rb") as file:
        dynamic = elf.ELFFile(file).get_section_by_name(".dynamic")
        needed = [one.needed for one in dynamic.iter_tags("DT_NEEDED")]

    assert needed == ["libc.so"]


@pytest.mark.slow
@pytest.mark.parametrize("tag", [tag for tag in TARGETS if "linux" in tag])
def test_only_functions_of_the_engine_are_visible(folder: Path, tag: str) -> None:
    elf = pytest.importorskip("elftools.elf.elffile", reason="needs the package pyelftools")
    with library(folder, tag).open("rb") as file:
        symbols = elf.ELFFile(file).get_section_by_name(".dynsym").iter_symbols()
        visible = [one.name for one in symbols if one["st_shndx"] != "SHN_UNDEF" and one.name]

    assert len(visible) > 30
    # C++ lets a program replace new and delete (_Zn, _Zd), so they are weak and visible.
    assert all(name.startswith(("dragoman_", "_Zn", "_Zd", "_ZTSPFvPvE")) for name in visible)


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="runs programs for x86-64")
@pytest.mark.parametrize("kind", ["manylinux", "musllinux"])
def test_the_library_for_x86_64_multiplies(folder: Path, kind: str) -> None:
    if kind == "musllinux" and not Path("/lib/ld-musl-x86_64.so.1").exists():
        pytest.skip("needs the package musl")
    tag = next(tag for tag in TARGETS if tag.startswith(kind) and "x86_64" in tag)
    command = [driver(folder, tag), library(folder, tag)]

    assert subprocess.check_output(command, text=True, timeout=120).strip() in LEVELS


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "loader"), [("manylinux", "linux"), ("musllinux", "musl")])
def test_the_library_for_aarch64_multiplies(folder: Path, kind: str, loader: str) -> None:
    qemu = needs("qemu-aarch64", "qemu-aarch64-static", package="the package qemu-user-static")
    if not any(ARM64.glob(f"lib/ld-{loader}*")):
        pytest.skip("needs libc6-arm64-cross, or $QEMU_LD_PREFIX with the package musl of arm64")
    tag = next(tag for tag in TARGETS if tag.startswith(kind) and "aarch64" in tag)
    command = [qemu, "-L", ARM64, driver(folder, tag), library(folder, tag)]

    assert subprocess.check_output(command, text=True, timeout=600).strip() in ARM_LEVELS


@pytest.mark.slow
def test_the_wheel_for_aarch64_translates(folder: Path, tmp_path: Path) -> None:
    """In arm64 Python under qemu, with the wheels of its dependencies. It translates as this machine does."""
    qemu = needs("qemu-aarch64", "qemu-aarch64-static", package="the package qemu-user-static")
    python = ARM64 / "usr/bin/python3"
    if not python.exists():
        pytest.skip("needs $QEMU_LD_PREFIX, a folder with the package python3 of arm64")
    tag = next(tag for tag in TARGETS if tag.startswith("manylinux") and "aarch64" in tag)
    ask = [qemu, "-L", ARM64, python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    version = subprocess.check_output(ask, text=True, timeout=120).strip()
    platforms = [f"--platform=manylinux_2_{minor}_aarch64" for minor in (28, 27, 26, 17)]
    install = [sys.executable, "-m", "pip", "install", "-q", "--target", str(tmp_path / "site"), *platforms]
    install += ["--python-version", version, "--only-binary=:all:", str(built(folder, tag))]
    if subprocess.run(install, check=False, timeout=600).returncode:
        pytest.skip("needs the index of packages")
    bare = {"HOME": str(tmp_path), "PATH": str(tmp_path), "DRAGOMAN_ENGINE": "native"}
    environment = bare | {"PYTHONPATH": str(tmp_path / "site")}
    run = [qemu, "-L", ARM64, python, "-m", "dragoman"]

    def ask_dragoman(*words: str, text: str) -> str:
        return subprocess.run(
            [*run, *words],
            input=text,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
            timeout=600,
        ).stdout

    text = "".join(TEXT.read_text(encoding="utf-8").splitlines(keepends=True)[:5])
    translated = ask_dragoman("translate", str(MODEL), text=text)
    findings = {row["name"]: row for row in json.loads(ask_dragoman("doctor", "--json", text=""))}

    from dragoman.translation.translator import Translator

    expected = Translator.load(MODEL).translate(text.splitlines())
    assert translated.splitlines() == [one.text for one in expected]
    assert findings["native engine"]["data"]["available"]


# ---- Windows and macOS -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="wine runs programs for this processor")
def test_the_library_for_windows_multiplies(folder: Path, tmp_path: Path) -> None:
    wine = needs("wine64", "wine", "/usr/lib/wine/wine64", package="the package wine64")
    environment = os.environ | {"WINEPREFIX": str(tmp_path / "wine"), "WINEDEBUG": "-all", "DISPLAY": ""}
    command = [wine, driver(folder, "win_amd64"), library(folder, "win_amd64")]

    shown = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=600)

    assert shown.stdout.strip() in LEVELS


@functools.cache
def headers(path: Path, *words: str) -> str:
    tool = needs("llvm-objdump", "llvm-objdump-19", "llvm-objdump-14", package="the package llvm")
    return subprocess.check_output([tool, *words, path], text=True, timeout=60)


@pytest.mark.slow
def test_the_library_for_windows_needs_only_windows(folder: Path) -> None:
    needed = re.findall(r"DLL Name: (\S+)", headers(library(folder, "win_amd64"), "--private-headers"))

    assert all(
        name.lower().startswith(("kernel32", "api-ms-win-crt-", "ntdll", "advapi32")) for name in needed
    )
    assert needed


@pytest.mark.slow
@pytest.mark.parametrize("tag", [tag for tag in TARGETS if tag.startswith("macosx")])
def test_the_library_for_macos_needs_only_macos_11(folder: Path, tag: str) -> None:
    shown = headers(library(folder, tag), "--macho", "--private-headers")
    needed = re.findall(r"LC_LOAD_DYLIB.*?name (\S+)", shown, re.DOTALL)

    assert re.search(r"LC_BUILD_VERSION.*?minos 11\.0", shown, re.DOTALL)
    assert needed
    assert {*needed} <= {"/usr/lib/libSystem.B.dylib", "/usr/lib/libc++.1.dylib"}
    assert "@rpath" not in "".join(needed)
    assert ("LC_CODE_SIGNATURE" in shown) or "arm64" not in tag  # arm64 loads no unsigned code
