"""Weights that do not fit: every fault is listed, not only the first."""

from __future__ import annotations

import pytest

from dragoman.base.errors import ModelError
from dragoman.translation.folder.fit import check_fit, misfits
from dragoman.translation.folder.header import Outline

MATRIX = Outline(shape=(2, 3), dtype="float32")
NEEDED = dict.fromkeys("abcde", MATRIX)


def test_what_fits_has_no_faults() -> None:
    check_fit(NEEDED, NEEDED, "here")
    check_fit(dict.fromkeys("abcde", Outline(shape=(2, 3), dtype="bfloat16")), NEEDED, "here")


def test_every_fault_is_listed() -> None:
    weights = {
        "a": Outline(shape=(3, 2), dtype="float32"),
        "b": Outline(shape=(6,), dtype="int32"),
        "c": Outline(shape=(2, 3), dtype="bool"),
        "x": MATRIX,
        "y": MATRIX,
    }

    faults = misfits(weights, NEEDED)

    assert (faults.missing, faults.unknown) == (["d", "e"], ["x", "y"])
    assert [text.split()[0] for text in faults.shapes] == ["a", "b"]
    assert [text.split()[0] for text in faults.dtypes] == ["b", "c"]
    with pytest.raises(ModelError) as caught:
        check_fit(weights, NEEDED, "here")
    assert str(caught.value) == (
        "here: weights do not fit: missing d, e; unknown x, y; a has shape (3, 2), the model needs (2, 3); "
        "b has shape (6,), the model needs (2, 3); b holds int32, not floating-point numbers; "
        "c holds bool, not floating-point numbers"
    )
    assert caught.value.hint


def test_a_long_list_is_cut_with_a_count() -> None:
    needed = {f"w{number:03}": MATRIX for number in range(100)}

    with pytest.raises(ModelError, match=r"(?m)missing w000, .*, w019 and 80 more$") as caught:
        check_fit({}, needed, "here")

    assert "w020" not in str(caught.value)
