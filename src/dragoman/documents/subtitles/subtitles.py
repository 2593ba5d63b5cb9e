"""Subtitles: SubRip and WebVTT. Timings, numbers, settings and notes stay.

A sentence that continues in the next cue is one segment. Its translation is split over the same cues.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dragoman.documents.edits import Edit, PartsDocument, decode_file
from dragoman.documents.formats import Languages
from dragoman.documents.markup.inline import Item, content, paired
from dragoman.documents.segment import Code, Result, Segment, changed
from dragoman.documents.subtitles.cues import Run, read_cues, runs_of
from dragoman.documents.subtitles.split import balanced, share

_PAUSE = 1000  # milliseconds; a sentence does not continue after a longer one
_MOST_CUES = 6  # in a segment
_LANGUAGE = re.compile(
    r"WEBVTT[^\r\n]*(?:\r\n?|\n)(?:[^\r\n]+(?:\r\n?|\n))*?Language:[ \t]*([\w-]+)(?=[ \t]*[\r\n])"
)
_END = re.compile(r"[.!?…。！？؟۔।][\"'”’»›)\]」』]*$")
_BROKEN_OFF = re.compile(r"(?:\.\.\.|…|--|[–—-])[\"'”’»›)\]」』]*$")


@dataclass(frozen=True)
class _Speech:
    """The runs of a segment, one in each cue."""

    runs: list[Run]
    escape: Callable[[str], str]

    @property
    def segments(self) -> list[Segment]:
        items = (item for run in self.runs for item in (Item(run.start, run.start, " "), *run.items))
        return [Segment(content(paired(items)), f"line {self.runs[0].cue.first}")]

    def edits(self, text: str, results: Sequence[Result | None]) -> Iterator[Edit]:
        if (new := changed(self.segments[0], results[0])) is None:
            return
        for run, part in zip(self.runs, share(new, [len(run.plain) for run in self.runs]), strict=True):
            first = run.cue.rows[0]
            rows = (
                "".join(one.text if isinstance(one, Code) else self.escape(one) for one in row)
                for row in balanced(part, run.rows)
            )
            yield Edit(run.start, run.end, text[first.end : first.next].join(rows))


def parse(data: bytes, languages: Languages) -> PartsDocument:
    """Read subtitles: WebVTT if the file begins so, else SubRip. Raises DataError as `read_cues` does.

    The segments are sentences, or several when they share a cue.
    """
    decoded = decode_file(data)
    text, webvtt = decoded.text, decoded.text.startswith("WEBVTT")
    spaces = "&nbsp;" in text

    def escape(new: str) -> str:
        new = new.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return new.replace("\u00a0", "&nbsp;") if spaces else new

    runs = [run for cue in read_cues(text, webvtt) for run in runs_of(text, cue, webvtt)]
    speeches = [_Speech(one, escape if webvtt else str) for one in _speeches(runs)]
    named = _LANGUAGE.match(text)
    also = [Edit(*named.span(1), languages.target)] if named and languages.renames(named[1]) else []
    return PartsDocument(decoded, speeches, also)


def _speeches(found: list[Run]) -> list[list[Run]]:
    """Put together the runs of a sentence. Files without punctuation are left by cues."""
    ends = sum(_END.search(run.plain) is not None for run in found)
    speeches: list[list[Run]] = []
    for run in found:
        if speeches and ends * 10 >= len(found) and _goes_on(speeches[-1], run):
            speeches[-1].append(run)
        else:
            speeches.append([run])
    return speeches


def _goes_on(before: list[Run], run: Run) -> bool:
    """Whether a run continues the sentence of the ones before it."""
    last = before[-1]
    if not (last.closes and run.opens and last.voice == run.voice and len(before) < _MOST_CUES):
        return False
    if run.cue is last.cue or run.cue.start < last.cue.start or run.cue.start - last.cue.end > _PAUSE:
        return False
    if _BROKEN_OFF.search(last.plain):
        return next(filter(str.isalpha, run.plain), "").islower()
    return not _END.search(last.plain)
