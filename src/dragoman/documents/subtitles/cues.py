"""The cues of SubRip and WebVTT files, and the runs of text in them, between names and notes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dragoman.base.errors import DataError
from dragoman.documents.markup.inline import Item, blank, content, has_words, paired, trimmed
from dragoman.documents.markup.lines import TextLine, lines
from dragoman.documents.segment import Code, text_of

_TIME = r"(?:(\d{1,4}):)?(\d{1,2}):(\d{1,2})[.,](\d{1,3})"
_TIMING = re.compile(rf"[ \t]*{_TIME}[ \t]*-->[ \t]*{_TIME}(?:[ \t].*)?")
_LIKE_TIMING = re.compile(r"[ \t]*-?\d\S*[ \t]*-->")
_READING = r"<rt(?:[.\s][^<>]*)?>[^<]*(?:</rt>|(?=</ruby>))"  # of a word
_SRT_TAG = re.compile(
    rf"{_READING}|</?(?P<name>[ibus]|font|ruby|rt)(?:\s[^<>]*)?>|\{{\\[^{{}}\r\n]*\}}|\{{[A-Za-z]:[^{{}}\r\n]*\}}",
    re.IGNORECASE,
)
_VTT_TAG = re.compile(rf"{_READING}|</?(?P<name>[A-Za-z]+)[^<>]*>|<[\d:.]*>|</>")
_WORD = re.compile(r"[ \t\r\n]+|[^ \t\r\n<{]+|[<{]")
_DASH = re.compile(r"[-‐–—](?:[ \t]+|(?=[^\W\d]|[\"'¿¡“„«<{\[(.…]))")
_NAME = re.compile(r"([^\W\d_][\w .'’#&-]{0,30}):(?:[ \t]+|(?=[\r\n]|\Z))")
_NOTE = {"[": "]", "(": ")", "（": "）", "【": "】"}
_MUSIC = re.compile(r"[♪♫♬]+")
_VOICE = re.compile(r"</?v(?:[.\s][^<>]*)?>")


@dataclass(frozen=True)
class Cue:
    """A cue with its times in milliseconds and its lines of text; `first` is the number of the first one."""

    start: int
    end: int
    rows: list[TextLine]
    first: int


@dataclass(frozen=True)
class Run:
    """The words of one speaker in one cue: text[start:end] of the file."""

    cue: Cue
    items: list[Item]
    rows: int  # the number of lines
    voice: str  # the tag of WebVTT, if any
    opens: bool  # whether it begins the cue, so that it may continue the cue before
    closes: bool  # whether it ends the cue

    @property
    def start(self) -> int:
        return self.items[0].start

    @property
    def end(self) -> int:
        return self.items[-1].end

    @property
    def plain(self) -> str:
        return text_of(content(self.items))


def read_cues(text: str, webvtt: bool) -> list[Cue]:
    """Return the cues of a file. A SubRip cue with an empty line in it gives two.

    Raises DataError for a timing that cannot be read, and for a SubRip file without any.
    """
    rows = list(lines(text))
    raw = [text[row.start : row.end].strip() for row in rows]
    timings = [_TIMING.fullmatch(text, row.start, row.end) for row in rows]
    found: list[Cue] = []
    times: tuple[int, int] | None = None
    for place, (row, timing) in enumerate(zip(rows, timings, strict=True)):
        is_number = raw[place].isdigit() and any(timings[place + 1 : place + 2])  # of the cue that follows
        if timing is not None:
            times = _milliseconds(timing.groups()[:4]), _milliseconds(timing.groups()[4:])
            found.append(Cue(*times, [], place + 2))
        elif _LIKE_TIMING.match(raw[place]):
            raise DataError(
                f"line {place + 1}: not a timing: {raw[place][:80]}",
                hint="write it as 00:00:01,000 --> 00:00:02,000",
            )
        elif times is None or is_number:
            continue
        elif raw[place]:
            found[-1].rows.append(row)
        elif webvtt:
            times = None
        elif found[-1].rows:
            found.append(Cue(*times, [], place + 2))
    if not found and not webvtt and any(raw):
        raise DataError("no cue", hint="a cue begins with a line such as 00:00:01,000 --> 00:00:02,000")
    return [cue for cue in found if cue.rows]


def _milliseconds(parts: tuple[str | None, ...]) -> int:
    hours, minutes, seconds, fraction = (part or "0" for part in parts)
    return ((int(hours) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(fraction.ljust(3, "0"))


def runs_of(text: str, cue: Cue, webvtt: bool) -> Iterator[Run]:
    """Yield the runs of a cue that have words."""
    tag = _VTT_TAG if webvtt else _SRT_TAG
    begin, end = cue.rows[0].start, cue.rows[-1].end
    marks = [*_marks(text, cue, tag, webvtt), (end, end)]
    place, voice, bounded = begin, "", False
    for number, (mark, after) in enumerate(marks):
        items = trimmed(_bridged(paired(_items(text, place, mark, tag, webvtt))))
        if items and has_words(content(items)):
            rows = len(list(lines(text[items[0].start : items[-1].end])))
            closes = all(_VOICE.fullmatch(text, *one) for one in marks[number:-1])
            yield Run(cue, items, rows, voice, not bounded, closes)
            bounded = True
        if _VOICE.fullmatch(text, mark, after):
            voice = text[mark:after] if text[mark + 1] == "v" else ""
        elif mark < end:
            bounded = True
        place = after


def _marks(text: str, cue: Cue, tag: re.Pattern[str], webvtt: bool) -> list[tuple[int, int]]:
    """The spans of a cue that stand between speeches: dashes, names of speakers, brackets of notes, music."""
    end = cue.rows[-1].end
    found = [match.span() for match in _MUSIC.finditer(text, cue.rows[0].start, end)]
    if webvtt:
        found += [match.span() for match in _VOICE.finditer(text, cue.rows[0].start, end)]
    for row in cue.rows:
        place = row.start
        while place < row.end:
            if text[place] in " \t":
                place += 1
            elif (mark := tag.match(text, place, row.end)) is not None:
                place = mark.end()
            elif (mark := _DASH.match(text, place, row.end)) is not None or (
                (mark := _NAME.match(text, place, row.end)) is not None and mark[1].isupper()
            ):
                found.append(mark.span())
                place = mark.end()
            elif (close := text.find(_NOTE.get(text[place], "\n"), place, end)) > 0 and text[place] in _NOTE:
                after = close + (2 if text.startswith(":", close + 1) else 1)
                found += [(place, place + 1), (close, after)]
                place = after
            else:
                break
    apart: list[tuple[int, int]] = []
    for span in sorted(found):  # without those that overlap one before them
        if not apart or span[0] >= apart[-1][1]:
            apart.append(span)
    return apart


def _bridged(items: list[Item]) -> list[Item]:
    """Join tags that only a line end separates: <i>One</i>, <i>two</i> is one pair around both lines."""
    found: list[Item] = []
    opened: dict[int, str] = {}
    for item in items:
        if isinstance(item.what, Code) and item.what.kind == "open":
            opened[item.what.pair] = item.what.text
            match found[-2:]:
                case [Item(start=start, what=Code(kind="close", pair=pair)), Item(what=str(space))] if (
                    blank(space) and opened[pair] == item.what.text
                ):
                    found[-2:] = [Item(start, item.end, space)]
                    continue
        found.append(item)
    return paired(found)


def _items(text: str, start: int, end: int, tag: re.Pattern[str], webvtt: bool) -> Iterator[Item]:
    while start < end:
        match = tag.match(text, start, end)
        if match is not None:
            raw, name = match.group(), (match["name"] or "").lower()
            kind = "close" if raw.startswith("</") else "open" if name else "empty"
            yield Item(start, match.end(), Code(raw, kind), name)  # type: ignore[arg-type]
        else:
            match = _WORD.match(text, start, end)
            if match is None:  # every character is a space, a bracket or something else
                return
            yield Item(start, match.end(), html.unescape(match.group()) if webvtt else match.group())
        start = match.end()
