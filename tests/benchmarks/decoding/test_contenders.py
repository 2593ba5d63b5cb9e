"""Who takes part in `translation_speed.py`, with which settings and commands."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from decoding import contenders
from decoding.contenders import (
    CONTENDERS,
    DecodingConditions,
    choose_kinds,
    choose_translators,
)
from decoding.material import Material
from decoding.measured import Job
from decoding.programs import PROGRAMS

from dragoman.base.errors import ConfigError
from dragoman.interop import formats
from dragoman.models.shapes import TransformerConfig

PACKAGE = Path(contenders.__file__).parent
MATERIAL = Material(
    folder=Path("folder"), title="toy", shape=TransformerConfig(), lengths=(12, 14), limit=16, forced=True
)


def named(name: str) -> contenders.TranslationContender:
    return choose_translators([name])[0]


def test_who_and_what_is_measured() -> None:
    assert [one.name for one in choose_translators(None)] == [one.name for one in CONTENDERS]
    assert [one.name for one in choose_translators(["hf", "dragoman", "hf"])] == ["hf", "dragoman"]
    assert choose_kinds(None) == ["throughput", "latency", "start", "file"]
    assert choose_kinds(["start", "throughput"]) == ["throughput", "start"]
    with pytest.raises(ConfigError, match="unknown contender ct2") as caught:
        choose_translators(["ct2"])
    assert "ctranslate2-int8" in str(caught.value.hint)
    with pytest.raises(ConfigError, match="--only speed"):
        choose_kinds(["speed"])


def test_why_a_contender_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    assert named("ctranslate2").unable(MATERIAL) == (
        "ctranslate2 is not installed: pip install 'dragoman[ctranslate2]'"
    )
    monkeypatch.setattr(formats, "find_spec", lambda name: name)
    assert named("ctranslate2").unable(MATERIAL) is None
    assert "cannot force" in str(named("marian").unable(MATERIAL))
    assert named("marian").unable(replace(MATERIAL, forced=False)) is None
    assert named("hf").unable(replace(MATERIAL, missing={"huggingface": "no"})) == "no"
    monkeypatch.setattr("dragoman.translation.native.build.unavailable", lambda: "no compiler")
    assert named("dragoman").unable(MATERIAL) == "the native engine is not available: no compiler"
    assert named("dragoman-pytorch").unable(MATERIAL) is None


@pytest.mark.parametrize("one", CONTENDERS, ids=lambda one: one.name)
def test_settings_give_every_program_what_it_reads(one: contenders.TranslationContender) -> None:
    for measure in ("throughput", "latency"):
        stages = one.stages(measure, 2)  # type: ignore[arg-type]
        defaults = {name for stage in stages for name in stage[0]}
        assert defaults >= ({"inter", "intra"} if one.program == "ctranslate2" else {"threads"})
        for stage in stages:
            assert all(settings.keys() == stage[0].keys() for settings in stage)
            assert len({str(settings) for settings in stage}) == len(stage)
        if measure == "latency":
            assert len(stages[0]) == (1 if one.program == "fxtranslate" else 2)  # which has one thread
    assert one.program in PROGRAMS


def test_a_job_survives_its_command_line() -> None:
    job = named("hf").job(DecodingConditions(material=MATERIAL, threads=2), "latency", 4, {"threads": 2})

    assert Job.from_json(job.to_json()) == job
    assert (job.lines, job.beam, job.limit, job.forced, job.dtype) == (2, 4, 16, True, "float32")


def test_the_command_line_of_ours() -> None:
    """One float32 and one int8 folder; bfloat16 is asked for. Lengths are about the forced one."""
    conditions = DecodingConditions(material=MATERIAL, threads=2)
    scripts = {
        name: named(name)._script(conditions, 4) for name in ("dragoman", "dragoman-bf16", "dragoman-int8")
    }

    assert "--max-extra=3" in scripts["dragoman"]
    assert "--min-length=16" in scripts["dragoman"]
    assert "--dtype=bfloat16" in scripts["dragoman-bf16"]
    assert str(Path("folder") / "int8") in scripts["dragoman-int8"]
    assert not any("--dtype" in word for word in scripts["dragoman"] + scripts["dragoman-int8"])


def test_quantile() -> None:
    values = [float(i) for i in range(1, 101)]

    assert contenders.quantile(values, 0.95) == 95
    assert contenders.quantile([3.0, 1.0], 0.95) == 3
    assert contenders.quantile([3.0], 0.5) == 3


@pytest.mark.thorough
def test_a_clean_process_imports_little() -> None:
    """CTranslate2's process has no torch; what all share has nothing but the standard library."""
    code = (
        f"import sys; sys.path.append({str(PACKAGE.parent)!r}); import decoding.programs;"
        "print({name.partition('.')[0] for name, module in sys.modules.items() if module})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    third = ast.literal_eval(done.stdout) - set(sys.stdlib_module_names) - {"__main__", "dragoman"}

    assert not third & {"torch", "numpy", "transformers", "typer", "rich", "sentencepiece"}


def test_our_program_keeps_its_bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an installed one does: else each start would compile every module."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")

    assert "PYTHONDONTWRITEBYTECODE" not in named("dragoman")._variables(1)
