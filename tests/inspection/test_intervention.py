from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.base.errors import ConfigError
from dragoman.inspection import Head, Intervention, TokenAt

EVERYTHING = Intervention(
    without=(Head("encoder", 2, 3), Head("cross", 1, 1)),
    force=(TokenAt("Hund", 3), TokenAt(7, 4)),
    ban=(TokenAt("rot"), TokenAt(9, 2)),
    shift=2,
    length_penalty=1.5,
)


def test_it_is_plain_data() -> None:
    text = json.dumps(EVERYTHING.to_table())
    assert Intervention.from_table(json.loads(text)) == EVERYTHING
    assert json.loads(text) == {
        "without": ["encoder.2.3", "cross.1.1"],
        "force": [{"step": 3, "token": "Hund"}, {"step": 4, "token": 7}],
        "ban": [{"step": None, "token": "rot"}, {"step": 2, "token": 9}],
        "shift": 2,
        "no_positions": False,
        "length_penalty": 1.5,
    }
    assert Intervention.from_table({}) == Intervention()
    assert hash(EVERYTHING) == hash(Intervention.from_table(json.loads(text)))


def test_it_is_written_as_on_the_command_line() -> None:
    written = Intervention.of(without=["decoder.1.2"], force=["3=Hund", "4=="], ban=["rot", "2=a=b", "x=y"])
    assert written == Intervention(
        without=(Head("decoder", 1, 2),),
        force=(TokenAt("Hund", 3), TokenAt("=", 4)),
        ban=(TokenAt("rot"), TokenAt("a=b", 2), TokenAt("x=y")),
    )
    assert str(written) == "without decoder.1.2, force 3=Hund, force 4==, ban rot, ban 2=a=b, ban x=y"
    assert str(EVERYTHING).endswith("force 4=#7, ban rot, ban 2=#9, source positions shifted by 2, "
                                    "length penalty 1.5")  # fmt: skip
    assert str(Intervention(no_positions=True)) == "no source positions"
    assert str(Intervention()) == "nothing changed"


def test_what_it_changes() -> None:
    assert not Intervention().of_model
    assert not Intervention().of_search
    for changes in ({"without": (Head("cross", 1, 1),)}, {"shift": 1}, {"no_positions": True}):
        one = Intervention(**changes)  # type: ignore[arg-type]
        assert one.of_model
        assert not one.of_search
    for changes in ({"force": (TokenAt(1, 1),)}, {"ban": (TokenAt(1),)}, {"length_penalty": 0.0}):
        one = Intervention(**changes)  # type: ignore[arg-type]
        assert one.of_search
        assert not one.of_model


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([], "not an intervention"),
        ({"heads": []}, "not an intervention"),
        ({"without": "encoder.1.1"}, "not a list"),
        ({"without": [1]}, "not a list"),
        ({"without": ["encoder.1"]}, "encoder.1"),
        ({"without": ["encoder.0.1"]}, "encoder.0.1"),
        ({"without": ["encoder.1.1.1"]}, "encoder.1.1.1"),
        ({"without": ["coder.1.1"]}, "coder.1.1"),
        ({"without": ["encoder.1.1"] * 2001}, "too many"),
        ({"force": [{"token": "a"}]}, "without a step"),
        ({"force": [{"token": "a", "step": 0}]}, "step 0"),
        ({"force": [{"token": "a", "step": 513}]}, "step 513"),
        ({"force": [{"token": "a", "step": True}]}, "step True"),
        ({"force": [{"step": 1}]}, "force"),
        ({"ban": [{"token": "a", "at": 1}]}, "ban"),
        ({"ban": [{"token": " "}]}, "token ' '"),
        ({"ban": [{"token": 1.5}]}, "token 1.5"),
        ({"ban": [{"token": None}]}, "token None"),
        ({"ban": [{"token": True}]}, "token True"),
        ({"ban": ["a"]}, "not a list"),
        ({"shift": -1}, "shift = -1"),
        ({"shift": 513}, "shift = 513"),
        ({"shift": 1.0}, "shift = 1.0"),
        ({"no_positions": 1}, "no_positions = 1"),
        ({"no_positions": True, "shift": 1}, "shifted and left out"),
        ({"length_penalty": float("nan")}, "length_penalty = nan"),
        ({"length_penalty": "1"}, "length_penalty = '1'"),
        ({"length_penalty": True}, "length_penalty = True"),
    ],
)
def test_anything_else_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        Intervention.from_table(wrong)
    assert error.value.hint


def test_a_head_is_checked() -> None:
    for wrong in (("coder", 1, 1), ("cross", 0, 1), ("cross", 1, True), ("cross", 1, 1.0)):
        with pytest.raises(ConfigError, match="head"):
            Head(*wrong)  # type: ignore[arg-type]
