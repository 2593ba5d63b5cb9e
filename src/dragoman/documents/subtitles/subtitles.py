"""Subtitles: SubRip and WebVTT. Timings, numbers, settings and notes stay.

A sentence that goes on in the next cue is one segment. Its translation is split over the same cues.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from dragoman.documents.edits import Decoded, Edit, apply, decode_file
from dragoman.documents.formats import Languages
from dragoman.documents.markup.inline import Item, content, paired
from dragoman.documents.segment import Code, Content, Result, Segment, merged
from dragoman.documents.subtitles.cues import Run, read_cues, runs_of
from dragoman.documents.subtitles.split import balanced, share

_PAUSE = 1000  # milliseconds; a sentence does not go on after a longer one
_MOST_CUES = 6  # in a segment
_END = re.compile(r"[.!?…。！？؟۔।][\"'”’»›)\]」』]*$")
_BROKEN_OFF = re.compile(r"(?:\.\.\.|…|--|[–—-])[\"'”’»›)\]」』]*$")


@dataclass(frozen=True)
class _Speech:
    """The runs of a segment, one in each cue."""

    runs: list[Run]

    @property
    def source(self) -> Content:
        items: list[Item] = []
        for run in self.runs:
            items += [Item(run.start, run.start, " "), *run.items]
        return content(paired(items))


class Subtitles:
    """Subtitles whose segments are sentences, or several when they share a cue."""

    def __init__(self, decoded: Decoded, webvtt: bool) -> None:
        self._decoded = decoded
        self._webvtt = webvtt
        self._spaces = "&nbsp;" in decoded.text
        found = [run for cue in read_cues(decoded.text, webvtt) for run in runs_of(decoded.text, cue, webvtt)]
        self._speeches = _speeches(found)
        self.segments = [Segment(one.source, f"line {one.runs[0].cue.first}") for one in self._speeches]

    def render(self, results: list[Result | None]) -> bytes:
        edits = []
        for speech, segment, result in zip(self._speeches, self.segments, results, strict=True):
            if result is None or merged(result.content) == segment.source:
                continue
            parts = share(result.content, [len(run.plain) for run in speech.runs])
            edits += [
                Edit(run.start, run.end, self._written(run, part))
                for run, part in zip(speech.runs, parts, strict=True)
            ]
        return self._decoded.encode(apply(self._decoded.text, edits))

    def _written(self, run: Run, new: Content) -> str:
        first = run.cue.rows[0]
        rows = balanced(new, run.rows)
        return self._decoded.text[first.end : first.next].join(
            "".join(one.text if isinstance(one, Code) else self._escaped(one) for one in row) for row in rows
        )

    def _escaped(self, text: str) -> str:
        if not self._webvtt:
            return text
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return text.replace("\u00a0", "&nbsp;") if self._spaces else text


def parse(data: bytes, languages: Languages) -> Subtitles:
    """Read subtitles: WebVTT if the file begins so, else SubRip. Raises DataError as `read_cues` does."""
    decoded = decode_file(data)
    return Subtitles(decoded, decoded.text.startswith("WEBVTT"))


def _speeches(found: list[Run]) -> list[_Speech]:
    """Put together the runs of a sentence. Files without punctuation are left by cues."""
    ends = sum(_END.search(run.plain) is not None for run in found)
    speeches: list[_Speech] = []
    for run in found:
        if speeches and ends * 10 >= len(found) and _goes_on(speeches[-1].runs, run):
            speeches[-1].runs.append(run)
        else:
            speeches.append(_Speech([run]))
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
