"""Damage the files of a model, a checkpoint and a tokenised text, one at a time, and repeat the command.

    python benchmarks/faults.py [--cases 300] [--seed 1] [--folder FOLDER]

A small model trains on the embedded corpus and stops half-way. Each case copies its folder, damages one file,
and either translates or trains to the end. The faults:

    flip     one bit of one byte, at a random place
    cut      the last part of the file is gone, from a random place
    longer   a few random bytes follow the end
    gone     the file has vanished
    full     the disk is full: no file may grow beyond a random size (no file is damaged)
    read     the disk is read-only: no file can be made or replaced (no file is damaged)

A case passes if the result is byte for byte that of the intact folder, if an error says what is wrong, or if
a warning says what is different. It fails if the result differs silently, if the error is unexpected (a bug),
or with a traceback. All random choices are functions of the seed.

Prints for each fault and command how many cases ended with the same result, with an error and with a warning,
and each case that failed. Exits with 1 if any failed.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import logging
import os
import resource
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from unittest.mock import patch

import typer

from dragoman import cli
from dragoman.cli.outcome import run
from dragoman.text import toy

FAULTS = ("flip", "cut", "longer", "gone", "full", "read")
RECIPE = (
    "--preset=tiny", "--quiet", "seed=3", "tokenizer.vocab_size=330", "tokenizer.sampling=0.1",
    *(f"model.{o}" for o in ("d_model=16", "d_ff=32", "heads=2", "encoder_layers=1", "decoder_layers=1")),
    *(f"training.{o}" for o in ("batch_tokens=400", "validate_every=2", "average=2", "log_every=2",
                                "calibrate=0", "warmup=2")),
)  # fmt: skip
HALF, WHOLE = 4, 6  # updates


@dataclass(frozen=True)
class Ended:
    """What a command did."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Case:
    """A fault, and the command that meets it."""

    command: str
    file: str
    fault: str

    def __str__(self) -> str:
        return f"{self.command} with {self.file or 'the disk'}: {self.fault}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--cases", type=int, default=300, help="how many (300)")
    parser.add_argument("--seed", type=int, default=1, help="of all random choices (1)")
    parser.add_argument("--folder", type=Path, help="where to work (a temporary one)")
    words = parser.parse_args()
    print(f"{words.cases} cases, seed {words.seed}", flush=True)
    with contextlib.ExitStack() as stack:
        folder = words.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        return look(folder, words.cases, words.seed)


def look(folder: Path, cases: int, seed: int) -> int:
    """Run the cases in a folder, and print what came of them. Return the exit code."""
    bench = Bench(folder)
    counts: Counter[tuple[str, str, str]] = Counter()
    bad = []
    for number, case in enumerate(drawn(bench, cases, seed)):
        verdict, ended = bench.verdict(case, Random(f"{seed} {number}"))
        counts[case.fault, case.command, verdict] += 1
        if verdict not in ("same", "error", "warning"):
            bad.append(f"{verdict}: {case}, case {number}\n  exit code {ended.code}: {ended.err.strip()}")
    kinds = ("same", "error", "warning", "bad")
    print(f"{'fault':8}{'command':12}" + "".join(f"{kind:>9}" for kind in kinds))
    for fault, command in sorted({key[:2] for key in counts}):
        of = {kind: counts[fault, command, kind] for kind in kinds[:3]}
        of["bad"] = sum(n for key, n in counts.items() if key[:2] == (fault, command)) - sum(of.values())
        print(f"{fault:8}{command:12}" + "".join(f"{of[kind]:9}" for kind in kinds))
    print("\n".join([*bad, f"{len(bad)} of {cases} ended badly"]))
    return 1 if bad else 0


def drawn(bench: Bench, cases: int, seed: int) -> list[Case]:
    """Every file with every fault in turn, in a random order, until there are enough."""
    every = [
        Case(command, file, fault)
        for command, files in bench.files.items()
        for fault in FAULTS
        for file in ([""] if fault in ("full", "read") else files)
    ]
    chance, chosen = Random(seed), list[Case]()
    while len(chosen) < cases:
        chosen += chance.sample(every, len(every))
    return chosen[:cases]


class Bench:
    """An intact folder, the files that each command reads of it, and what each makes of it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.text, self.intact, self.work = folder / "text", folder / "intact", folder / "work"
        self.text.mkdir(exist_ok=True)
        for place, side in enumerate(("en", "de")):
            for name, number, count in (("train", 1, 120), ("valid", 2, 5), ("test", 3, 4)):
                lines = (f"{pair[place]}\n" for pair in toy.pairs(seed=number, count=count))
                (self.text / f"{name}.{side}").write_text("".join(lines), encoding="utf-8")
        made = self._train(self.intact, HALF)
        if made.code:
            raise SystemExit(made.err)
        small = {"config.json", "digests.json", "generation.json", "model.safetensors"}
        names = sorted(path.relative_to(self.intact).as_posix() for path in self.intact.rglob("*"))
        files = [name for name in names if (self.intact / name).is_file() and "lock" not in name]
        self.files = {
            "translate": [name for name in files if name in small or name.startswith("tokenizer")],
            "train": [name for name in files if name != "README.md"],
        }
        self.expected = {}
        for command in self.files:
            self._copy()
            ended = self._call(command)
            if ended.code:
                raise SystemExit(ended.err)
            self.expected[command] = self._result(command, ended)

    def verdict(self, case: Case, chance: Random) -> tuple[str, Ended]:
        """Run one case. Return how it ended: same, error, warning, or in words what is bad."""
        self._copy()
        with self._fault(case, chance):
            ended = self._call(case.command)
        if "Traceback" in ended.err or "error: unexpected" in ended.err or "bug in dragoman" in ended.err:
            return "a bug", ended
        if ended.code:
            clear = ended.code in (1, 2, 3, 4) and "error: " in ended.err and "hint: " in ended.err
            return "error" if clear else "no clear error", ended
        if self._result(case.command, ended) == self.expected[case.command]:
            return "same", ended
        return "warning" if ended.err.strip() else "another result without a word", ended

    def _copy(self) -> None:
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(self.intact, self.work)

    def _call(self, command: str) -> Ended:
        if command == "train":
            return self._train(self.work, WHOLE)
        return called("translate", self.work, self.text / "test.en", "--max-extra", "8", "--quiet")

    def _train(self, folder: Path, updates: int) -> Ended:
        text = [self.text / f"train.{side}" for side in ("en", "de")]
        valid = [self.text / f"valid.{side}" for side in ("en", "de")]
        words = ("train", *text, "--valid", *valid, "-o", folder, *RECIPE)
        return called(*words, f"training.max_updates={updates}")

    def _result(self, command: str, ended: Ended) -> object:
        if command == "translate":
            return ended.out
        names = ("model.safetensors", "checkpoints/final.safetensors", "tokenizer.spm", "config.json")
        return [(self.work / name).read_bytes() for name in names]

    @contextlib.contextmanager
    def _fault(self, case: Case, chance: Random) -> Iterator[None]:
        path = self.work / case.file
        if case.fault == "full":
            with limited(chance.randrange(60_000)):
                yield
            return
        if case.fault == "read":
            with read_only():
                yield
            return
        data = bytearray(path.read_bytes())
        match case.fault:
            case "flip" if data:
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            case "cut" if data:
                del data[chance.randrange(len(data)) :]
            case "longer":
                data += chance.randbytes(chance.randrange(1, 40))
        path.write_bytes(data)
        if case.fault == "gone":
            path.unlink()
        yield


def called(*words: str | Path) -> Ended:
    """Run a command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(typer.main.get_command(cli.app), [str(word) for word in words])
        logging.getLogger("dragoman").setLevel(logging.NOTSET)
    return Ended(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def limited(size: int) -> Iterator[None]:
    """No file can grow beyond `size` bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextlib.contextmanager
def read_only() -> Iterator[None]:
    """No file can be opened for writing or moved. Permissions would not stop root."""
    opened = os.open

    def refuse(*words: object, **_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(words[0]))

    def open_(path: str, flags: int, *words: int, **names: int) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            refuse(path)
        return opened(path, flags, *words, **names)

    real = io.open

    def open_file(file: object, mode: str = "r", *words: object, **names: object) -> object:
        if isinstance(file, str | os.PathLike) and set(mode) & set("wax+"):
            refuse(file)
        return real(file, mode, *words, **names)

    with (
        patch("os.open", open_), patch("io.open", open_file), patch("builtins.open", open_file),
        patch("os.replace", refuse), patch("os.rename", refuse), patch("os.mkdir", refuse),
        patch("os.unlink", refuse), patch("os.rmdir", refuse),
    ):  # fmt: skip
        yield


if __name__ == "__main__":
    sys.exit(main())
