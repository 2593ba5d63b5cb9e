"""The report that a page computes, against the one of PyTorch."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.inspection.models import bundle, transformer
from tests.translation.bundles import PAIRS, learnt_bundle, several_bundle

from dragoman.base.errors import ConfigError
from dragoman.inspection import Intervention, contrast, inspect
from dragoman.inspection.views import report
from dragoman.models.folder.bundle import Bundle, save
from dragoman.models.folder.quantisation import quantise_folder
from dragoman.models.shapes import SSRUConfig
from dragoman.serving.service.inspection import _about
from dragoman.translation.native.web.wasm import MODULE, engine_wasm
from dragoman.translation.search.options import Beam, Decoding
from dragoman.translation.translator import Translator

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
        assert math.isclose(ours, theirs, abs_tol=near, rel_tol=near), (name, ours, theirs)
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
    assert offer == {"source": "en", "target": "de", **json.loads(json.dumps(_about(Translator.of(pair))))}
    for question, found in zip(questions, reports, strict=True):
        assert "error" not in found, (question, found)
        options = question.get("options", {})
        how = Decoding(**options).beam_search(pair.generation)
        how = replace(how, banned=tuple(question.get("banned", how.banned)))
        given: dict[str, Any] = {"beam": how, "name": "en to de"}
        text = " ".join(question["text"].split())
        if tags := question.get("tags"):
            text, given["start"] = Translator.of(pair).addressed(text, tags["source"], tags["to"])
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
            "without": ["encoder.1.1", "decoder.1.1"],
            "force": [{"step": 2, "token": 50}, {"step": 5, "token": 2}],
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


def test_the_report_of_a_model_of_several_languages(tmp_path: Path) -> None:
    asked = {"text": LINES[0], "tags": {"source": "en", "to": "fr"}}
    changed = {**asked, "interventions": {"force": [{"step": 3, "token": 40}]}}
    compare(several_bundle(target_mark="target"), tmp_path / "model", [asked, changed])
    wrong = [{**asked, "interventions": {what: [{"step": 1, "token": 40}]}} for what in ("force", "ban")]
    assert answers(tmp_path / "model", wrong)[1:] == [{"error": "Step 1 is the mark of the language."}] * 2


def test_what_a_page_bans_is_not_generated(tmp_path: Path) -> None:
    pair = learnt_bundle()
    first = inspect(pair, LINES[0]).target.tokens[0].id
    compare(pair, tmp_path / "model", [{"text": LINES[0], "banned": [first]}])


SHAPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "pre-norm, T5": (
        transformer(norm="pre", positions="t5", window=4),
        {"stop": "patient", "renormalize": True, "banned": (30, 40)},
    ),
    "learned": (
        transformer(positions="learned", tie="none", attention_bias=True),
        {"stop": "exact", "normalization": "power"},
    ),
    "relative": (transformer(positions="relative", norm="pre", norm_kind="rms"), {"stop": "shrinking"}),
    "rotary": (transformer(positions="rotary", kv_heads=1), {}),
    "alibi": (transformer(positions="alibi"), {}),
    "index": (transformer(positions="index", embedding_norm=True), {}),
    "none": (transformer(positions="none"), {}),
    "SSRU": (SSRUConfig(d_model=16, d_ff=24, heads=2, encoder_layers=2, decoder_layers=2), {}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_models_of_other_shapes(name: str, tmp_path: Path) -> None:
    config, generation = SHAPES[name]
    pair = replace(bundle(config), generation=Beam(size=3, **generation))
    change: dict[str, Any] = {
        "without": ["cross.2.1", "encoder.1.2"],
        "no_positions": config.positions != "none",
    }
    compare(pair, tmp_path / "model", [{"text": "The baker", "interventions": change}])


def test_the_search_of_an_int8_model_is_that_of_its_steps(tmp_path: Path) -> None:
    save(learnt_bundle(), folder := tmp_path / "model")
    quantise_folder(folder, int8 := tmp_path / "int8")
    _, found = answers(int8, [{"text": LINES[0], "interventions": {"without": ["cross.1.2"]}}])
    for trace in found["traces"]:
        path = [node["logp"] for node in trace["beam"]["nodes"] if node["best"]]
        assert path == pytest.approx([step["logp"] for step in trace["steps"]], abs=1e-4)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"text": "a" * 501}, "At most 500 characters"),
    ({"text": " \n"}, "The text is empty"),
    ({"text": "a " * 245}, "At most 200 can be inspected"),
    ({"text": "a", "options": {"beam": 0}}, "beam = 0"),
    ({"text": "a", "interventions": {"without": ["cross.2.1"]}}, "layer 1 of 1"),
    ({"text": "a", "interventions": {"without": ["cross.1"]}}, "write KIND.LAYER.HEAD"),
    ({"text": "a", "interventions": {"shift": 600}}, "from 0 to 512"),
    ({"text": "a", "interventions": {"shift": 1, "no_positions": True}}, "choose one of them"),
    ({"text": "a", "interventions": {"force": [{"step": 513, "token": 40}]}}, "from 1 to 512"),
    ({"text": "a", "interventions": {"force": [{"step": 1, "token": 4000}]}}, "token that does not exist"),
    ({"text": "a", "interventions": {"ban": [{"token": 0, "step": None}]}}, "Token 0 is never generated"),
    (
        {"text": "a", "interventions": {"force": [{"step": 1, "token": 2}, {"step": 2, "token": 40}]}},
        "after the end",
    ),
    (
        {"text": "a", "interventions": {"force": [{"step": 1, "token": 9}], "ban": [{"token": 9}]}},
        "forced and banned",
    ),
]  # fmt: skip


def test_what_cannot_be_inspected_is_refused(tmp_path: Path) -> None:
    save(learnt_bundle(), folder := tmp_path / "model")
    _, *found, after = answers(folder, [*(question for question, _ in REFUSED), {"text": "The baker"}])
    for (question, message), one in zip(REFUSED, found, strict=True):
        assert message in one.get("error", ""), (question, one)
    assert len(after["traces"]) == 1
