"""Parts on Ray: a pool of workers on one machine or many, by Ray Data.

Only descriptions of parts and their results pass through Ray. The text is read and written by the
workers, so all machines must see the same folders. A worker that is lost is started again, and its parts are
given out again; finished ones are found and kept.
"""

from __future__ import annotations

import io
import json
import logging
import os
import secrets
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.base.errors import ConfigError, DragomanError
from dragoman.base.machine import usable_cores
from dragoman.bulk.source import TextPart
from dragoman.bulk.worker import BulkJob, PartResult, PartWorker

_MOST_THREADS = 8  # of one worker: they share the weights, but wait for each other at the end of a part
_BLOCKS = 64  # for each worker, given out at once
_REACHED = 10.0  # seconds
_STORE = 80 * 2**20  # bytes of shared memory; Ray takes no less, and parts need little


class RayWorker:
    """A worker as Ray Data wants it: rows of parts in, rows of results out."""

    def __init__(self, job: BulkJob, threads: int) -> None:
        os.environ["OMP_NUM_THREADS"] = str(threads)  # read when the engine is loaded
        self._worker = PartWorker(job)

    def __call__(self, batch: dict[str, Any]) -> Iterator[dict[str, list[str]]]:
        """Translate the parts of a batch, and yield each result as it comes."""
        for row in batch["item"]:
            number, part = json.loads(str(row))
            yield {"result": [json.dumps([number, asdict(self._worker.translate(TextPart(**part)))])]}


def on_ray(
    job: BulkJob, parts: Sequence[TextPart], *, workers: int | None = None, address: str | None = None
) -> Iterator[tuple[int, PartResult]]:
    """Translate the parts on Ray. Yields the number and the result of each, in any order.

    `address` names a cluster, HOST:PORT or `auto`; this machine must be part of it. Without one, Ray
    runs on this machine until the end. By default all cores are used. Raises ConfigError if Ray is not
    installed, nothing answers at the address, or the cluster has too few cores for the workers.
    """
    with _started(address, workers) as ray:
        nodes = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
        count, threads = divide_cores([cores for cores in nodes if cores], workers)
        count = min(count, len(parts))
        rows = [json.dumps([number, asdict(part)]) for number, part in enumerate(parts)]
        dataset = ray.data.from_items(rows, override_num_blocks=min(len(rows), count * _BLOCKS)).map_batches(
            RayWorker,
            fn_constructor_args=(job, threads),
            batch_size=None,
            compute=ray.data.ActorPoolStrategy(size=count),
            num_cpus=threads,
        )  # Ray Data starts lost workers again, and gives out their parts again, without end
        for row in _explained(ray, dataset.iter_rows()):
            number, table = json.loads(row["result"])
            yield number, PartResult(**table)


def divide_cores(nodes: Sequence[int], workers: int | None) -> tuple[int, int]:
    """Return the number of workers and the threads of each, for machines with these numbers of cores.

    Raises ConfigError if there are more workers than cores.
    """
    if not nodes:
        raise ConfigError("the Ray cluster has no cores", hint="start Ray on its machines with --num-cpus")
    if workers is None:
        threads = min(_MOST_THREADS, *nodes)
        return sum(cores // threads for cores in nodes), threads
    if workers > sum(nodes):
        raise ConfigError(
            f"--workers {workers}: the Ray cluster has {sum(nodes)} cores", hint="ask for fewer workers"
        )
    threads = min(_MOST_THREADS, sum(nodes) // workers)
    while sum(cores // threads for cores in nodes) < workers:
        threads -= 1
    return workers, threads


def check_ray() -> None:
    """Raise ConfigError if Ray is not installed."""
    from importlib.util import find_spec

    if find_spec("ray") is None or find_spec("pyarrow") is None:
        raise ConfigError(
            "Ray is not installed",
            hint="pip install 'dragoman[ray]'; one machine does not need it: --on here",
        )


@contextmanager
def _started(address: str | None, workers: int | None) -> Iterator[Any]:
    """Connect to a cluster, or start Ray on this machine for as long as the block. Yields the module."""
    check_ray()
    folder = None
    # Nothing is reported to the makers of Ray.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_DEDUP_LOGS", "0")  # else it keeps messages back until it has ended
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "CRITICAL"}
    if address is None:
        # Only this machine reaches it, and only with a password of this run.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # Ray's name for: bind to 127.0.0.1
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
        # A short path: Ray makes sockets in it, whose names have at most 107 bytes.
        folder = tempfile.mkdtemp(prefix="dragoman-ray-", dir="/tmp" if Path("/tmp").is_dir() else None)
        options |= {
            "address": "local",
            "num_cpus": max(usable_cores(), workers or 1),
            "include_dashboard": False,
            "object_store_memory": _STORE,
            "_temp_dir": folder,
        }
    else:
        _check_reached(address)
        options["address"] = address
    handlers = _handlers()
    try:
        import ray

        with redirect_stdout(io.StringIO()):  # Ray prints there when it starts a worker again
            try:
                _connect(ray, address, options)
                for number, handler in handlers.items():  # Ray has set its own, which hides the exit code
                    signal.signal(number, handler)
                yield ray
            finally:
                ray.shutdown()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _connect(ray: Any, address: str | None, options: dict[str, Any]) -> None:
    try:
        with _silent():
            ray.init(**options)
    except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
        raise _no_cluster(address, str(error).strip().partition("\n")[0]) from error
    import ray.data as data

    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def _silent() -> Iterator[None]:
    """Discard output of Ray's C++ on standard error while it starts: where its log level is from."""
    kept = os.dup(2)
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _handlers() -> dict[int, Any]:
    if threading.current_thread() is not threading.main_thread():
        return {}
    return {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}


def _check_reached(address: str) -> None:
    """Raise ConfigError if nothing listens at HOST:PORT. Ray itself would try for minutes."""
    where = os.environ.get("RAY_ADDRESS", "") if address == "auto" else address
    if address == "auto" and where in ("", "auto"):
        return  # Ray looks for a cluster on this machine, and says at once if it finds none
    host, colon, port = where.rpartition(":")
    if not colon or not port.isdecimal() or "/" in host:
        raise ConfigError(
            f"--address {where}",
            hint="write HOST:PORT, or auto, and run the command on a machine of the cluster",
        )
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACHED).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, str(error)) from error


def _no_cluster(address: str | None, reason: str) -> DragomanError:
    if address is None:
        return DragomanError(f"Ray does not start: {reason}", hint="translate without it: --on here")
    return ConfigError(
        f"--address {address}: no Ray cluster answers ({reason})",
        hint="start one with `ray start --head --port 6379`, and run the command on one of its machines",
    )


def _explained(ray: Any, rows: Iterable[Any]) -> Iterator[Any]:
    """Turn an exception of Ray into an error for users."""
    try:
        yield from rows
    except ray.exceptions.RayError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        raise DragomanError(
            f"a worker failed: {lines[-1].strip() if lines else type(error).__name__}",
            hint="every machine needs the same Python, Ray and dragoman; repeat the command, which resumes",
        ) from error
