"""The contenders of `translation_speed.py`: the processes of each, and the settings to choose among."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from decoding.material import (
    EMBEDDED,
    LINES,
    OURS,
    Material,
    embedded_lines,
    make_material,
    random_bundle,
    varied,
)
from decoding.measured import Job, Measure, Settings
from measuring.turns import Measured, answer_of

from dragoman.base.errors import ConfigError
from dragoman.interop.formats import FORMATS, ExportFormat
from dragoman.text.corpora.lines import read_lines

Kind = Literal["throughput", "latency", "start", "file"]
ProgramName = Literal["ours", "ctranslate2", "huggingface", "marian", "fxtranslate"]
Type = Literal["float32", "bfloat16", "int8"]
Stage = list[Settings]
_HERE = Path(__file__).parent
_PYTHON = (sys.executable, "-P")  # -P: no file beside a program hides a library
_PATIENCE = 24 * 3600.0  # seconds for a turn: the slowest program needs hours for 100,000 lines


@dataclass(frozen=True, kw_only=True)
class DecodingConditions:
    """The conditions that are the same for all contenders."""

    material: Material
    threads: int
    single: int = 100  # sentences that are translated one by one

    @property
    def lines(self) -> int:
        """Sentences that are translated together."""
        return len(self.material.lengths)


@dataclass(frozen=True, kw_only=True)
class DecodingTurn(Measured):
    """What one turn measured."""

    value: float  # sentences a second (throughput, file), or seconds (latency, start)
    p95: float | None = None  # of latency, seconds
    work: float | None = None  # seconds that it kept cores busy, for one sentence


@dataclass(frozen=True, kw_only=True)
class TranslationContender:
    """One program with one type of numbers."""

    name: str
    about: str
    program: ProgramName
    dtype: Type
    model: str  # folder of the material
    engine: str = ""  # of ours
    peer: ExportFormat | None = None
    forces: bool = True  # whether it can force the length of a translation
    greedy: bool = False  # whether it has no beam search
    own_beam: bool = False  # whether its beam search ends by a rule of its own, so that translations differ

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of measurement it supports. Only our program translates files and has such a command."""
        match self.program:
            case "ours":
                return ("throughput", "latency", "start", "file")
            case "marian" | "fxtranslate":
                return ("throughput", "latency")
            case _:
                return ("throughput", "latency", "start")

    @property
    def missing(self) -> str | None:
        """Why its program cannot run here; None if it can."""
        return FORMATS[self.peer].missing if self.peer is not None else None

    def unable(self, material: Material) -> str | None:
        """Why it cannot take part; None if it can."""
        if missing := self.missing:
            return missing
        if self.engine == "native":
            from dragoman.translation.native.build import unavailable

            if why := unavailable():
                return f"the native engine is not available: {why}"
        if self.model in material.missing:
            return material.missing[self.model]
        if material.forced and not self.forces:
            return "it cannot force the length of a translation; --model measures it"
        return None

    def stages(self, measure: Measure, threads: int) -> list[Stage]:
        """Settings to choose among. The first of every stage are the defaults.

        The best of a stage is kept for the next one. One sentence alone has no batches; it is measured
        whether several threads help it.
        """
        if self.program == "fxtranslate":  # one sentence at a time, in one thread
            return [[{"threads": 1}]]
        numbers = sorted({1, threads})
        if measure == "latency":
            if self.program == "ctranslate2":
                return [[{"inter": 1, "intra": n} for n in numbers]]
            return [[self._own | {"threads": n} for n in numbers]]
        match self.program:
            case "ours":
                return [[self._own | {"threads": threads}]]
            case "ctranslate2":
                ways = [{"inter": threads, "intra": 1}]
                ways += [{"inter": 1, "intra": threads}] if threads > 1 else []
                return [
                    ways,
                    _batches("tokens", 512, 256, 1024, 2048, 4096) + _batches("examples", 16, 32, 128),
                ]
            case _:
                return [[{"threads": threads}], [{"batch_size": n} for n in (32, 16, 64, 128)]]

    @property
    def _own(self) -> Settings:
        return {"engine": self.engine} if self.engine else {}

    def job(self, conditions: DecodingConditions, measure: Measure, beam: int, settings: Settings) -> Job:
        """The job of a turn."""
        material = conditions.material
        return Job(
            folder=str(material.folder),
            model=self.model,
            measure=measure,
            lines=min(conditions.lines, conditions.single) if measure == "latency" else conditions.lines,
            beam=beam,
            limit=material.limit,
            forced=material.forced,
            dtype=self.dtype,
            settings=settings,
        )

    def run(self, job: Job, threads: int) -> DecodingTurn:
        """Do a job in a separate process. Raises TrainingError if that fails."""
        command = [*_PYTHON, str(_HERE / "programs.py"), self.program, job.to_json()]
        facts = answer_of(command, self._variables(threads), name=self.name, timeout=_PATIENCE)
        seconds = facts["seconds"]
        value, each = statistics.median(seconds), 1 if job.measure == "latency" else job.lines
        return DecodingTurn(
            value=value if job.measure == "latency" else job.lines / value,
            p95=quantile(seconds, 0.95) if job.measure == "latency" else None,
            work=statistics.median(facts["work"]) / each,
            peak_memory=facts["peak_memory"],
            version=facts["version"],
        )

    def start(self, conditions: DecodingConditions, beam: int) -> DecodingTurn:
        """Translate one sentence from the command line."""
        facts = self._timed(self._script(conditions, beam), conditions, "--first-line")
        return DecodingTurn(value=facts["seconds"], work=facts["work"], peak_memory=facts["peak_memory"])

    def file(self, conditions: DecodingConditions, beam: int) -> DecodingTurn:
        """Translate the file of lines from the command line."""
        facts = self._timed(self._script(conditions, beam), conditions)
        return DecodingTurn(value=conditions.lines / facts["seconds"], peak_memory=facts["peak_memory"])

    def _timed(self, command: list[str], conditions: DecodingConditions, *flags: str) -> dict[str, Any]:
        lines = str(conditions.material.folder / LINES)
        start = [*_PYTHON, str(_HERE / "start.py"), *flags, lines, *command]
        return answer_of(start, self._variables(conditions.threads), name=self.name, timeout=_PATIENCE)

    def _script(self, conditions: DecodingConditions, beam: int) -> list[str]:
        """The command that translates standard input."""
        material = conditions.material
        model = str(material.folder / self.model)
        if self.program == "ours":
            return [
                *(sys.executable, "-m", "dragoman", "translate", model, "--quiet", f"--beam={beam}"),
                f"--max-extra={material.extra}",
                # The model folder says that it is float32 or int8.
                *([f"--dtype={self.dtype}"] if self.dtype == "bfloat16" else []),
                *([f"--min-length={material.limit}"] if material.forced else []),
            ]
        least = material.limit if material.forced else 0
        numbers = map(str, (beam, least, material.limit, conditions.threads))
        return [*_PYTHON, str(_HERE / "script.py"), self.program, model, self.dtype, *numbers]

    def _variables(self, threads: int) -> dict[str, str]:
        # An installed program has its bytecode: without it, ours would be compiled in every turn.
        own = {name: one for name, one in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return own | {
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": str(threads),
            "HF_HUB_OFFLINE": "1",
            "PYTHONWARNINGS": "ignore",
            **({"DRAGOMAN_ENGINE": self.engine} if self.engine else {}),
        }


def _batches(kind: str, *sizes: int) -> Stage:
    return [{"batch_type": kind, "batch_size": size} for size in sizes]


def quantile(values: Sequence[float], share: float) -> float:
    """The smallest of the values that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]


def _ours(name: str, about: str, dtype: Type, engine: str) -> TranslationContender:
    return TranslationContender(
        name=name, about=about, program="ours", dtype=dtype, model=OURS, engine=engine
    )


def _ctranslate2(name: str, dtype: Type, model: str = "ctranslate2") -> TranslationContender:
    return TranslationContender(
        name=name,
        about=f"CTranslate2, compute type {dtype}, settings chosen by a search",
        program="ctranslate2",
        dtype=dtype,
        model=model,
        peer="ctranslate2",
    )


CONTENDERS = [
    _ours("dragoman", "the native engine, float32", "float32", "native"),
    _ours("dragoman-bf16", "the native engine, bfloat16", "bfloat16", "native"),
    replace(_ours("dragoman-int8", "the native engine, int8", "int8", "native"), model="int8"),
    replace(
        _ours("dragoman-firefox", "the native engine, a Firefox model's 8-bit weights", "int8", "native"),
        model="firefox-int8",
    ),
    _ours("dragoman-pytorch", "the PyTorch engine, float32", "float32", "pytorch"),
    _ctranslate2("ctranslate2", "float32"),
    _ctranslate2("ctranslate2-bf16", "bfloat16"),
    _ctranslate2("ctranslate2-int8", "int8", "ctranslate2-int8"),
    TranslationContender(name="hf", about="generate of Hugging Face transformers", program="huggingface",
              dtype="float32", model="huggingface", peer="huggingface"),
    TranslationContender(name="marian", about="Marian, through pymarian", program="marian", dtype="float32",
              model="marian", peer="marian", forces=False, own_beam=True),
    TranslationContender(name="fxtranslate", about="fxtranslate on the same weights, greedy", dtype="int8",
              program="fxtranslate", model="firefox", peer="firefox", forces=False, greedy=True),
]  # fmt: skip


def choose_translators(names: Sequence[str] | None) -> list[TranslationContender]:
    """The contenders of these names; all by default. Raises ConfigError for an unknown name."""
    known = {contender.name: contender for contender in CONTENDERS}
    for name in names or ():
        if name not in known:
            raise ConfigError(f"unknown contender {name}", hint=f"choose among: {', '.join(known)}")
    return [known[name] for name in dict.fromkeys(names or known)]


def choose_kinds(names: Sequence[str] | None) -> list[Kind]:
    """The kinds to measure; all by default. Raises ConfigError for an unknown name."""
    kinds: list[Kind] = list(get_args(Kind))
    for name in names or ():
        if name not in kinds:
            raise ConfigError(f"--only {name} cannot be used", hint=f"choose among: {', '.join(kinds)}")
    return [kind for kind in kinds if not names or kind in names]


@contextmanager
def prepared(
    contenders: Sequence[TranslationContender],
    *,
    model: str | None,
    preset: str | None,
    text: Path | None,
    lines: int,
    threads: int,
) -> Iterator[DecodingConditions]:
    """Yield the conditions; the folder is removed afterwards. Raises ConfigError for options that exclude."""
    if model is not None and preset is not None:
        raise ConfigError("--model together with --preset", hint="a preset has random weights: leave out one")
    own = list(read_lines(text)) if text is not None else embedded_lines(min(lines, EMBEDDED))
    chosen = varied(own, lines)
    if model is not None:
        from dragoman.translation.translator import Translator

        title, bundle = str(model), Translator.load(model, device="cpu", engine="pytorch").bundle
    else:
        title = preset or "small"
        bundle = random_bundle(title, own)
    formats = {one.model for one in contenders if one.missing is None}
    with tempfile.TemporaryDirectory(prefix="dragoman-bench-") as folder:
        material = make_material(Path(folder), bundle, chosen, formats, title=title, forced=model is None)
        del bundle
        yield DecodingConditions(material=material, threads=threads)
