from __future__ import annotations

from dragoman.text.clean import clean


def test_clean_leaves_nothing_a_terminal_would_obey() -> None:
    assert clean("a\x1b[2Jb\x07\x9bc") == "a�[2Jb��c"
    assert clean("one\ttwo\r\nthree\u2028four") == "one two  three�four"
    assert clean("\ufffe\u202eabc\u2066d\ud800") == "��abc�d�"
    kept = "Zwei Hunde [bold], 雪 مرحبا 👩\u200d👩\u200d👧 é"
    assert clean(kept) == kept
