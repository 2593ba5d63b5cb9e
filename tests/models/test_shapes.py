"""Options that only PyTorch computes: an experiment that the native engine and the exporters do not know."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal

import pytest

from dragoman.base.errors import ConfigError
from dragoman.base.options import Option
from dragoman.interop.formats import FORMATS
from dragoman.models.shapes import TransformerConfig, experiments
from dragoman.translation.native.choice import against_native
from dragoman.translation.native.native import unsupported

SIZES: Any = {"source_vocab": 9, "target_vocab": 9, "d_model": 8, "heads": 4}


@dataclass(frozen=True, kw_only=True)
class Experiment(TransformerConfig):
    """A new option, and a new value of an old one."""

    gate: Annotated[bool, Option("Gate the attention.")] = False
    norm_kind: Annotated[Literal["layer", "rms", "batch"], Option("Kind.")] = "layer"  # type: ignore[assignment]


def test_an_experiment_is_translated_by_pytorch_alone() -> None:
    """Left at its default, a new option changes nothing. Used, it is refused where it is not known."""
    assert unsupported(Experiment(**SIZES)) is None
    tried = Experiment(**SIZES, gate=True, norm_kind="batch")

    assert experiments(tried) == ['model.norm_kind = "batch"', "model.gate = true"]
    reason = 'it does not know model.norm_kind = "batch", model.gate = true'
    assert against_native("auto", tried) == reason
    with pytest.raises(ConfigError, match=f"engine = native: {reason}"):
        against_native("native", tried)


@pytest.mark.parametrize("name", FORMATS)
def test_no_exporter_writes_an_experiment(name: Any, tmp_path: Path) -> None:
    bundle: Any = SimpleNamespace(model=SimpleNamespace(config=Experiment(**SIZES, gate=True)))

    with pytest.raises(ConfigError, match="cannot hold model.gate = true"):
        FORMATS[name].write(bundle, tmp_path / "out")
    assert not (tmp_path / "out").exists()
