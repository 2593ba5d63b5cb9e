"""Compare language tags (BCP 47), as files and users write them: "en", "en-US", "en_US"."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from dragoman.base.errors import DataError

_SAME = {"iw": "he", "nb": "no", "nn": "no", "cmn": "zh", "in": "id"}


@lru_cache(1000)  # of strangers' files
def _parts(tag: str) -> list[str]:
    first, *rest = tag.lower().replace("_", "-").split("-")
    return [_SAME.get(first, first), *rest]


def related(one: str, other: str) -> bool:
    """Whether two tags may name one language. Codes of two and of three letters are not compared."""
    a, b = _parts(one)[0], _parts(other)[0]
    return a == b or len(a) != len(b)


def closest(wanted: str, tags: Iterable[str]) -> str | None:
    """Return the tag with the most in common with the wanted one, the first of equals; None if none fits."""
    best, most = None, 0
    for tag in tags:
        common = 0
        for a, b in zip(_parts(wanted), _parts(tag), strict=False):
            if a != b:
                break
            common += 2
        common += common > 0 and len(_parts(tag)) == len(_parts(wanted))
        if common > most:
            best, most = tag, common
    return best


def expect(line: int, name: str, has: str, wanted: str) -> None:
    """Raise DataError if a file is for another language than the wanted one."""
    if has and wanted and not related(has, wanted):
        raise DataError(f"line {line}: {name} is {has!r}, not {wanted!r}", hint="translate in its languages")
