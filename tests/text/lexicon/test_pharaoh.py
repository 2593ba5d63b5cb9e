from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.text.lexicon.pharaoh import Gold

LINKS = st.frozensets(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8)


def test_sure_and_possible_links() -> None:
    gold = Gold.of(" 0-0 12p3\t1-2 ")
    assert gold.sure == {(0, 0), (1, 2)}
    assert gold.possible == {(0, 0), (1, 2), (12, 3)}
    assert Gold.of("") == Gold(frozenset(), frozenset())


@given(sure=LINKS, more=LINKS)
def test_what_is_written_is_read(sure: frozenset[tuple[int, int]], more: frozenset[tuple[int, int]]) -> None:
    gold = Gold(sure, sure | more)
    assert Gold.of(str(gold)) == gold


@pytest.mark.parametrize("text", ["0", "0-", "-0", "0:0", "0-0-0", "٣-0", "a-b", "0P0", "9999999999-0"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="is not a link") as caught:
        Gold.of(f"0-0 {text}")
    assert caught.value.hint
