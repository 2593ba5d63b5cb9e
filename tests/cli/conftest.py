"""What the tests of the command line share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dragoman.translation.translator import Translator


@pytest.fixture
def stopping(monkeypatch):
    """Stops every translation after so many lines, as Ctrl-C does; None no longer stops it."""
    whole = Translator.stream

    def stop_after(lines: int | None) -> None:
        def stream(self, *words, **options) -> Iterator:
            for number, translation in enumerate(whole(self, *words, **options)):
                if number == lines:
                    raise KeyboardInterrupt
                yield translation

        monkeypatch.setattr(Translator, "stream", stream)

    return stop_after
