"""Run the steps of a pipeline in processes of their own. Imports no torch.

The folder gets a result and a log for each step, and pipeline.json, the record of what was done with which
inputs. A step whose inputs have changed, or those of a step that it needs, runs again; its old result is
moved to old/. A step that was interrupted runs the same command, which resumes.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from dragoman.base.ctrl_c_at_start import handling, heeded
from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.base.files import sweep, write_whole
from dragoman.base.jobs import Lock
from dragoman.base.machine import usable_cores
from dragoman.pipeline.graph import Pipeline, PipelineStep

RECORD = "pipeline.json"
State = Literal["waiting", "running", "done", "failed"]
Rows = dict[str, dict[str, Any]]
_LINUX = sys.platform == "linux"
_PATIENCE = 120.0  # seconds in which an interrupted step may save
_WAIT = 10.0  # seconds for the steps of a pipeline that was killed to end
_MOST_LOG = 1 << 14  # bytes
_SHOWN = 12  # lines of the log of a step that failed


def read_rows(folder: Path) -> Rows:
    """Return the record of each step of the pipeline in a folder. It is empty before the first run."""
    try:
        table = json.loads((folder / RECORD).read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    rows = table.get("steps") if isinstance(table, dict) else None
    return {name: row for name, row in rows.items() if _fits(row)} if isinstance(rows, dict) else {}


def _fits(row: object) -> bool:
    """Whether a row of the record can be used: someone may have edited it."""
    if not isinstance(row, dict) or not isinstance(row.get("state"), str):
        return False
    return all(
        isinstance(row.get(name, 0), int | float) for name in ("seconds", "core_seconds", "most_memory_mb")
    )


def log_end(folder: Path, name: str, lines: int) -> list[str]:
    """Return the last lines of the log of a step. What a progress bar has overwritten is left out."""
    try:
        with (folder / "logs" / f"{name}.log").open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _MOST_LOG))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    return [line.rsplit("\r", 1)[-1] for line in text.rstrip().split("\n")[-lines:]]


def run_pipeline(pipeline: Pipeline, *, jobs: int, say: Callable[[str], None] = lambda text: None) -> Rows:
    """Run every step that is not done, at most `jobs` at a time. Returns the record of each.

    Raises DragomanError if steps failed, after those that do not need them; ConfigError if a result exists
    that no step made, or another command works in the folder.
    """
    lock = Lock(pipeline.folder / f"{RECORD}.lock", pipeline.folder)
    until = time.monotonic() + _WAIT
    while True:
        try:
            lock.acquire()
            break
        except ConfigError:  # steps of a pipeline that was killed hold the lock until they end
            if time.monotonic() >= until:
                raise
            time.sleep(0.1)
    try:
        return _Run(pipeline, jobs, lock, say).run()
    finally:
        lock.release()


class _Run:
    def __init__(self, pipeline: Pipeline, jobs: int, lock: Lock, say: Callable[[str], None]) -> None:
        self.pipeline, self.jobs, self.lock, self.say = pipeline, jobs, lock, say
        self.rows = self._begin()
        self.ended: queue.SimpleQueue[tuple[str, int, float, float] | int] = queue.SimpleQueue()
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.began: dict[str, float] = {}

    def _begin(self) -> Rows:
        """The record as it stands: what has changed is waiting, and its old result is out of the way."""
        sweep(self.pipeline.folder)
        old, rows = read_rows(self.pipeline.folder), Rows()
        for name, step in self.pipeline.steps.items():
            for place, paths in self.pipeline.files(step).items():
                if not paths:
                    raise DataError(
                        f"{name}: {self.pipeline.filled(step, place)}: no such file",
                        hint="check the path, and the folder that --data names",
                    )
        for name, digest in self.pipeline.digests().items():
            row, result = old.get(name), self.pipeline.result(name)
            if row is None and result.exists():
                raise ConfigError(f"{result}: not made by this pipeline", hint="move it, or rename the step")
            if row is not None and row.get("digest") == digest and not self._undone(name, row, rows):
                rows[name] = row if row["state"] == "done" else row | {"state": "waiting"}
                continue
            if result.exists():
                self._put_away(name, "changed")
            for left in self.pipeline.folder.glob(f"{name}.unfinished*"):  # another command cannot resume it
                shutil.rmtree(left) if left.is_dir() else left.unlink()
            rows[name] = {"state": "waiting", "digest": digest, "seconds": 0.0}
        return rows

    def _put_away(self, name: str, why: str) -> None:
        kept = self.pipeline.folder / "old"
        kept.mkdir(exist_ok=True)
        number = next(n for n in range(1, 10**6) if not (kept / f"{name}-{n}").exists())
        os.replace(self.pipeline.result(name), kept / f"{name}-{number}")
        self.say(f"{name}: {why}; the old result is {kept / f'{name}-{number}'}")

    def _undone(self, name: str, row: dict[str, Any], rows: Rows) -> bool:
        """Whether a step must begin anew: its result is gone, or what it needs is made anew."""
        step = self.pipeline.steps[name]
        gone = "out" in step.references and not self.pipeline.result(name).exists()
        anew = any(rows[need]["state"] != "done" for need in self.pipeline.needs(step))
        return anew or (gone and row["state"] == "done")

    def run(self) -> Rows:
        self._save()
        # A signal waits in the queue, as a step that has ended does: at once, it could lose a step.
        signals, number = heeded("SIGINT", "SIGTERM", "SIGHUP"), 0
        with self._interruptible():
            with handling(signals, lambda number, frame: self.ended.put(number)):
                while not number and (self._start() or self.processes):
                    ended = self.ended.get()
                    if isinstance(ended, int):
                        number = ended
                    else:
                        self._finish(*ended)
            if number:
                signal.raise_signal(number)
        failed = [name for name, row in self.rows.items() if row["state"] == "failed"]
        if failed:
            left = [name for name, row in self.rows.items() if row["state"] == "waiting"]
            raise DragomanError(
                f"{failed[0]} failed: {self.pipeline.by_hand(self.pipeline.steps[failed[0]])}\n"
                + "\n".join(f"  {line}" for line in log_end(self.pipeline.folder, failed[0], _SHOWN))
                + (f"\nalso failed: {', '.join(failed[1:])}" if failed[1:] else "")
                + (f"\nwaiting for it: {', '.join(left)}" if left else ""),
                hint=f"see {self._log(failed[0])}; repeat the command to go on",
            )
        return self.rows

    def _start(self) -> bool:
        """Start what is ready. Whether something was started."""
        ready = [
            name
            for name, step in self.pipeline.steps.items()
            if self.rows[name]["state"] == "waiting"
            and all(self.rows[one]["state"] == "done" for one in self.pipeline.needs(step))
        ]
        started = False
        for name in ready:
            step = self.pipeline.steps[name]
            alone = any(self.pipeline.steps[one].processes > 1 for one in self.processes) or (
                step.processes > 1 and self.processes
            )
            if len(self.processes) < self.jobs and not alone:
                self._spawn(name, step)
                started = True
        return started

    def _spawn(self, name: str, step: PipelineStep) -> None:
        result = self.pipeline.result(name)
        if not step.resumes and "out" in step.references and result.exists():
            self._put_away(name, "begins anew")  # a run was stopped, or someone has put it there
        if "{out}/" in step.run + step.shell:
            result.mkdir(parents=True, exist_ok=True)
        log = self._log(name)
        log.parent.mkdir(parents=True, exist_ok=True)
        cores = usable_cores()
        beside = 1 if step.processes > 1 or self.pipeline.alone(step) else self.jobs
        threads = max(1, cores // (step.processes * beside))
        with log.open("ab") as file:
            file.write(f"$ {self.pipeline.by_hand(step).strip()}\n".encode("utf-8", "surrogateescape"))
            file.flush()
            process = subprocess.Popen(
                self.pipeline.command(step),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={
                    **os.environ,
                    "OMP_NUM_THREADS": str(threads),
                    "PYTHONUNBUFFERED": "1",
                    **({"DRAGOMAN_DATA": data} if (data := self.pipeline.places.get("data")) else {}),
                    # So that `dragoman` and `python` are those of this command.
                    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
                },
                start_new_session=True,
                preexec_fn=_die_with_parent if _LINUX else None,
                pass_fds=self.lock.inheritable,
            )
        self.processes[name], self.began[name] = process, time.monotonic()
        self.rows[name] |= {"state": "running", "began": time.time()}
        self.say(f"{name}: started")
        self._save()
        threading.Thread(target=self._wait, args=(name, process), daemon=True).start()

    def _wait(self, name: str, process: subprocess.Popen[bytes]) -> None:
        if hasattr(os, "wait4"):
            _, status, usage = os.wait4(process.pid, 0)
            code, memory = os.waitstatus_to_exitcode(status), usage.ru_maxrss / (2**10 if _LINUX else 2**20)
            core_seconds = usage.ru_utime + usage.ru_stime
            process.returncode = code  # the process has been waited for
        else:
            code, memory, core_seconds = process.wait(), 0.0, 0.0
        self.ended.put((name, code, memory, core_seconds))

    def _finish(
        self, name: str, code: int, memory: float, core_seconds: float, state: State | None = None
    ) -> None:
        del self.processes[name]
        seconds = self.rows[name].get("seconds", 0.0) + time.monotonic() - self.began.pop(name)
        core_seconds += self.rows[name].get("core_seconds", 0.0)
        state = state or ("done" if code == 0 else "failed")
        self.rows[name] |= {
            "state": state,
            "seconds": round(seconds, 1),
            "core_seconds": round(core_seconds, 1),
            "most_memory_mb": round(memory),
        }
        self.say(f"{name}: {state} after {seconds:,.0f} s ({core_seconds:,.0f} s of one core)")
        self._save()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Let steps save and stop if the block is interrupted."""
        try:
            yield
        except BaseException:
            self.say("waiting for the steps to save; repeat the command to resume")
            self._stop(signal.SIGTERM)
            until = time.monotonic() + _PATIENCE
            try:
                with contextlib.suppress(queue.Empty):
                    while self.processes:
                        ended = self.ended.get(timeout=max(0.0, until - time.monotonic()))
                        if isinstance(ended, int):
                            break
                        self._finish(*ended, state="waiting")
            finally:
                self._stop(signal.SIGKILL)
            raise

    def _stop(self, number: int) -> None:
        for process in self.processes.values():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number) if hasattr(os, "killpg") else process.kill()

    def _log(self, name: str) -> Path:
        return self.pipeline.folder / "logs" / f"{name}.log"

    def _save(self) -> None:
        rows = {
            name: self.rows[name] | {"needs": self.pipeline.needs(step), "trains": step.trains}
            for name, step in self.pipeline.steps.items()
        }
        for name, row in read_rows(self.pipeline.folder).items():
            if name not in rows:  # left out of the file, perhaps for a while
                same = all(rows.get(need, row)["state"] == "done" for need in row.get("needs", ()))
                rows[name] = row if same and row["state"] != "running" else row | {"state": "waiting"}
        table = {"title": self.pipeline.title, "steps": rows}
        write_whole(self.pipeline.folder / RECORD, json.dumps(table, indent=1))


def _die_with_parent() -> None:
    """Ask Linux for SIGTERM when the pipeline is killed: a step left alone would meet the next one."""
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGTERM)
