"""The translation memory of a command that translates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman.base.errors import ConfigError

if TYPE_CHECKING:
    from dragoman.text.guidance import Match
    from dragoman.translator import Translator


@contextmanager
def remembering(
    path: Path | None, least: float, to: str | None, *, offers: bool
) -> Iterator[Callable[[Translator], Translator]]:
    """Open the memory at `path` before the model is loaded, and yield what makes a translator use it.

    `least` is how alike matches are, in percent. Without `offers` nobody sees them, so they are only looked
    for if the model reads them. Raises the errors of `open_memory`.
    """
    if not 0 < least <= 100:
        raise ConfigError(f"--match-least {least:g}", hint="a likeness is from 1 to 100 percent")
    if path is None:
        yield lambda translator: translator
        return
    from dragoman.memory.exchange import is_exchanged, open_memory

    with ExitStack() as stack:
        early = None if is_exchanged(path) else stack.enter_context(open_memory(path))

        def using(translator: Translator) -> Translator:
            languages = translator.source_language, to or translator.target_language
            memory = early or stack.enter_context(open_memory(path, languages))
            wanted = offers or "matches" in translator.reads
            return translator.using(memory=memory, match_least=least if wanted else 100.0)

        yield using


def rounded(match: Match) -> dict[str, Any]:
    """Return a match as plain values, for JSON."""
    return {"score": round(match.score, 1), "source": match.source, "target": match.target}
