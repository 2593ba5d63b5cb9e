"""The parts of a document for a translator: segments, and the codes inside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Literal, Protocol, TypeVar

from dragoman.base.options import Option, Options
from dragoman.text.blank import is_blank
from dragoman.text.guidance import Match

Owner = TypeVar("Owner")


@dataclass(frozen=True)
class Code:
    """An untranslated item between the words of a segment, such as a tag or a placeholder.

    `text` is as the file has it, so writing it back needs no escapes.
    """

    text: str
    kind: Literal["open", "close", "empty", "placeholder"]
    """`open` and `close` enclose text, as <b> and </b> do; `empty` is a tag without text, as <br/>.

    A placeholder has a place in the sentence, as a word has; tags have none.
    """
    pair: int = 0  # the same number for an opening code and its closing one, from 1; 0 if it has none
    shown: str = ""  # what a reader sees there, such as a space for a tab; the model reads it in its place
    breaks: bool = False  # a sentence cannot continue beyond it, as beyond <br/>


Content = tuple[str | Code, ...]
"""Text and codes in order. Text is decoded: no escapes of the file, no entities."""


def text_of(content: Content) -> str:
    """The text of a segment without its tags. Placeholders stay, unless a reader sees something else."""
    return "".join(
        one if isinstance(one, str) else one.shown or (one.text if one.kind == "placeholder" else "")
        for one in content
    )


def full_text(content: Iterable[str | Code]) -> str:
    """The text of a segment with its tags and placeholders as the file writes them."""
    return "".join(one if isinstance(one, str) else one.text for one in content)


def translation_of(source: Content, target: Content) -> Content | None:
    """The target, or None if it shows nothing and has no codes. A blank source may have a blank target."""
    blank = is_blank(full_text(target)) and not is_blank(full_text(source))
    return None if blank else target or None


def merged(parts: Iterable[str | Code]) -> Content:
    """The same content without empty strings and without two strings in a row."""
    found: list[str | Code] = []
    last = ""  # the text that is last
    for part in parts:
        if not isinstance(part, str):
            last = ""
            found.append(part)
        elif last:
            found[-1] = last = last + part
        elif part:
            found.append(part)
            last = part
    return tuple(found)


class Status(Enum):
    """The state of a translation in a file. Each format maps its own states to these."""

    MISSING = "missing"  # no text
    DRAFT = "draft"  # text that counts as not yet translated: fuzzy, new
    DOUBTFUL = "doubtful"  # to be reviewed, or not approved
    DONE = "done"


Guard = Literal["approved", "final", "locked"]  # a state that only the flag of its name lets change


@dataclass(frozen=True, kw_only=True)
class Replacing(Options):
    """The translations of a file that are replaced. By default only drafts are; missing ones are filled."""

    retranslate: Annotated[
        bool, Option("Replace the translations that the file has, but no approved, final or locked ones.")
    ] = False
    approved: Annotated[bool, Option("Replace approved translations.")] = False
    final: Annotated[bool, Option("Replace translations in a final state.")] = False
    locked: Annotated[bool, Option("Replace locked translations.")] = False

    def wants(self, segment: Segment) -> bool:
        """Whether a segment is translated. One with guards needs the flag of each, also if it is empty."""
        if segment.guards:
            return all(getattr(self, guard) for guard in segment.guards)
        return self.retranslate or segment.state in (Status.MISSING, Status.DRAFT)


@dataclass(frozen=True)
class Segment:
    """A piece of a document that is translated on its own: a paragraph, a message, a cue."""

    source: Content
    where: str  # for messages: "line 12"
    target: Content | None = None  # the translation that the file has, if its format holds both languages
    state: Status = Status.MISSING
    guards: frozenset[Guard] = frozenset()
    context: str = ""  # distinguishes equal segments: the context of a message, the key of a string
    note: str = ""  # from its authors to translators
    place: str = ""  # the file of a program that uses it; messages of one place explain each other
    flags: tuple[str, ...] = ()  # how its placeholders are written, as gettext says: "c-format"
    heading: bool | None = None  # whether it is one; None: the format does not say


@dataclass(frozen=True)
class Result:
    """The translation of a segment."""

    content: Content
    doubts: tuple[str, ...] = field(default=())  # why a person must check it, such as "number differs: 5"
    match: Match | None = None  # from the memory; with a score of 100 it was taken over

    @property
    def is_remembered(self) -> bool:
        """Whether it is the translation of the memory."""
        return self.match is not None and self.match.exact


def replaced_draft(segment: Segment, result: Result) -> str:
    """The text of a draft that a result replaces, which the file keeps as a comment, or "".

    A copy of the source is no draft of a person.
    """
    old = full_text(segment.target or ()) if segment.state is Status.DRAFT else ""
    same = old.strip() in (full_text(segment.source).strip(), full_text(result.content).strip())
    return "" if same else old.strip()


def dealt(
    owners: Sequence[tuple[Owner, int]], results: Sequence[Result | None]
) -> Iterator[tuple[Owner, Sequence[Result | None]]]:
    """Deal the results out to owners of several segments. Raises ValueError if there are more or fewer."""
    if (total := sum(count for _, count in owners)) != len(results):
        raise ValueError(f"{len(results)} results for {total} segments")
    place = 0
    for owner, count in owners:
        yield owner, results[place : place + count]
        place += count


def changed(segment: Segment, result: Result | None) -> Content | None:
    """The new content of a segment, or None if it equals the source."""
    new = segment.source if result is None else merged(result.content)
    return None if new == segment.source else new


class Document(Protocol):
    """A file of some format. Bytes that belong to no segment never change."""

    @property
    def segments(self) -> list[Segment]:
        """In the order of the file."""
        ...

    def render(self, results: list[Result | None]) -> bytes:
        """Return the file with these translations, one for each segment; None leaves a segment as it is.

        Without results, and if every result equals what the file has, this is the file byte for byte, but
        for drafts: a result ends this state. Formats that hold translations mark one where its result has
        doubts, and keep each `replaced_draft` as a comment. A format that cannot write some translation
        leaves its segment as it is, and lists it in an attribute `kept`.
        """
        ...


def prose_of(segments: Iterable[Segment]) -> str:
    """The text of segments by which its language is detected: without tags and placeholders."""
    return "\n".join(" ".join(one for one in each.source if isinstance(one, str)) for each in segments)
