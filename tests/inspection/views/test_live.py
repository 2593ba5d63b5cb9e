"""The report that a page computes, against the one of PyTorch."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.inspection.models import bundle, transformer
from tests.translation.bundles import PAIRS, learnt_bundle

from dragoman.base.errors import ConfigError
from dragoman.inspection import Intervention, contrast, inspect
from dragoman.inspection.views import report
from dragoman.models.folder.bundle import Bundle, save
from dragoman.models.folder.quantisation import quantise_folder
from dragoman.models.shapes import SSRUConfig
from dragoman.serving.service.inspection import _about
from dragoman.translation.native.web.wasm import MODULE, engine_wasm

pytestmark = pytest.mark.thorough

LIVE = Path(report.__file__).with_name("live") / "report.js"
LINES = [PAIRS[0][0], "Zwei  Boote, 12 cats\u3000&  猫が寝る 🙂!", "The baker"]


def answers(folder: Path, questions: Sequence[dict[str, Any]], **options: Any) -> list[Any]:
    """What the page answers in Node: about the model, then to each question."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("no Node on the path (Debian: apt-get install nodejs)")
    try:
        wasm = engine_wasm()
    except ConfigError as error:
        pytest.skip(f"{error} (pip install ziglang)")
    task = {
        "engine": MODULE.as_uri(), "report": LIVE.as_uri(), "wasm": str(wasm), "folder": str(folder),
        "options": options, "questions": questions,
    }  # fmt: skip
    run = subprocess.run(
        [node, str(Path(__file__).with_name("live.mjs"))],
        input=json.dumps(task), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found: list[Any] = json.loads(run.stdout)
    return found


def check(ours: Any, theirs: Any, name: str, *, near: float = 1e-4) -> None:
    """Compare all values of a table of Python's with the page's, which may have more."""
    near = 1e-3 if name.endswith((".values", ".logits")) else near
    if isinstance(theirs, np.ndarray):
        assert tuple(ours["shape"]) == theirs.shape, name
        np.testing.assert_allclose(ours["raw"], theirs.ravel(), atol=near, rtol=near, err_msg=name)
    elif isinstance(theirs, dict):
        assert set(theirs) <= set(ours), name
        for key, value in theirs.items():
            check(ours[key], value, f"{name}.{key}", near=near)
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs), name
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            check(one, other, f"{name}.{i}", near=near)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, abs=near, rel=near), name
    else:
        assert ours == theirs, name


def table_of(value: Any) -> Any:
    """Dataclasses as dictionaries, with their arrays."""
    if is_dataclass(value):
        return {field.name: table_of(getattr(value, field.name)) for field in fields(value)}
    return [table_of(one) for one in value] if isinstance(value, list | tuple) else value


def compare(pair: Bundle, folder: Path, questions: Sequence[dict[str, Any]]) -> None:
    """Compare the page's reports with those of `inspect` and `contrast`."""
    save(pair, folder)
    offer, *reports = answers(folder, questions)
    assert {"source": "en", "target": "de", **json.loads(json.dumps(_about(pair.model.config)))} == offer
    for question, found in zip(questions, reports, strict=True):
        assert "error" not in found, (question, found)
        how = replace(pair.generation, **{{"beam": "size"}.get(k, k): v for k, v in question.get("options", {}).items()})
        given: dict[str, Any] = {"beam": how, "name": "en to de"}
        text = " ".join(question["text"].split())
        if "interventions" not in question:
            traces = [inspect(pair, text, **given)]
            assert found["difference"] is None
        else:
            both = contrast(pair, text, Intervention.from_table(question["interventions"]), **given)
            traces = [both.untouched, both.changed]
            check(found["difference"], both.difference(), f"{question}: difference")
        for ours, theirs in zip(found["traces"], traces, strict=True):
            check(ours, table_of(theirs) | {"dragoman": ""}, f"{question}: {ours.get('run')}")


def test_the_report_is_that_of_pytorch(tmp_path: Path) -> None:
    changes: list[dict[str, Any]] = [
        {"without": ["cross.1.2"]},
        {"shift": 3},
        {"no_positions": True},
        {"force": [{"step": 3, "token": 40}], "length_penalty": 1.5},
        {
            "without": ["encoder.1.1", "decoder.1.1"], "force": [{"step": 2, "token": 50}, {"step": 5, "token": 2}],
            "ban": [{"step": 1, "token": 20}, {"step": None, "token": 30}], "length_penalty": -0.5,
        },
    ]  # fmt: skip
    questions = [
        {"text": line, **change}
        for line in LINES
        for change in ({}, *({"interventions": one} for one in changes))
    ]
    questions.append({"text": LINES[0], "options": {"beam": 1, "length_penalty": 0.0}})
    compare(learnt_bundle(), tmp_path / "model", questions)


@pytest.mark.parametrize(
    "options",
    [
        {"norm": "pre", "positions": "t5", "window": 4},
        {"positions": "learned", "tie": "none", "attention_bias": True},
        {"positions": "relative", "norm": "pre", "norm_kind": "rms"},
        {"positions": "rotary", "kv_heads": 1},
        {"positions": "alibi"}, {"positions": "index"}, {"positions": "none"},
    ],
    ids=str,
)  # fmt: skip
def test_models_of_other_shapes(options: dict[str, Any], tmp_path: Path) -> None:
    pair = bundle(transformer(**options))
    change: dict[str, Any] = {"without": ["decoder.2.1"], "no_positions": options["positions"] != "none"}
    compare(pair, tmp_path / "model", [{"text": LINES[0], "interventions": change}])
