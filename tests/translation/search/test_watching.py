from __future__ import annotations

import threading

import pytest

from dragoman.translation.search.watching import abandonable, look_up


class Gone(Exception):
    pass


def leave() -> None:
    raise Gone


def test_a_search_looks_up_only_while_it_is_watched() -> None:
    look_up()
    with pytest.raises(Gone), abandonable(leave):
        look_up()
    look_up()


def test_other_threads_are_not_concerned() -> None:
    with abandonable(leave):
        thread = threading.Thread(target=look_up)
        thread.start()
        thread.join()
        with abandonable(lambda: None):
            look_up()
        with pytest.raises(Gone):
            look_up()
