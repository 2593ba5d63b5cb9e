"""Gettext PO and POT files. A translation replaces its msgstr; every other byte stays.

Doubts become the flag "fuzzy" and a comment: `# dragoman: REASONS`. A fuzzy translation that is replaced
becomes a comment: `# previous msgstr "TEXT"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.base.errors import DataError
from dragoman.documents.edits import Decoded, Edit, PartsDocument, apply, decode_file
from dragoman.documents.formats import Languages, expect_language
from dragoman.documents.gettext.entries import (
    Comment,
    PoEntry,
    flags_of,
    is_wrapped,
    on_one_line,
    quote,
    read_entries,
)
from dragoman.documents.plural_rules import Plurals, form_of_one, plurals_of
from dragoman.documents.segment import Result, Segment, Status, replaced_draft, text_of, translation_of
from dragoman.text.blank import is_blank

_OURS = "# dragoman: "
_HIGH_BYTE = re.compile(
    r"(?<!\\)(?:\\\\)*\\(?:[23][0-7]{2}|x[\da-f]*[89a-f][\da-f](?![\da-f]))", re.IGNORECASE
)
_CHARSET = re.compile(r"((?:\"|\\n)Content-Type:[^\"\\]*?charset=)([A-Za-z0-9_.:+-]+)", re.IGNORECASE)
_ASCII = {"charset", "ascii", "us-ascii", "ansi_x3.4-1968"}  # CHARSET stands in templates
_FORMS = re.compile(r"nplurals\s*=\s*([0-9]+)\s*;")
_PLURAL_FORMS = re.compile(r"^Plural-Forms:", re.MULTILINE | re.IGNORECASE)
_RULE = re.compile(r"nplurals\s*=[^\\]*(?=\\n|\"\Z)")  # it may go on in another line
_LANGUAGE = re.compile(r"((?:\"|\\n)Language:)[ \t]*([\w.@-]*)[ \t]*(?=\\n)")
_MOST_FORMS = 20


def parse(data: bytes, languages: Languages) -> Catalogue:
    """Read a PO file. Raises DataError with the line where gettext refuses it, too."""
    declared = _CHARSET.search(data.decode("latin-1"))
    charset = declared[2] if declared else "utf-8"
    decoded = decode_file(data, "utf-8" if charset.lower() in _ASCII else charset)
    entries = read_entries(decoded.text, decoded.encoding)
    header = next((entry for entry in entries if entry.is_header), None)
    stated = header.strings[0].value if header else ""
    named = re.search(r"^Language:[ \t]*(\S+)", stated, re.M)
    renamed = bool(named and languages.renames(named[1]))
    if header and named and not renamed:
        expect_language(header.line, "Language", named[1], languages.target)
    messages = [entry for entry in entries if not entry.is_header]
    begun = any(one.value for entry in messages for one in entry.strings)
    wrong = renamed and not begun and "nplurals" in stated  # the rule of the source language
    forms, missing = _forms(None if wrong else header, plurals_of(languages.target))
    first = form_of_one(missing.rule if missing else stated)
    ends = decoded.text.count("\r\n") * 2 > decoded.text.count("\n")
    line_end, wraps = "\r\n" if ends else "\n" if "\n" in decoded.text else "\r", is_wrapped(messages)
    counts = [_form_count(entry, forms, certain=missing is None) for entry in messages]
    parts = [_Message(*both, first, line_end, wraps) for both in zip(messages, counts, strict=True)]
    plural = [part for part in parts if part.entry.plural]
    if not (plural or wrong) or any(part.forms != forms for part in plural):
        missing = None  # the file has no use for the rule
    return Catalogue(decoded, header, parts, line_end, languages, missing)


def _forms(header: PoEntry | None, known: Plurals | None) -> tuple[int | None, Plurals | None]:
    """Return the number of plural forms, and the rule if the header lacks it."""
    stated = _FORMS.search(header.strings[0].value if header else "")
    if header and stated:
        if not 1 <= len(stated[1]) <= 2 or not 1 <= int(stated[1]) <= _MOST_FORMS:
            raise DataError(f"line {header.line}: nplurals={stated[1][:20]}", hint="1 to 6 forms are usual")
        return int(stated[1]), None
    return (known.forms, known) if known else (None, None)


def _form_count(entry: PoEntry, forms: int | None, *, certain: bool) -> int:
    """How many forms of an entry are to be translated. Raises DataError if the header says otherwise.

    A complete entry may have more or fewer: gettext reads it unless told to check, and it is common.
    """
    if not entry.plural:
        return 1
    own, translated = len(entry.strings), [not is_blank(one.value) for one in entry.strings]
    if forms is None or own == forms or all(translated):
        return own
    if certain and any(translated):
        raise DataError(
            f"line {entry.line}: {own} plural forms, but the header says {forms}",
            hint="correct Plural-Forms in the header, or the entry",
        )
    return own if any(translated) else forms


@dataclass(frozen=True)
class _Message:
    """An entry that is translated, in `forms` segments."""

    entry: PoEntry
    forms: int
    first: int  # the number of the form for 1
    line_end: str
    wraps: bool  # whether the strings of the file are broken at spaces

    @property
    def segments(self) -> list[Segment]:
        entry, plural = self.entry, self.entry.plural
        there = [one.value for one in entry.strings]
        values = there if len(there) == self.forms else [""] * self.forms
        flags = entry.flags
        formats = tuple(flag for flag in flags if flag.endswith("-format"))
        note = "\n".join(one.text[2:].strip() for one in entry.comments if one.text.startswith("#."))
        places = [one.text[2:].split() for one in entry.comments if one.text.startswith("#:")]
        place = next((names[0].partition(":")[0] for names in places if names), "")
        context = entry.context.value if entry.context else ""
        blank = Segment(
            (), f"line {entry.msgid.line}", context=context, note=note, flags=formats, place=place
        )
        found = Status.DRAFT if "fuzzy" in flags else Status.DONE
        segments = []
        for number, value in enumerate(values):
            several = plural if number != self.first or self.forms == 1 else None
            source = ((several or entry.msgid).value,)
            target = translation_of(source, (value,) if value else ())
            state = found if target else Status.MISSING
            segments.append(replace(blank, source=source, target=target, state=state))
        return segments

    def edits(self, text: str, results: Sequence[Result | None]) -> list[Edit]:
        done = [result for result in results if result is not None]
        if not done:
            return []
        doubts = list(dict.fromkeys(doubt for result in done for doubt in result.doubts))
        edits = [*self._strings(results), *self._previous(text, results)]
        if doubts or len(done) == self.forms:
            reasons = "; ".join(" ".join(doubt.split()) for doubt in doubts)
            edits += _mark(text, self.entry, reasons, self.line_end)
        return edits

    def _strings(self, results: Sequence[Result | None]) -> list[Edit]:
        strings, wrap = self.entry.strings, self.wraps and "no-wrap" not in self.entry.flags
        texts = [self._fitted(text_of(result.content)) if result else None for result in results]
        if len(strings) != self.forms:
            if not any(texts):
                return []
            lines = []
            for number, one in enumerate(texts):
                keyword = f"msgstr[{number}] "
                lines.append(keyword + quote(one or "", len(keyword), self.line_end, wrap=wrap))
            return [Edit(strings[0].place, strings[-1].end, self.line_end.join(lines))]
        return [
            Edit(old.start, old.end, quote(new, old.start - old.place, self.line_end, wrap=wrap))
            for old, new, result in zip(strings, texts, results, strict=True)
            if result is not None and new is not None and text_of(result.content) != old.value != new
        ]

    def _previous(self, text: str, results: Sequence[Result | None]) -> Iterator[Edit]:
        """Fuzzy translations that are replaced, as comments."""
        there = {one.text for one in self.entry.comments}
        for number, (segment, result) in enumerate(zip(self.segments, results, strict=True)):
            if result is not None and (old := replaced_draft(segment, result)):
                line = f"# previous msgstr{f'[{number}]' * bool(self.entry.plural)} {on_one_line(old)}"
                if line not in there:
                    yield _inserted(text, _after_comments(self.entry), line, self.line_end)

    def _fitted(self, text: str) -> str:
        """The text with a newline at its ends where msgid has one, and only there, as gettext demands."""
        source, body = self.entry.msgid.value, text.strip("\n")
        if not body:
            return text if text == source else ""
        return "\n" * source.startswith("\n") + body + "\n" * source.endswith("\n")


def _mark(text: str, entry: PoEntry, reasons: str, line_end: str) -> list[Edit]:
    """Edits that mark an entry as doubtful for these reasons, or as translated."""
    ours = [one for one in entry.comments if one.text.startswith(_OURS.rstrip())]
    line, before = _OURS + reasons, [one for one in entry.comments if one.text.startswith("#|")]
    edits = [Edit(one.start, one.end, "") for one in (ours[1:] if reasons else [*ours, *before])]
    if reasons and not ours:
        edits.append(_inserted(text, _after_comments(entry), line, line_end))
    elif reasons and ours[0].text != line:
        edits.append(_changed(text, ours[0], line))
    return edits + _flag(text, entry, line_end, fuzzy=bool(reasons))


def _after_comments(entry: PoEntry) -> int:
    """Behind the comments of translators, which come first."""
    theirs = [one.end for one in entry.comments if one.text[1:2] not in (".", ":", ",", "|")]
    return theirs[-1] if theirs else entry.comments[0].start if entry.comments else entry.start


def _flag(text: str, entry: PoEntry, line_end: str, *, fuzzy: bool) -> list[Edit]:
    if fuzzy == ("fuzzy" in entry.flags):
        return []
    lines = [one for one in entry.comments if one.text.startswith("#,")]
    if not fuzzy:
        edits = []
        for one in lines:
            rest = [flag for flag in flags_of(one) if flag != "fuzzy"]
            if not rest:
                edits.append(Edit(one.start, one.end, ""))
            elif "fuzzy" in flags_of(one):
                edits.append(_changed(text, one, "#, " + ", ".join(rest)))
        return edits
    if lines:
        return [_changed(text, lines[0], "#, " + ", ".join(["fuzzy", *flags_of(lines[0])]))]
    previous = [one.start for one in entry.comments if one.text.startswith("#|")]
    return [_inserted(text, previous[0] if previous else entry.start, "#, fuzzy", line_end)]


def _changed(text: str, comment: Comment, new: str) -> Edit:
    start = text.index("#", comment.start)
    return Edit(start, start + len(comment.text), new)


def _inserted(text: str, place: int, line: str, line_end: str) -> Edit:
    """A line of comment at a place, which may be within a line."""
    before = line_end if place and text[place - 1] not in "\r\n" else ""
    return Edit(place, place, before + line + line_end)


class Catalogue(PartsDocument):
    """A PO file. `missing` is the plural rule that its header lacks."""

    def __init__(
        self,
        decoded: Decoded,
        header: PoEntry | None,
        messages: list[_Message],
        line_end: str,
        languages: Languages,
        missing: Plurals | None,
    ) -> None:
        super().__init__(decoded, messages)
        self.header, self.line_end, self.languages, self.missing = header, line_end, languages, missing

    def render(self, results: list[Result | None]) -> bytes:
        """Return the file with these translations. A change also completes its header.

        It becomes UTF-8 if its charset lacks a character of a translation.
        """
        edits = self.edits(results)
        text, header = self._decoded.text, self._header() if edits else []
        try:
            return self._decoded.encode(apply(text, [*header, *edits]))
        except DataError:
            fixed = self.header is not None and not _CHARSET.search(self._header_text())
            if fixed or _HIGH_BYTE.search(text):
                raise
            header = self._header(utf8=True)
            return replace(self._decoded, encoding="utf-8").encode(apply(text, [*header, *edits]))

    def _header_text(self) -> str:
        value = self.header.strings[0] if self.header else None
        return self._decoded.text[value.start : value.end] if value else ""

    def _header(self, *, utf8: bool = False) -> list[Edit]:
        language = self.languages.target.replace("-", "_")
        rule = f'"Plural-Forms: {self.missing.rule}\\n"' if self.missing else ""
        if self.header is None:
            lines = ['msgid ""', 'msgstr ""', f'"Language: {language}\\n"', '"MIME-Version: 1.0\\n"']
            lines += ['"Content-Type: text/plain; charset=UTF-8\\n"', '"Content-Transfer-Encoding: 8bit\\n"']
            lines += [rule] * bool(rule) + ["", ""]
            return [Edit(0, 0, self.line_end.join(lines))]
        value = self.header.strings[0]
        old = self._header_text()
        renames = self.languages.renames
        new = _LANGUAGE.sub(
            lambda one: f"{one[1]} {language}" if not one[2] or renames(one[2]) else one[0], old
        )
        new = _CHARSET.sub(
            lambda match: match[1] + ("UTF-8" if utf8 or match[2].lower() in _ASCII else match[2]), new
        )
        if self.missing and _PLURAL_FORMS.search(value.value):
            new = _RULE.sub(self.missing.rule, new)
        elif self.missing:
            ended = not value.value or value.value.endswith("\n")
            new = new if ended else new[:-1] + '\\n"'
            new += self.line_end + rule
        return [Edit(value.start, value.end, new)] if new != old else []
