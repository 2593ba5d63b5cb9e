"""The machine's compiler on a program of two files."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.base.compiler import (
    CompilerError,
    Sources,
    cached,
    compile_library,
    compiled,
    find_compiler,
    loaded,
    zig,
)


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    try:
        return find_compiler("CC", ("cc", "gcc"))
    except CompilerError:
        pytest.skip("no C compiler here")


@pytest.fixture
def program(tmp_path: Path) -> Sources:
    (tmp_path / "half.h").write_text("int half(int);\n")
    (tmp_path / "half.c").write_text('#include "half.h"\nint half(int x) { return x / 2; }\n')
    (tmp_path / "quarter.c").write_text(
        '#include "half.h"\nint quarter(int x) { return half(half(x)) + PLUS; }\n'
    )
    return Sources(
        name="sums",
        sources=(tmp_path / "half.c", tmp_path / "quarter.c"),
        headers=(tmp_path / "half.h",),
        flags=("-DPLUS=3",),
    )


def test_several_files_make_one_library(compiler: list[str], program: Sources) -> None:
    library = cached(compiler, program)
    assert not library.exists()

    compile_library(compiler, program, library)

    assert ctypes.CDLL(str(library)).quarter(40) == 13
    assert list(library.parent.iterdir()) == [library]  # nothing else is left in the cache


def test_the_place_depends_on_all_that_the_result_depends_on(
    compiler: list[str], program: Sources, tmp_path: Path
) -> None:
    other = Sources(name="sums", sources=program.sources, headers=program.headers, flags=("-DPLUS=4",))
    places = [cached(compiler, program), cached(compiler, other), cached(compiler, program, facts=b"AMX")]
    for name in ("half.c", "half.h"):
        with (tmp_path / name).open("a") as file:
            file.write("// more\n")
        places.append(cached(compiler, program))
    another = tmp_path / "another-cc"
    another.write_text("#!/bin/sh\necho another 1.0\n")
    another.chmod(0o755)
    places.append(cached([str(another)], program))

    assert len(set(places)) == 6
    assert cached(compiler, program) == places[4]


def test_it_is_compiled_once(compiler: list[str], program: Sources, caplog: pytest.LogCaptureFixture) -> None:
    library = compiled(compiler, program, "the sums")
    written = library.stat().st_mtime_ns

    assert compiled(compiler, program, "the sums") == library == cached(compiler, program)
    assert library.stat().st_mtime_ns == written
    assert loaded(compiler, program).quarter(40) == 13
    assert caplog.messages == ["compiling the sums (once)"]


@pytest.mark.parametrize("content", [b"", b"no library"], ids=["empty", "damaged"])
def test_a_damaged_library_is_compiled_again(compiler: list[str], program: Sources, content: bytes) -> None:
    library = cached(compiler, program)
    library.parent.mkdir(parents=True)
    library.write_bytes(content)

    assert loaded(compiler, program).quarter(40) == 13
    assert list(library.parent.iterdir()) == [library]


def test_a_library_that_never_loads_is_not_compiled_at_each_start(
    compiler: list[str], program: Sources, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "half.c").write_text("int missing(int);\nint half(int x) { return missing(x); }\n")

    for _ in range(3):
        with pytest.raises(OSError, match="missing"):
            loaded(compiler, program, "the sums")

    assert caplog.messages == ["compiling the sums (once)"] * 2


def test_a_library_that_loads_later_is_compiled_again_if_it_is_damaged_then(
    compiler: list[str], program: Sources
) -> None:
    library = compiled(compiler, program)
    library.with_suffix(".useless").touch()
    assert loaded(compiler, program).quarter(40) == 13
    library.unlink()  # a library that is loaded cannot be overwritten
    library.write_bytes(b"")

    assert loaded(compiler, program).quarter(40) == 13
    assert list(library.parent.iterdir()) == [library]


def test_processes_that_compile_at_once_do_not_meet(
    compiler: list[str], program: Sources, tmp_path: Path
) -> None:
    code = f"""
import ctypes
from pathlib import Path
from dragoman.base.compiler import Sources, cached, compile_library
program = Sources(
    name="sums", sources={program.sources!r}, headers={program.headers!r}, flags={program.flags!r}
)
library = cached({compiler!r}, program)
compile_library({compiler!r}, program, library)
assert ctypes.CDLL(str(library)).quarter(40) == 13
""".replace("PosixPath", "Path").replace("WindowsPath", "Path")
    running = [subprocess.Popen([sys.executable, "-c", code], env=os.environ) for _ in range(3)]

    assert [process.wait(60) for process in running] == [0, 0, 0]


def test_a_failure_is_told_in_a_few_words(compiler: list[str], program: Sources, tmp_path: Path) -> None:
    (tmp_path / "half.c").write_text("int half(int x) { return y; }\n")

    with pytest.raises(CompilerError, match=r"failed: .*half\.c:1.*error"):
        compile_library(compiler, program, tmp_path / "out.so")

    assert not (tmp_path / "out.so").exists()


def test_a_compiler_that_does_not_run(program: Sources, tmp_path: Path) -> None:
    with pytest.raises(CompilerError, match="no-such-compiler failed"):
        cached([str(tmp_path / "no-such-compiler")], program)


def test_a_folder_that_cannot_be_written(compiler: list[str], program: Sources, tmp_path: Path) -> None:
    with pytest.raises(CompilerError, match="cannot write"):
        compile_library(compiler, program, tmp_path / "half.c" / "out.so")


@pytest.mark.slow
def test_the_package_ziglang_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into a library for the baseline of the processor family, which Python loads."""
    pytest.importorskip("ziglang")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    found = find_compiler("CXX", ("c++", "g++", "clang++"))
    assert found == zig()
    (tmp_path / "half.cpp").write_text(
        '#include <string>\nextern "C" int digits(int x) { return int(std::to_string(x).size()); }\n'
        "#ifdef __AVX2__\n#error not the baseline\n#endif\n"
    )
    program = Sources(name="digits", sources=(tmp_path / "half.cpp",), flags=("-O2",))

    compile_library(found, program, tmp_path / "digits.so")

    assert ctypes.CDLL(str(tmp_path / "digits.so")).digits(12345) == 5


def test_zig_is_the_last_choice_for_cpp_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "dragoman.base.compiler.find_spec", lambda name: object() if name == "ziglang" else None
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    for variable in ("CC", "CXX"):
        monkeypatch.delenv(variable, raising=False)
    assert find_compiler("CXX", ("g++",)) == [sys.executable, "-m", "ziglang", "c++", "-mcpu=baseline"]
    with pytest.raises(CompilerError, match="no C compiler"):
        find_compiler("CC", ("gcc",))
    (tmp_path / "g++").write_text("#!/bin/sh\n")
    (tmp_path / "g++").chmod(0o755)
    assert find_compiler("CXX", ("g++",)) == [str(tmp_path / "g++")]


def test_a_path_of_windows_in_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its backslashes stay, and quotes may enclose spaces."""
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr("dragoman.base.compiler.shutil.which", lambda name: name)
    monkeypatch.setenv("CXX", '"C:\\Program Files\\LLVM\\clang++.exe" -m64')
    assert find_compiler("CXX", ()) == ["C:\\Program Files\\LLVM\\clang++.exe", "-m64"]


def test_the_variable_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.base.compiler.find_spec", lambda name: None)
    for name in ("cc", "mine"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CC", "mine -m32")
    assert find_compiler("CC", ("gcc", "cc")) == [str(tmp_path / "mine"), "-m32"]
    monkeypatch.setenv("CC", "no-such-compiler")
    assert find_compiler("CC", ("gcc", "cc")) == [str(tmp_path / "cc")]
    monkeypatch.delenv("CC")
    assert find_compiler("CC", ("gcc", "cc")) == [str(tmp_path / "cc")]
    with pytest.raises(CompilerError, match=r"no C\+\+ compiler"):
        find_compiler("CXX", ("g++",))
