"""Who takes part: how each is installed, started and read.

A library is driven by a file of `peers/` that times its own steps. A toolkit runs its own command line on the
workload's text, with its own batches of as many tokens, and is read from its log. What each toolkit calls a
target token, and how often it reports, is said beside its pattern.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from dragoman.base.errors import ConfigError, TrainingError
from dragoman.base.machine import cache_folder
from dragoman.bench.workload import Workload, operations
from dragoman.models.shapes import TransformerConfig
from dragoman.runs.recipe import resolve

PEERS = Path(__file__).parent / "peers"
OURS = "dragoman"


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What is the same for all."""

    workload: Workload
    preset: str
    threads: int
    steps: int
    warm: int
    device: Literal["cpu", "cuda"] = "cpu"

    @property
    def shape(self) -> TransformerConfig:
        """Of that preset, with the paper's post-norm and dropout, whatever the preset's are."""
        vocab = self.workload.about.vocab
        table = {"norm": "post", "dropout": 0.1, "source_vocab": vocab, "target_vocab": vocab}
        return TransformerConfig(**(asdict(resolve(preset=self.preset).model) | table))


@dataclass(frozen=True, kw_only=True)
class Rate:
    """What one turn came to."""

    tokens_per_second: float
    operations_per_second: float
    version: str = ""
    parameters: int = 0
    error: float | None = None  # of a product in what it calls float32


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One way to train the same model."""

    name: str
    about: str
    precision: str
    environment: str = ""  # which peers' environment it runs in; our own if none
    file: str = ""  # in `peers/`
    flags: tuple[str, ...] = ()
    processes: int = 1
    stock: bool = False  # as a user finds it, nothing tuned
    cuda: bool = False  # whether its file can measure a GPU

    def turn(self, conditions: Conditions) -> Rate:
        """Trains for the agreed number of steps. Raises TrainingError where it fails."""
        command = self._command(conditions)
        variables = variables_of(conditions, self.processes)
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=1800)
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode or not lines:
            last = (done.stderr.strip().splitlines() or ["no output"])[-1]
            raise TrainingError(
                f"{self.name}: {last[:300]}", hint="run its command yourself: " + " ".join(command)
            )
        told = json.loads(lines[-1])
        about = {key: told[key] for key in ("version", "parameters", "error") if key in told}
        arrays = conditions.workload.batches
        timed = arrays[conditions.warm : conditions.warm + conditions.steps]
        tokens = sum(int((target != 0).sum()) for _, target in timed)
        work = sum(operations(conditions.shape, *pair) for pair in timed)
        # A toolkit makes its own batches; what a token costs is taken from ours.
        rate = told.get("tokens_per_second") or tokens / sum(told["seconds"])
        return Rate(tokens_per_second=rate, operations_per_second=rate * work / tokens, **about)

    def _command(self, conditions: Conditions) -> list[str]:
        shape = asdict(conditions.shape)
        fields = ("d_model", "d_ff", "heads", "encoder_layers", "decoder_layers", "dropout", "norm")
        sizes = {name: shape[name] for name in fields} | {"vocab": conditions.workload.about.vocab}
        python = str(python_of(self.environment)) if self.environment else sys.executable
        start = [python]
        if self.processes > 1:
            start += ["-m", "torch.distributed.run", f"--nproc-per-node={self.processes}"]
        return [
            *start, str(PEERS / self.file), str(conditions.workload.folder), "--shape", json.dumps(sizes),
            f"--threads={conditions.threads // self.processes}", f"--steps={conditions.steps}",
            f"--warm={conditions.warm}", f"--precision={self.precision}", f"--device={conditions.device}",
            *self.flags,
        ]  # fmt: skip


CONTENDERS = [
    Contender(name=OURS, about="one process", precision="bf16", file="ours.py", cuda=True),
    Contender(name=f"{OURS}-2", about="two processes of half the threads", precision="bf16", file="ours.py",
              processes=2),
    Contender(name=f"{OURS}-fp32", about="one process", precision="fp32", file="ours.py", cuda=True),
    Contender(name=f"{OURS}-fp32-2", about="two processes of half the threads", precision="fp32",
              file="ours.py", processes=2),
    Contender(name="hf", about="MarianMT, as it comes", precision="fp32", file="huggingface.py",
              environment="huggingface", stock=True, cuda=True),
    Contender(name="hf-onednn", about="MarianMT, oneDNN, eager attention, fused Adam", precision="fp32",
              file="huggingface.py", environment="huggingface", flags=("--onednn",)),
    Contender(name="hf-tuned", about="MarianMT, bf16 autocast, the faster attention, fused Adam",
              precision="bf16", file="huggingface.py", environment="huggingface", flags=("--tuned",),
              cuda=True),
    Contender(name="hf-compiled", about="the same, compiled", precision="bf16", file="huggingface.py",
              environment="huggingface", flags=("--tuned", "--compile"), cuda=True),
    Contender(name="pytorch", about="torch.nn.Transformer", precision="fp32", file="pytorch.py",
              environment="huggingface", stock=True, cuda=True),
    Contender(name="joeynmt", about="its own command", precision="fp32", file="joeynmt.py",
              environment="joeynmt", stock=True),
    Contender(name="opennmt", about="OpenNMT-py, its own command", precision="fp32", file="opennmt.py",
              environment="opennmt", stock=True),
    Contender(name="eole", about="its own command", precision="fp32", file="opennmt.py",
              environment="eole", flags=("--eole",), stock=True),
    Contender(name="sockeye", about="its own command", precision="fp32", file="sockeye.py",
              environment="sockeye", stock=True),
    Contender(name="marian", about="pymarian, its own command", precision="fp32", file="marian.py",
              environment="marian", stock=True),
]  # fmt: skip


def choose(names: Sequence[str] | None, device: Literal["cpu", "cuda"] = "cpu") -> list[Contender]:
    """The contenders of these names; by default ours, and the peers that are installed.

    Raises ConfigError for one that there is not, that is not installed, or that does not measure the device.
    """
    known = {contender.name: contender for contender in CONTENDERS}
    able = [one for one in CONTENDERS if one.cuda or device == "cpu"]
    if names is None:
        return [one for one in able if not one.environment or python_of(one.environment).exists()]
    for name in names:
        if name not in known:
            raise ConfigError(f"no contender is called {name}", hint=f"choose among: {', '.join(known)}")
        if known[name] not in able:
            there = ", ".join(one.name for one in able)
            raise ConfigError(f"{name} is measured on a CPU only", hint=f"on a GPU: {there}")
        environment = known[name].environment
        if environment and not python_of(environment).exists():
            raise ConfigError(
                f"{name} is not installed", hint=f"install it first: dragoman bench peers {environment}"
            )
    return [known[name] for name in names]


def python_of(environment: str) -> Path:
    """The interpreter of a peers' environment."""
    return cache_folder() / "peers" / environment / "bin" / "python"


def requirements() -> dict[str, Path]:
    """The pinned requirements of each environment."""
    return {path.stem: path for path in sorted(PEERS.glob("*.txt"))}


def install(environment: str) -> None:
    """Makes the environment anew, with what its requirements pin. Raises ConfigError where that fails."""
    if environment not in requirements():
        raise ConfigError(
            f"no peers' environment is called {environment}", hint=f"there are: {', '.join(requirements())}"
        )
    folder = python_of(environment).parents[1]
    try:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        # Nothing beyond the file, which is whole: some toolkits ask for a torch that is long gone.
        pip = [str(python_of(environment)), "-m", "pip", "install", "--quiet", "--no-deps", "-r"]
        subprocess.run([*pip, str(requirements()[environment])], check=True)
    except (OSError, subprocess.SubprocessError) as error:
        python_of(environment).unlink(missing_ok=True)  # half an environment is none
        raise ConfigError(
            f"{environment} cannot be installed: {error}", hint="what pip says is above"
        ) from error


def variables_of(conditions: Conditions, processes: int = 1) -> dict[str, str]:
    """The same for all: so many threads, and a C library that keeps freed memory, as ours asks it to."""
    hidden = {"CUDA_VISIBLE_DEVICES": ""} if conditions.device == "cpu" else {}
    return (
        os.environ
        | hidden
        | {
            "OMP_NUM_THREADS": str(conditions.threads // processes),
            "MALLOC_MMAP_THRESHOLD_": str(2**33),
            "MALLOC_TRIM_THRESHOLD_": str(2**34),
            "MALLOC_TOP_PAD_": str(2**28),
            "HF_HUB_OFFLINE": "1",
            "PYTHONWARNINGS": "ignore",
            "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1",  # older toolkits read their own pickles
        }
    )
