"""What the tests of all formats ask of a document."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.documents.formats import FORMATS, Languages
from dragoman.documents.segment import Code, Content, Document, Result

LANGUAGES = Languages("en", "de")


def parse(name: str, text: str | bytes) -> Document:
    return FORMATS[name].parse(text.encode() if isinstance(text, str) else text, LANGUAGES)


def sources(name: str, text: str | bytes) -> list[str]:
    """The sources of the segments, with codes in pointed brackets."""
    return [shown(segment.source) for segment in parse(name, text).segments]


def shown(content: Content) -> str:
    return "".join(f"⟨{one.text}⟩" if isinstance(one, Code) else one for one in content)


def mapped(change: Callable[[str], str], content: Content) -> Content:
    return tuple(one if isinstance(one, Code) else change(one) for one in content)


def translated(name: str, text: str | bytes, change: Callable[[str], str] = str.upper) -> str:
    """The file with each text changed and each code in its place."""
    document = parse(name, text)
    results: list[Result | None] = [Result(mapped(change, one.source)) for one in document.segments]
    return document.render(results).decode()


def with_results(name: str, text: str | bytes, *contents: Content | None) -> str:
    """The file with these translations of its first segments."""
    document = parse(name, text)
    results = [None if one is None else Result(one) for one in contents]
    return document.render([*results, *[None] * (len(document.segments) - len(results))]).decode()


def comes_back(name: str, data: bytes) -> None:
    """Without results, and with the source as the translation, a file is the same byte for byte."""
    document = parse(name, data)
    assert document.render([None] * len(document.segments)) == data
    same: list[Result | None] = [Result(one.source) for one in document.segments]
    assert document.render(same) == data
