from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.inspection.models import KINDS, bundle, transformer

from dragoman.base.errors import ConfigError
from dragoman.inspection.positions import cosine_similarity, laboratory, positions_of


@pytest.mark.parametrize("base", [10000.0, 100.0])
@pytest.mark.parametrize("shift", [1, 7, -3])
def test_a_shift_is_a_rotation(base: float, shift: int) -> None:
    """Section 3.5: PE(pos + k) is a linear function of PE(pos), the same for every pos."""
    table = laboratory(16, 40, base=base).tables[0].values.astype(np.float64)
    pairs = table.reshape(40, 8, 2)  # sine, cosine
    rate = base ** (-2 * np.arange(8) / 16)
    sine, cosine = np.sin(shift * rate), np.cos(shift * rate)
    matrices = np.stack((cosine, sine, -sine, cosine), -1).reshape(-1, 2, 2)
    for position in range(5, 30):
        turned = np.einsum("pij,pj->pi", matrices, pairs[position])
        np.testing.assert_allclose(turned, pairs[position + shift], atol=1e-5)
    np.testing.assert_allclose(
        np.einsum("pij,pkj->pik", matrices, matrices), np.eye(2)[None].repeat(8, 0), atol=1e-6
    )


def test_the_table_is_the_papers() -> None:
    table = laboratory(6, 4, base=100.0).tables[0].values
    for position in range(4):
        for i in range(3):
            angle = position / 100 ** (2 * i / 6)
            assert table[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-6)
    halves = laboratory(6, 4, layout="sinusoidal-halves").tables[0]
    assert halves.layout == "halves"
    np.testing.assert_allclose(halves.values[:, 3:] ** 2 + halves.values[:, :3] ** 2, 1, atol=1e-6)


def test_rows_are_alike_by_distance() -> None:
    similarity = cosine_similarity(laboratory(64, 20).tables[0].values)
    np.testing.assert_allclose(np.diag(similarity), 1, atol=1e-6)
    np.testing.assert_allclose(similarity[0, :10], similarity[9, 9:19], atol=1e-5)
    assert cosine_similarity(np.zeros((2, 3), np.float32))[0, 1] == 0


@pytest.mark.parametrize(
    ("kind", "names", "rows"),
    [
        ("sinusoidal", 1, 9),
        ("sinusoidal-halves", 1, 9),
        ("sinusoidal-t2t", 1, 9),
        ("learned", 1, 9),
        ("learned-apart", 2, 9),
        ("none", 0, 0),
        ("index", 0, 0),
        ("fraction", 0, 0),
        ("relative", 4, 33),
        ("t5", 2, 17),
        ("alibi", 2, 17),
        ("rotary", 2, 9),
    ],
)
def test_every_encoding_shows_its_tables(kind: Any, names: int, rows: int) -> None:
    model: Any = bundle(transformer(positions=kind)).model
    found = positions_of(model, 9)
    assert found.kind == kind
    assert found.note
    assert len(found.tables) == names
    for table in found.tables:
        assert len(table.values) == rows
        assert table.values.shape[1] == (
            2
            if table.columns == "head"
            else 16
            if "head" not in kind and kind not in ("relative", "rotary")
            else 8
        )
    if kind == "learned":
        np.testing.assert_array_equal(
            found.tables[0].values, model.positions.table.weight[:9].detach().numpy()
        )
    if kind == "alibi":
        np.testing.assert_allclose(found.tables[0].values[:, 0], [-abs(d) / 16 for d in range(-8, 9)])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.startswith("transformer")])
def test_other_architectures(kind: str) -> None:
    found = positions_of(bundle(KINDS[kind]).model, 5)
    assert found.note
    both_sides = 0 if found.kind in ("recurrent", "fraction") else 2
    assert len(found.tables) == (1 if kind.startswith("ssru") else both_sides)


@pytest.mark.parametrize(
    "wrong",
    [{"width": 1}, {"length": 0}, {"base": 1.0}, {"base": math.nan}, {"width": 5000}, {"length": 5000}],
)
def test_no_table(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        laboratory(**wrong)
