"""CSV and TSV by column: cells are translated in their place, or into the column of the target language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dragoman.base.errors import DataError
from dragoman.base.languages import canonical, closest, language_name, same
from dragoman.documents.edits import Decoded, Edit, Lines, apply, decode_file, line_of
from dragoman.documents.formats import Languages, OtherLanguage
from dragoman.documents.segment import (
    Code,
    Content,
    Result,
    Segment,
    Status,
    full_text,
    merged,
    translation_of,
)
from dragoman.documents.tables.rows import Cell, TextTable, check_alone, read_table
from dragoman.text.corpora.languages import SOURCES, TARGETS, of_column

# A language behind or before the rest of a name: "title_en", "Title (en-US)", "English title".
_CODE = r"[A-Za-z]{2,3}(?:[-_](?:[A-Za-z]{2,4}|[0-9]{3}))?|[^\W\d_]{4,}"
_BEHIND = re.compile(rf"(?P<rest>.*?)[\s_.:/(\[-]+(?P<tag>{_CODE})[)\]]?")
_BEFORE = re.compile(rf"(?P<tag>{_CODE})[\s_.:/-]+(?P<rest>.*)")
_OWN_NAMES = dict(
    pair.split("=")
    for pair in "deutsch=de english=en español=es français=fr italiano=it nederlands=nl polski=pl "
    "português=pt dansk=da suomi=fi čeština=cs magyar=hu română=ro türkçe=tr русский=ru українська=uk "
    "svenska=sv ελληνικά=el 中文=zh 日本語=ja 한국어=ko العربية=ar עברית=he हिन्दी=hi".split()
)
_ROLES = ((r"(?i)\btranslated(?: content)?\b", "target"), (r"(?i)\bdefault content|SourceString\b", "source"))
_SPOKEN = re.compile(r"(?i)locale|target[ _-]?lang(?:uage)?")  # the column with a language for each row
_KEYS = ("key", "id", "identifier", "sku")
_WORDS = frozenset(  # of names of columns
    "answer author body caption category code comment comments content context date description email "
    "group handle html id identifier key label lang language location message msg msgid msgstr name no notes "
    "note number original price product question segment sentence sku slug source src status string subject "
    "summary tag tags target term text tgt title topic translation trg type url value".split()
)


class TableDocument:
    """A table with the translated columns, each with the one of its translations, if any."""

    def __init__(
        self, decoded: Decoded, table: TextTable, first: int, columns: list[tuple[int, int | None]]
    ) -> None:
        self.kept: list[Segment] = []
        self.segments: list[Segment] = []
        self._decoded, self._table = decoded, table
        self._cells: list[tuple[Cell, Cell]] = []  # to write, and its source
        names = [table.value(cell).strip().casefold() for cell in table.rows[0]] if first else []
        key = next((names.index(one) for one in _KEYS if one in names), None)
        lines, value = Lines(table.text), table.value
        for row in table.rows[first:]:
            where = f"line {lines.line(row[0][0])}"
            for source, target in columns:
                text = value(row[source])
                if not text.strip() or text.startswith("="):  # a formula
                    continue
                content = _content(text)
                there = None if target is None else translation_of(content, _content(value(row[target])))
                state = Status.DONE if there else Status.MISSING
                context = "" if key is None else value(row[key])
                # The head of a column is to a cell what the note of a developer is to a message.
                head = value(table.rows[0][source]).strip() if first else ""
                self.segments.append(Segment(content, where, there, state, context=context, note=head))
                self._cells.append((row[source if target is None else target], row[source]))

    def render(self, results: list[Result | None]) -> bytes:
        """See `Document`. A text that its cell cannot hold is left out."""
        edits = []
        self.kept = []
        for segment, (cell, source), result in zip(self.segments, self._cells, results, strict=True):
            stuck = result and any(one.startswith("not translated") for one in result.doubts)
            if result is None or (stuck and cell != source):  # empty, so that the next time it is filled
                continue
            new = full_text(result.content)
            written = self._table.written(new, cell, source)
            if written is None:
                self.kept.append(segment)
            elif new != self._table.value(cell):
                edits.append(Edit(*cell, written))
        return self._decoded.encode(apply(self._table.text, edits))


def parse(data: bytes, languages: Languages, columns: Sequence[str] = ()) -> TableDocument:
    """Read a table. `columns` are the names or numbers of those to translate. By default the first row says.

    Raises DataError if the rows differ in length, or if no column is known to be in the source language.
    """
    columns = [columns] if isinstance(columns, str) else columns
    decoded = decode_file(data)
    table = read_table(decoded.text)
    if not table.rows:
        return TableDocument(decoded, table, 0, [])
    line = line_of(table.text, table.rows[0][0][0])
    names = [table.value(cell).strip() for cell in table.rows[0]]
    sides = list(_sides([name[:100] for name in names], languages))
    groups: dict[tuple[str, str], dict[str, int]] = {}  # the columns by side and base, with their languages
    for number, (side, base, tag) in enumerate(sides):
        groups.setdefault((side, base), {}).setdefault(tag, number)
    sources, targets = (
        {base: _best(group, language) for (one, base), group in groups.items() if one == side}
        for side, language in (("source", languages.source), ("target", languages.target))
    )
    if "" in targets and not sources and ("", "") in groups:  # "text" and "translation"
        sources = {"": groups["", ""][""]}
    chosen = [*dict.fromkeys(_chosen(names, one, line) for one in columns)] or list(sources.values())
    headed = _is_head(names) or (not columns and bool(chosen)) or not all(map(str.isdecimal, columns))
    if not chosen and len(names) == 1:
        chosen = [0]
        if not headed or " " in names[0]:
            check_alone(table)
    if not chosen:
        raise OtherLanguage(
            f"line {line}: none of {len(names)} columns is known to be in {language_name(languages.source)}",
            filter(_is_language, names),
            hint=f"choose one with --column: {_listed(names)}",
        )
    if not columns and not targets and sum(map(_is_language, names)) > 1:
        raise DataError(
            f"line {line}: no column is in {language_name(languages.target)}",
            hint=f"add one named {languages.target}, or choose with --column what is translated in place: "
            + _listed(names),
        )
    pairs = dict[int, int | None]()
    for one in chosen:
        base = sides[one][1]
        target = targets.get(base) if headed else None
        if headed and len(chosen) == len(targets) == 1 and sources.keys() <= {base}:  # "word,de"
            target = min(targets.values())
        pairs[one] = None if target == one else target
    spoken = next((number for number, name in enumerate(names) if _SPOKEN.fullmatch(name)), None)
    if spoken is not None and headed and set(pairs.values()) != {None}:
        there = [table.value(row[spoken]) for row in table.rows]
        rows = zip(table.rows, ["", *there[1:]], strict=True)
        table = replace(table, rows=[row for row, tag in rows if not tag or same(tag, languages.target)])
    return TableDocument(decoded, table, int(headed), sorted(pairs.items()))


def _is_language(name: str) -> bool:
    """Whether the name of a column is a language, as in "key,en,fr"."""
    rest = of_column(name)[1]
    code = canonical(rest).partition("-")[0]
    return len(code) == 2 and rest not in _WORDS and language_name(code) != code


def _content(text: str) -> Content:
    """The text of a cell, in which \\n and \\t divide sentences, unless it has the path of a file."""
    if "\\" not in text or re.search(r"\\\\|\b[A-Za-z]:\\", text):
        return (text,)
    return merged(
        Code(part, "empty", shown="\t" if part == r"\t" else "\n", breaks=True) if number % 2 else part
        for number, part in enumerate(re.split(r"(\\r\\n|\\[nrt])", text))
    )


def _sides(names: Sequence[str], languages: Languages) -> Iterator[tuple[str, str, str]]:
    """For each column: whether it is source or target, the name without that, and its language as written."""
    for name in names:
        for words, word in _ROLES:
            name = re.sub(words, word, name)
        if "lang" in name.casefold():  # it says which language another column is in
            yield "", name, ""
            continue
        role, rest = of_column(name)
        side = "source" if role in SOURCES else "target" if role in TARGETS else ""
        for found in (None, _BEHIND.fullmatch(name), _BEFORE.fullmatch(name)):
            tag, base = (found["tag"], of_column(found["rest"])[1]) if found else (rest, "")
            tag = _OWN_NAMES.get(tag.casefold(), tag)
            if tag and (mine := same(tag, languages.source)) != same(tag, languages.target):
                yield "source" if mine else "target", base, tag
                break
        else:
            yield side if not rest else "", rest, ""


def _best(columns: Mapping[str, int], language: str) -> int:
    """The column whose language agrees most with the wanted one, else the first."""
    return columns.get(closest(language, filter(None, columns)) or "", min(columns.values()))


def _chosen(names: Sequence[str], wanted: str, line: int) -> int:
    """A column by its name or its number."""
    folded = [name.casefold() for name in names]
    if wanted.strip().casefold() in folded:
        return folded.index(wanted.strip().casefold())
    if wanted.isdecimal() and 0 < int(wanted) <= len(names):
        return int(wanted) - 1
    raise DataError(f"line {line}: no column {wanted!r}", hint=f"choose with --column: {_listed(names)}")


def _is_head(names: Sequence[str]) -> bool:
    """Whether the first row names columns: words such as "id" and "title", or text_like_this."""
    words = [re.findall(r"[^\W_]+", name.casefold()) for name in names]
    if len({*names}) < len(names) or any(len(one) > 4 for one in words) or names[0].endswith((".", "!", "?")):
        return False
    coded = len(names) > 1 and all(re.fullmatch(r"[a-z][a-z0-9]*(?:[_.-][a-z0-9]+)*", name) for name in names)
    return any(_WORDS.intersection(one) for one in words) or (coded and "_" in "".join(names))


def _listed(names: Sequence[str]) -> str:
    shown = [f"{number} {name[:30]}" for number, name in enumerate(names[:20], 1)]
    return ", ".join(shown) + ", ..." * (len(names) > 20)
