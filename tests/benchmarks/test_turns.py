"""Turns, other programs' work, and processes of their own."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from measuring import turns
from measuring.turns import OtherWork, answer_of, disturbed, megabytes, orders, spread

from dragoman.base.errors import TrainingError


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_every_round_begins_with_the_next() -> None:
    assert list(orders("abc", 4)) == [list("abc"), list("bca"), list("cab"), list("abc")]
    assert list(orders("abc", 0)) == []


def test_the_answer_is_the_last_line_of_json() -> None:
    assert answer_of(python('print(\'{"a": 1}\\n{"a": 2}\\nbye\')'), name="it") == {"a": 2}


def test_variables_are_passed_on() -> None:
    code = "import os, json; print(json.dumps(dict(a=os.environ['A'])))"

    assert answer_of(python(code), {"A": "x"}, name="it") == {"a": "x"}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; print('{}'); sys.exit('out of luck')", "it: out of luck"),
        ("print('no JSON')", "it: no output"),
        ("import time; time.sleep(60)", "it: no answer within 0.5 seconds"),
    ],
)
def test_a_process_that_fails(code: str, message: str) -> None:
    with pytest.raises(TrainingError) as caught:
        answer_of(python(code), name="it", timeout=0.5 if "sleep" in code else 60)

    assert str(caught.value) == message


def test_our_own_work_and_our_children_s_are_not_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """All cores did what this process and its child did; the child's work counts once it has ended."""
    began = turns._work()
    assert began is not None
    monkeypatch.setattr(turns, "busy_seconds", lambda: turns._our_work())
    with OtherWork() as others:
        subprocess.run(python("sum(range(10**7))"), check=True)
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass

    assert others.cores == pytest.approx(0, abs=0.05)


def test_work_of_others_is_a_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    works = iter([(0.0, 5.0, 1.0), (4.0, 10.0, 4.0)])  # 5 seconds of all, 3 of ours, in 4
    monkeypatch.setattr(turns, "_work", lambda: next(works))
    with OtherWork() as others:
        pass

    assert others.cores == 0.5
    assert disturbed(others.cores)
    assert not disturbed(turns.BUSY)


def test_a_system_that_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "busy_seconds", lambda: None)
    with OtherWork() as others:
        pass

    assert others.cores is None
    assert not disturbed(others.cores)


def test_cells() -> None:
    assert spread([3.0, 1000.0, 2.0]) == "2-1,000"
    assert spread([1.0, 2.0], ".2f") == "1.00-2.00"
    assert [megabytes(size) for size in (None, 1_234_567_890)] == ["-", "1,235"]
