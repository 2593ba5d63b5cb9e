from __future__ import annotations

import threading

import pytest

from dragoman.decoding.watching import look_up, watched


class Gone(Exception):
    pass


def leave() -> None:
    raise Gone


def test_a_search_looks_up_only_while_it_is_watched() -> None:
    look_up()
    with pytest.raises(Gone), watched(leave):
        look_up()
    look_up()


def test_other_threads_are_not_concerned() -> None:
    with watched(leave):
        thread = threading.Thread(target=look_up)
        thread.start()
        thread.join()
        with watched(lambda: None):
            look_up()
        with pytest.raises(Gone):
            look_up()
