from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.inspection.models import KINDS, bundle, transformer

from dragoman.base.errors import DataError
from dragoman.inspection import Trace, arrays, inspect

SENTENCE = "The dog sees 12 <b>cats</b> 你好."


@pytest.mark.parametrize(
    "kind", ["transformer", "transformer-t5-all", *[k for k in KINDS if "trans" not in k]]
)
def test_what_is_saved_is_loaded(kind: str, tmp_path: Path) -> None:
    trace = inspect(bundle(KINDS[kind]), SENTENCE, max_extra_tokens=3)
    trace.save(tmp_path / "trace.json")
    again = Trace.load(tmp_path / "trace.json")

    assert again.to_json() == trace.to_json()
    assert again.steps == trace.steps
    assert again.beam == trace.beam
    for one, other in zip(trace.attention, again.attention, strict=True):
        np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        "{",
        '{"format": "dragoman-trace"}',
        '{"format": "dragoman-trace", "version": 2}',
        '{"format": "dragoman-trace", "version": true}',
        '{"format": "dragoman-trace", "version": 1, "steps": NaN}',
        '{"format": "dragoman-trace", "version": 1, "steps": 3}',
    ],
)
def test_what_is_no_trace(content: str, tmp_path: Path) -> None:
    (tmp_path / "trace.json").write_text(content)
    with pytest.raises(DataError, match=r"trace\.json"):
        Trace.load(tmp_path / "trace.json")


def test_damage_is_named(tmp_path: Path) -> None:
    whole = inspect(bundle(transformer()), SENTENCE, max_extra_tokens=1).to_json()
    for key, value in (("data", "AAAA"), ("type", "float64"), ("shape", [2**70])):
        table = json.loads(whole)
        table["attention"][0]["weights"][key] = value
        (tmp_path / "trace.json").write_text(json.dumps(table))
        with pytest.raises(DataError, match="array"):
            Trace.load(tmp_path / "trace.json")
    table = json.loads(whole) | {"steps": []}
    (tmp_path / "trace.json").write_text(json.dumps(table))
    with pytest.raises(DataError, match="steps"):
        Trace.load(tmp_path / "trace.json")


def test_no_file(tmp_path: Path) -> None:
    for path in (tmp_path / "no.json", tmp_path):
        with pytest.raises(DataError, match=re.escape(f"{path}: ")):
            Trace.load(path)


def test_traces_can_be_kept_in_sets() -> None:
    trace = inspect(bundle(transformer()), SENTENCE, max_extra_tokens=1)
    assert trace in {trace}


@given(st.lists(st.floats(-1e6, 1e6, width=32), max_size=40))
def test_arrays(numbers: list[float]) -> None:
    array = np.array(numbers, np.float32)
    np.testing.assert_array_equal(arrays.decode(arrays.encode(array, compact=False)), array)
    near = arrays.decode(arrays.encode(array, compact=True))
    most = np.abs(array).max(initial=0)
    np.testing.assert_allclose(near, array, atol=most / 32767 * 0.51 + 1e-37)
    assert np.all(near[array == 0] == 0)


def test_a_trace_shows_itself() -> None:
    trace = inspect(bundle(transformer()), SENTENCE, max_extra_tokens=3)
    assert repr(trace).startswith("Trace('The dog")
    assert str(trace).splitlines()[:2] == [trace.source.text, trace.target.text]
    frame = trace._repr_html_()
    assert frame.startswith('<iframe sandbox="allow-scripts" srcdoc="')
    assert "<b>cats" not in frame
