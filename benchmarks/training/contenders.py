"""The contenders of `training_speed.py`: the command of each, and how to read its answer.

dragoman and the libraries time their own steps. A toolkit runs its own training command on the text of the
workload, in its own batches of the same number of tokens. Its speed comes from its log. Its driver says which
tokens the toolkit counts as target tokens.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from measuring.turns import Measured, answer_of
from peers.install import DRIVERS, python_of
from peers.timing import PAD
from training.workload import Workload

from dragoman.base.errors import ConfigError
from dragoman.models.operations import training_step
from dragoman.models.shapes import TransformerConfig
from dragoman.training.runs.recipe import resolve
from dragoman.training.step.precision import multiplies_bf16

OURS = "dragoman"
Device = Literal["cpu", "cuda"]


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """The conditions that are the same for all contenders."""

    workload: Workload
    preset: str
    threads: int
    steps: int
    warm: int
    device: Device = "cpu"

    @property
    def sizes(self) -> dict[str, Any]:
        """Options of the model: the preset's sizes; post-norm and dropout 0.1 as in the paper."""
        model = resolve(preset=self.preset).model
        names = ("d_model", "d_ff", "heads", "encoder_layers", "decoder_layers")
        vocab = self.workload.about.vocab
        fixed = {"norm": "post", "dropout": 0.1, "source_vocab": vocab, "target_vocab": vocab}
        return {name: getattr(model, name) for name in names} | fixed

    @property
    def shape(self) -> TransformerConfig:
        """The model that all contenders train."""
        return TransformerConfig(**self.sizes)

    def work(self) -> tuple[int, float]:
        """Target tokens, and operations, of the timed steps together. Padding is not counted."""
        tokens, operations = 0, 0.0
        for source_BS, target_BT in self.workload.batches[self.warm : self.warm + self.steps]:
            lengths = [(side != PAD).sum(1).tolist() for side in (source_BS, target_BT)]
            tokens += sum(lengths[1])
            operations += training_step(self.shape, *lengths)
        return tokens, operations


@dataclass(frozen=True, kw_only=True)
class Turn(Measured):
    """What one turn measured. The memory is that of the largest process, times their number."""

    tokens_per_second: float  # target tokens
    operations_per_second: float
    parameters: int = 0
    error: float | None = None  # of a product that the contender calls float32


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One way to train the same model."""

    name: str
    about: str
    precision: Literal["fp32", "bf16"]  # bf16 becomes fp32 on a device that does not multiply it natively
    file: str = ""  # its driver, among those of the peers; ours if empty
    environment: str = ""  # of the peers, in which the driver runs
    flags: tuple[str, ...] = ()
    processes: int = 1
    stock: bool = False  # not tuned
    cuda: bool = False  # whether its driver can measure a GPU

    def turn(self, conditions: Conditions) -> Turn:
        """Train for `conditions.steps`. Raises TrainingError if the contender fails."""
        facts = answer_of(self.command(conditions), variables_of(conditions, self.processes), name=self.name)
        tokens, operations = conditions.work()
        # A toolkit makes its own batches; the operations of a token are counted in our batches.
        rate = facts.get("tokens_per_second") or tokens / sum(facts["seconds"])
        peak = facts.get("peak_memory")
        return Turn(
            tokens_per_second=rate,
            operations_per_second=rate * operations / tokens,
            peak_memory=peak and peak * self.processes,
            version=facts.get("version", ""),
            parameters=facts.get("parameters", 0),
            error=facts.get("error"),
        )

    def command(self, conditions: Conditions) -> list[str]:
        """The command of a turn."""
        python = str(python_of(self.environment)) if self.environment else sys.executable
        start = [python]
        if self.processes > 1:
            start += ["-m", "torch.distributed.run", f"--nproc-per-node={self.processes}"]
        driver = DRIVERS / self.file if self.file else Path(__file__).with_name("ours.py")
        return [
            *start, str(driver), str(conditions.workload.folder), "--shape", json.dumps(conditions.sizes),
            f"--threads={conditions.threads // self.processes}", f"--steps={conditions.steps}",
            f"--warm={conditions.warm}", f"--precision={self.precision}", f"--device={conditions.device}",
            *self.flags,
        ]  # fmt: skip


CONTENDERS = [
    Contender(name=OURS, about="one process", precision="bf16", cuda=True),
    Contender(name=f"{OURS}-2", about="two processes, each with half the threads", precision="bf16",
              processes=2),
    Contender(name=f"{OURS}-fp32", about="one process", precision="fp32", cuda=True),
    Contender(name=f"{OURS}-fp32-2", about="two processes, each with half the threads", precision="fp32",
              processes=2),
    Contender(name="hf", about="Hugging Face MarianMT, not tuned", precision="fp32", file="huggingface.py",
              environment="huggingface", stock=True, cuda=True),
    Contender(name="hf-onednn", about="MarianMT with oneDNN, eager attention, fused Adam", precision="fp32",
              file="huggingface.py", environment="huggingface", flags=("--tuned",)),
    Contender(name="hf-tuned", about="MarianMT with autocast if in bf16, the faster attention, fused Adam",
              precision="bf16", file="huggingface.py", environment="huggingface", flags=("--tuned",),
              cuda=True),
    Contender(name="hf-compiled", about="hf-tuned, compiled", precision="bf16", file="huggingface.py",
              environment="huggingface", flags=("--tuned", "--compile"), cuda=True),
    Contender(name="pytorch", about="torch.nn.Transformer", precision="fp32", file="pytorch.py",
              environment="huggingface", stock=True, cuda=True),
    Contender(name="joeynmt", about="JoeyNMT's own command", precision="fp32", file="joeynmt.py",
              environment="joeynmt", stock=True),
    Contender(name="opennmt", about="OpenNMT-py's own command", precision="fp32", file="opennmt.py",
              environment="opennmt", stock=True),
    Contender(name="eole", about="Eole's own command", precision="fp32", file="opennmt.py",
              environment="eole", flags=("--eole",), stock=True),
    Contender(name="sockeye", about="Sockeye's own command", precision="fp32", file="sockeye.py",
              environment="sockeye", stock=True),
    Contender(name="marian", about="Marian's own command, through pymarian", precision="fp32",
              file="marian.py", environment="marian", stock=True),
]  # fmt: skip


def choose_contenders(names: Sequence[str] | None, device: Device = "cpu") -> list[Contender]:
    """The contenders of these names; by default ours and the installed peers.

    Without native bf16 some names mean the same. By default the first of them is measured.

    Raises ConfigError for a name that is unknown, not installed, or cannot be measured on the device.
    """
    native = multiplies_bf16(torch.device(device))
    everyone = [one if native else replace(one, precision="fp32") for one in CONTENDERS]
    known = {contender.name: contender for contender in everyone}
    able = [one for one in everyone if one.cuda or device == "cpu"]
    if names is None:
        different = {replace(one, name="", about="", cuda=False): one for one in reversed(able)}.values()
        return [
            one
            for one in able
            if one in different and (not one.environment or python_of(one.environment).exists())
        ]
    for name in names:
        if name not in known:
            raise ConfigError(f"unknown contender {name}", hint=f"choose among: {', '.join(known)}")
        if known[name] not in able:
            choices = ", ".join(one.name for one in able)
            raise ConfigError(f"{name} can be measured on a CPU only", hint=f"on a GPU: {choices}")
        environment = known[name].environment
        if environment and not python_of(environment).exists():
            raise ConfigError(
                f"{name} is not installed",
                hint=f"install it first: python benchmarks/peers/install.py {environment}",
            )
    return [known[name] for name in names]


def variables_of(conditions: Conditions, processes: int = 1) -> dict[str, str]:
    """Environment variables of a turn: the threads, and a C library that keeps freed memory.

    `dragoman train` keeps freed memory too, so every contender does. It costs some memory.
    """
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
