"""Kill training at random moments, repeat the command, and compare the end with that of an uninterrupted run.

    python benchmarks/kills.py [--kills 200] [--processes 20] [--seed 1] [--minutes 30] [--folder FOLDER]

A small model trains on the embedded corpus and writes a checkpoint every five updates. SIGKILL ends the run
and the same command restarts it, until it is complete; then another run begins, until there are enough kills.
There are three kinds:

    process    `dragoman train` as a user starts it, killed at a random time
    clock      a fork of a process that has PyTorch loaded, killed at a random time
    operation  such a fork, killed before a random change of a file: it opens, renames, deletes or makes one

Forks save the start of Python and PyTorch. They run all of `dragoman.train`.

After every kill, each file that the next start may read must be, byte for byte, one that the uninterrupted
run had: tokens, tokenizer, weights and optimizer of the checkpoint, weights to average, the model. The next
start must resume from this checkpoint. At the end of a run the folder must have exactly the files of the
uninterrupted run, with equal weights, and metrics.jsonl every line once and in order.

Prints what the run was doing when it was killed, and for each kind the kills, the runs, the repeated updates,
the largest folder after a kill, and the mean seconds of an update, of a checkpoint with its validation, and
of a restart; finally the seconds of all starts, compared with the simulation of `goodput.py` for these means
and failures at the same moments. Exits with 1 if a run ended differently.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import mmap
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from goodput import Machines, simulate

from dragoman import train
from dragoman.base import machine
from dragoman.base.tables import aligned
from dragoman.text import toy
from dragoman.training.checkpoints.paths import Checkpoints, whole
from dragoman.training.trainer import Trainer

UPDATES, EVERY = 60, 5  # updates of a run, and between two checkpoints
OPTIONS = (
    "model.d_model=32", "model.d_ff=64", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1",
    "model.dropout=0.1", "tokenizer.vocab_size=340", f"training.max_updates={UPDATES}", "training.warmup=20",
    f"training.validate_every={EVERY}", "training.log_every=2", "training.average=3",
    "training.batch_tokens=512", "training.precision=fp32",
)  # fmt: skip
CHANGES = ("open", "os.mkdir", "os.remove", "os.rename", "os.rmdir")  # audit events
TIMES = ("seconds", "elapsed", "tokens_per_second", "eta_seconds", "peak_memory")  # differ from run to run
UNCOMPARED = ("README.md", "metrics.jsonl", "progress.json", "training.toml", "lock", "lock.owner")
Digests = dict[str, str]


class Different(Exception):
    """Something is not as in the uninterrupted run."""


@dataclass
class Tally:
    """What the kills of one kind came to."""

    kills: int = 0
    runs: int = 0
    repeated: int = 0  # updates
    largest: int = 0  # bytes of the folder after a kill
    seconds: float = 0.0  # of all starts together
    restarts: list[float] = field(default_factory=list)  # seconds until training goes on
    segments: list[float] = field(default_factory=list)  # seconds from a checkpoint to the next
    lives: list[list[float]] = field(default_factory=list)  # seconds of each start, by run
    phases: Counter[str] = field(default_factory=Counter)

    def costs(self, reference: Uninterrupted) -> Machines:
        """The mean seconds of what a run does."""
        segment = statistics.mean(self.segments or [reference.segment])
        return Machines(
            update=segment * (1 - reference.share) / EVERY,
            checkpoint=segment * reference.share,
            restart=statistics.mean(self.restarts or [0.0]),
        )


@dataclass(kw_only=True)
class Uninterrupted:
    """The run to compare with."""

    files: Digests  # at the end
    saved: dict[int, Digests]  # of the checkpoint after an update
    metrics: list[dict[str, Any]]
    size: int
    operations: int  # changes of files
    seconds: dict[str, float]  # by kind
    segment: float  # seconds from a checkpoint to the next
    share: float  # of the time between two checkpoints that writes one, with its validation


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--processes", type=int, default=20, help="kills of whole processes among them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=30, help="stop killing after this time")
    parser.add_argument("--folder", type=Path, help="where to train; it is kept")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)  # a fork has no other threads
    torch.optim.AdamW([torch.zeros(1)])  # the first optimizer loads much of PyTorch, now for all forks
    deadline = time.monotonic() + 60 * options.minutes
    forks = options.kills - options.processes
    wanted = {"process": options.processes, "clock": forks // 2, "operation": forks - forks // 2}
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        harness = Harness(folder.resolve(), random.Random(options.seed))
        tallies = {kind: harness.kill(kind, kills, until=deadline) for kind, kills in wanted.items() if kills}
        alone = ", ".join(f"{seconds:.1f} s as {kind}" for kind, seconds in harness.reference.seconds.items())
        print(
            f"{sum(tally.kills for tally in tallies.values())} kills, seed {options.seed},"
            f" {machine.processor()}; a run is {UPDATES} updates, {alone},"
            f" {harness.reference.size / 1000:,.0f} kB\n"
        )
        print(table(tallies, harness.reference))


def table(tallies: dict[str, Tally], reference: Uninterrupted) -> str:
    """What went on at the kills, then a line for each kind."""
    phases = sum((tally.phases for tally in tallies.values()), Counter())
    rows = [["killed while it", *tallies, "all"]]
    for phase in sorted(phases, key=PHASES.index):
        counts = [tally.phases[phase] for tally in tallies.values()]
        rows.append([phase, *map(str, counts), str(sum(counts))])
    heads = (
        "kind",
        "kills",
        "runs",
        "updates repeated",
        "largest kB",
        "update s",
        "checkpoint s",
        "restart s",
    )
    figures = [[*heads, "s", "s computed"]]
    for kind, tally in tallies.items():
        costs = tally.costs(reference)
        figures.append(
            [
                kind,
                *map(str, (tally.kills, tally.runs, tally.repeated)),
                f"{tally.largest / 1000:,.0f}",
                f"{costs.update:.3f}",
                *(f"{seconds:.2f}" for seconds in (costs.checkpoint, costs.restart)),
                *(f"{seconds:.0f}" for seconds in (tally.seconds, computed(tally, costs))),
            ]
        )
    first = aligned(rows, right=range(1, len(rows[0])))
    return "\n".join([*first, "", *aligned(figures, right=range(1, len(figures[0])))])


def computed(tally: Tally, costs: Machines) -> float:
    """The seconds that the simulation gives for the same failures; it leaves out the end, after training."""
    return sum(
        simulate(costs, every=EVERY, updates=UPDATES, failures=iter(lives[:-1])).seconds
        for lives in tally.lives
    )


# ---- killing -----------------------------------------------------------------------------------------


class Harness:
    """Runs in `folder`, killed at moments drawn from `draw`."""

    def __init__(self, folder: Path, draw: random.Random) -> None:
        self.draw, self.run, self.log = draw, folder / "run", folder / "log"
        self.text = folder / "text"
        self.counter = mmap.mmap(-1, 8)  # shared with the forks: changes of files
        self.text.mkdir(parents=True, exist_ok=True)
        splits = toy.splits(train=3000, valid=8, test=8)
        for part, pairs in (("train", splits.train), ("valid", splits.valid)):
            for side, language in enumerate(("en", "de")):
                lines = "".join(f"{pair[side]}\n" for pair in pairs)
                (self.text / f"{part}.{language}").write_text(lines, encoding="utf-8")
        self.reference = self.uninterrupted()

    def uninterrupted(self) -> Uninterrupted:
        """Run as a process and as a fork, without a kill. Raises Different if they end differently."""
        shutil.rmtree(self.run, ignore_errors=True)
        seconds = {"process": self.life(self.process)}
        files = digests(self.run)
        shutil.rmtree(self.run)
        notes = self.log.with_name("notes")
        notes.unlink(missing_ok=True)
        seconds["fork"] = self.life(lambda: self.fork(watching(self.run, notes, self.counter)))
        if digests(self.run) != files:
            raise Different("a fork and a process, both uninterrupted, end differently")
        table = [json.loads(line) for line in notes.read_text().splitlines()]
        history = measured(self.run)
        segment = statistics.mean(segments_of(history))
        return Uninterrupted(
            files=files,
            saved={note["step"]: note["digests"] for note in table},
            metrics=plain(history),
            size=size_of(self.run),
            operations=int.from_bytes(self.counter[:], "little"),
            seconds=seconds,
            segment=segment,
            share=statistics.mean(note["seconds"] for note in table) / segment,
        )

    def kill(self, kind: str, kills: int, *, until: float) -> Tally:
        """Kill `kills` times, over as many runs as it takes. Raises Different."""
        tally = Tally()
        while tally.kills < kills and time.monotonic() < until:
            shutil.rmtree(self.run, ignore_errors=True)
            tally.lives.append([])
            ended = False
            while not ended:
                last = tally.kills >= kills or time.monotonic() >= until
                ended = self.start(kind, tally, at_random=not last)
            tally.runs += 1
            self.check_end()
            tally.segments += segments_of(measured(self.run))
        return tally

    def start(self, kind: str, tally: Tally, *, at_random: bool) -> bool:
        """Start the run and maybe kill it. Return whether it came to its end."""
        before = step_of(self.run)
        began = time.time()
        # Lives are short enough for several in a run, and some are too short for the first checkpoint.
        alone = self.reference.seconds["process" if kind == "process" else "fork"]
        after = self.draw.uniform(0, alone) if kind == "process" else self.draw.expovariate(4 / alone)
        operation = self.draw.randint(4, self.reference.operations) // self.draw.choice((1, 4))
        if kind == "process":
            lived = self.life(self.process, after if at_random else None)
        elif kind == "clock":
            lived = self.life(self.fork, after if at_random else None)
        else:
            lived = self.life(
                lambda: self.fork(counting(self.run, self.counter, operation if at_random else 0))
            )
        tally.seconds += abs(lived)
        tally.lives[-1].append(abs(lived))
        rows = [row for row in measured(self.run) if row["kind"] == "start"]
        if rows and rows[-1]["time"] > began:
            if rows[-1]["step"] != before:
                raise Different(f"the run went on from update {rows[-1]['step']}, not {before}")
            tally.restarts.append(rows[-1]["time"] - began)
        if lived > 0:
            return True
        tally.kills += 1
        tally.phases[phase_of(self.run)] += 1
        tally.largest = max(tally.largest, size_of(self.run))
        reached = max((row["step"] for row in measured(self.run) if row["kind"] == "train"), default=0)
        tally.repeated += max(reached - step_of(self.run), 0)
        self.check_kill()
        return False

    def check_kill(self) -> None:
        """Compare what the next start may read. Raises Different."""
        step, found, reference = step_of(self.run), digests(self.run), self.reference
        latest = whole(Checkpoints(self.run / "checkpoints").latest)
        for path, digest in found.items():
            place = Path(path)
            right = {**reference.files, **reference.saved.get(step, {})}.get(path)
            if place.parent.name == "latest.old" and latest is not None:
                if latest.name != "latest.old":
                    continue  # being deleted; the checkpoint beside it is read
                right = reference.saved[step][str(place.parent.with_name("latest") / place.name)]
            elif place.name.startswith("step-"):
                right = reference.saved[int(place.stem[5:])][path]
            elif "corpus" in place.parts and not (self.run / place.parent / "about.json").exists():
                continue  # not read without it
            if digest != right:
                raise Different(f"{path} differs after a kill, with a checkpoint of update {step}")

    def check_end(self) -> None:
        """Compare the folder of a run that came to its end. Raises Different."""
        found = digests(self.run)
        if names := found.keys() ^ self.reference.files.keys():
            raise Different(f"files that only one of the runs has: {', '.join(sorted(names))}")
        if names := [name for name in found if found[name] != self.reference.files[name]]:
            raise Different(f"files that differ at the end: {', '.join(names)}")
        if left := [str(path) for path in self.run.rglob("*.part")]:
            raise Different(f"left over: {', '.join(left)}")
        rows = measured(self.run)
        if plain(rows) != self.reference.metrics:
            raise Different("metrics.jsonl differs")
        steps = [row["step"] for row in rows if row["kind"] == "train"]
        if steps != sorted(steps):
            raise Different("metrics.jsonl is not in order")

    # ---- one start -----------------------------------------------------------------------------------

    def life(self, begin: Callable[[], int], after: float | None = None) -> float:
        """Wait for the process that `begin` starts, or kill it. Return its seconds, negative if killed."""
        began = time.monotonic()
        number = begin()
        while True:
            done, status = os.waitpid(number, os.WNOHANG)
            lived = time.monotonic() - began
            if done:
                break
            if after is not None and lived >= after:
                os.kill(number, signal.SIGKILL)
                _, status = os.waitpid(number, 0)
                lived = time.monotonic() - began
                break
            time.sleep(0.001)
        if (code := os.waitstatus_to_exitcode(status)) == 0:
            return lived
        if code != -signal.SIGKILL:
            raise Different(f"training ended with {code}:\n{self.log.read_text(errors='replace')[-3000:]}")
        return -lived

    def process(self) -> int:
        """Start `dragoman train`."""
        command = [sys.executable, "-m", "dragoman", "train", *self.files("train"), "--valid",
                   *self.files("valid"), "-o", str(self.run), "--preset", "tiny", *OPTIONS]  # fmt: skip
        with self.log.open("w") as log:
            return subprocess.Popen(command, stdout=log, stderr=log).pid

    def fork(self, prepared: Callable[[], None] = lambda: None) -> int:
        """Start `dragoman.train` in a fork."""
        if number := os.fork():
            return number
        code = 1
        try:
            with self.log.open("w") as log:
                os.dup2(log.fileno(), 1)
                os.dup2(log.fileno(), 2)
            prepared()
            train(
                self.files("train"),
                valid=self.files("valid"),
                output=self.run,
                preset="tiny",
                overrides=OPTIONS,
            )
            code = 0
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        finally:
            os._exit(code)

    def files(self, part: str) -> list[str]:
        return [str(self.text / f"{part}.{language}") for language in ("en", "de")]


def counting(run: Path, counter: mmap.mmap, last: int) -> Callable[[], None]:
    """What makes a fork count its changes of files in `run`, and die before number `last`."""

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if event not in CHANGES:
            return
        writes = event != "open" or (isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR))
        inside = str(args[0]).startswith(str(run)) or (event != "open" and args[-1] not in (-1, None))
        if writes and inside:
            number = int.from_bytes(counter[:], "little") + 1
            counter[:] = number.to_bytes(8, "little")
            if number == last:
                os.kill(os.getpid(), signal.SIGKILL)

    def prepare() -> None:
        counter[:] = bytes(8)
        sys.addaudithook(audit)

    return prepare


def watching(run: Path, notes: Path, counter: mmap.mmap) -> Callable[[], None]:
    """What makes a fork count its changes of files, and note each checkpoint and its seconds."""
    validate = Trainer._validate

    def noted(trainer: Trainer) -> None:
        began = time.monotonic()
        validate(trainer)
        note = {
            "step": trainer.progress.step,
            "seconds": time.monotonic() - began,
            "digests": {name: one for name, one in digests(run).items() if name.startswith("checkpoints")},
        }
        with notes.open("a") as file:
            file.write(json.dumps(note) + "\n")

    def prepare() -> None:
        counting(run, counter, 0)()
        Trainer._validate = noted  # type: ignore[method-assign]

    return prepare


# ---- looking -----------------------------------------------------------------------------------------

PHASES = ["had no folder yet", "tokenised", "trained", "wrote a checkpoint", "wrote the model"]


def phase_of(run: Path) -> str:
    """What a killed run was doing, from the files that it left."""
    checkpoints = run / "checkpoints"
    if not (run / "training.toml").exists():
        return PHASES[0]
    if not all((checkpoints / "corpus" / part / "about.json").exists() for part in ("train", "valid")):
        return PHASES[1]
    unfinished = [*checkpoints.glob("latest.*"), *checkpoints.glob(".step-*.part")]
    if unfinished:
        return PHASES[3]
    final = (checkpoints / "final.safetensors").exists() or [*checkpoints.glob(".final*.part")]
    return PHASES[4] if final else PHASES[2]


def step_of(run: Path) -> int:
    """The update of the checkpoint that the next start goes on from."""
    checkpoints = Checkpoints(run / "checkpoints")
    return checkpoints.progress().step if checkpoints.resumable else 0


def digests(run: Path) -> Digests:
    """The digest of each file that has its final name, by its path in `run`."""
    found: Digests = {}
    for path in sorted(run.rglob("*")):
        part = any(name.endswith(".part") for name in path.relative_to(run).parts)
        if path.is_file() and not part and path.name not in UNCOMPARED:
            found[str(path.relative_to(run))] = hashlib.blake2b(path.read_bytes()).hexdigest()
    return found


def measured(run: Path) -> list[dict[str, Any]]:
    """The lines of metrics.jsonl; the last may be cut short."""
    rows = []
    with contextlib.suppress(OSError, ValueError):
        for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
            rows.append(json.loads(line))
    return rows


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows without starts and ends, and without what a clock says."""
    return [
        {key: value for key, value in row.items() if key not in TIMES}
        for row in rows
        if row["kind"] not in ("start", "stop", "finish")
    ]


def segments_of(rows: list[dict[str, Any]]) -> list[float]:
    """Seconds from a checkpoint to the next, where no kill was between them."""
    seconds, last = [], None
    for row in rows:
        if row["kind"] == "start":
            last = None
        elif row["kind"] == "valid":
            seconds += [] if last is None else [row["elapsed"] - last]
            last = row["elapsed"]
    return seconds


def size_of(run: Path) -> int:
    return sum(path.stat().st_size for path in run.rglob("*") if path.is_file())


if __name__ == "__main__":
    try:
        main()
    except Different as error:
        sys.exit(f"error: {error}")
