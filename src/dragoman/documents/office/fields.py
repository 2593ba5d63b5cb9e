"""Fields of Word, such as links, page numbers and references, which lie across runs.

ISO/IEC 29500-1, section 17.16. A complex field is a begin, an instruction, a separator, a result and an end,
each in a run. The result may hold other fields, and a field may continue in the next paragraph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from dragoman.documents.office.inside import Atom

_ENCLOSING = {"HYPERLINK", "TOC", "INDEX"}  # their results are text of the document


@dataclass(slots=True)
class RunAtom(Atom):
    """A part of a run, or an element between runs."""

    style: str | None = None  # the properties of the run, None between runs
    run: int = 0  # which run, 0 between runs
    home: int = 0  # the pair around it, 0 in the paragraph itself
    mark: str = ""  # of a field: begin, instruction, separate or end


def join_fields(prefix: str, atoms: list[RunAtom], pair: int) -> tuple[list[RunAtom], int]:
    """Join the parts of fields: links become pairs, other fields one code each.

    `prefix` is the prefix of element names, `pair` the last number in use. Returns the new last one, too.
    """
    if not any(one.mark for one in atoms):
        return atoms, pair
    matches = _match(atoms)
    closing: dict[int, int] = {}  # place of an end -> its pair
    done: list[RunAtom] = []
    place = 0
    while place < len(atoms):
        atom, last = atoms[place], place
        separate, end = matches.get(place, (0, 0))
        instruction = "".join(one.text for one in atoms[place:separate] if one.mark == "instruction")
        if place in closing:
            done.append(join_atoms(prefix, [atom], "close", pair=closing[place]))
        elif separate and end and encloses_text(instruction):
            pair += 1
            closing[end] = pair
            last = separate
            done.append(join_atoms(prefix, atoms[place : last + 1], "open", pair=pair))
        elif end:
            last = end
            result = atoms[separate + 1 : end] if separate else []
            shown = "".join(one.text for one in result if one.kind == "text")
            kind: Literal["placeholder", "empty"] = "placeholder" if shown.strip() else "empty"
            done.append(join_atoms(prefix, atoms[place : last + 1], kind, shown))
        elif atom.mark:
            last = separate or place
            done.append(join_atoms(prefix, atoms[place : last + 1], "empty"))
        else:
            done.append(atom)
        place = last + 1
    return done, pair


def join_atoms(
    prefix: str,
    atoms: Sequence[RunAtom],
    kind: Literal["text", "open", "close", "empty", "placeholder"],
    shown: str = "",
    *,
    pair: int = 0,
) -> RunAtom:
    """Return several atoms as one, with the runs around them."""
    raw = ""
    for _, group in groupby(atoms, key=lambda one: one.run or id(one)):
        members = list(group)
        inside, style = "".join(one.raw for one in members), members[0].style
        raw += inside if style is None else f"<{prefix}r>{style}{inside}</{prefix}r>"
    nested = tuple(span for one in atoms for span in one.nested)
    return RunAtom(kind, raw, shown, any(one.breaks for one in atoms), pair, nested=nested)


def encloses_text(instruction: str) -> bool:
    """Whether the result of a field is text of the document, as in a link."""
    words = instruction.split(maxsplit=1)
    return bool(words) and words[0].upper() in _ENCLOSING


def _match(atoms: list[RunAtom]) -> dict[int, tuple[int, int]]:
    """Place of a begin -> places of its separator and end, 0 for one that is not in this paragraph."""
    matches: dict[int, tuple[int, int]] = {}
    open_: list[int] = []
    for place, atom in enumerate(atoms):
        if atom.mark == "begin":
            open_.append(place)
            matches[place] = 0, 0
        elif atom.mark in ("separate", "end") and open_:
            begin = open_.pop() if atom.mark == "end" else open_[-1]
            separate, _ = matches[begin]
            if atoms[begin].home != atom.home:  # it begins in a link and ends outside
                matches[begin] = 0, 0
            elif atom.mark == "end":
                matches[begin] = separate, place
            else:
                matches[begin] = separate or place, 0
    return matches
