"""The rules of XLIFF 2 for the codes and marks of one unit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dragoman.documents.xml.pieces import Element

_CODES = frozenset(("ph", "pc", "sc", "ec"))
_SUBTYPES = {"xlf:var": "ui", **dict.fromkeys(("xlf:lb", "xlf:pb", "xlf:b", "xlf:i", "xlf:u"), "fmt")}
_NOTE = re.compile(r"#/?(?:f=([^/]+)/)?(?:u=([^/]+)/)?n=([^/]+)")


class Broken(Exception):
    """An element breaks a rule."""

    def __init__(self, element: Element, what: str) -> None:
        super().__init__(what)
        self.element = element


@dataclass(slots=True)
class _Event:
    """An inline element begins, or a <pc> or <mrk> ends."""

    element: Element
    ends: bool = False

    @property
    def name(self) -> str:
        return self.element.name

    def get(self, name: str, default: str = "") -> str:
        return self.element.attributes.get(name, default)


def unique(elements: Iterable[Element]) -> None:
    """Raise Broken for the second of two elements with one id."""
    seen = set()
    for element in elements:
        id = element.attributes.get("id")
        if id in seen:
            raise Broken(element, f"the id {id!r} is there twice")
        if id is not None:
            seen.add(id)


def check_unit(unit: Element, file: str, units: frozenset[str], core: str) -> None:
    """Raise Broken if the content of a unit breaks a rule. `units` are the ids of all units of its file."""
    own = {one.name: one for one in unit.children if one.space == core}
    parts = [one for one in unit.children if one.name in ("segment", "ignorable") and one.space == core]
    sources = [event for part in parts for event in _events(part.child("source"))]
    targets = [event for part in _in_target_order(parts) for event in _events(part.child("target"))]
    if len(parts) > 1 or sources or targets:
        unique([*parts, *(event.element for event in sources if not event.ends)])
    if not sources and not targets:
        return
    unique(event.element for event in targets if not event.ends)
    codes = [event for event in sources + targets if event.name in _CODES and not event.ends]
    data, notes = (
        {one.attributes.get("id") for one in (own[name].children if name in own else ())}
        for name in ("originalData", "notes")
    )
    for code in codes:
        _check_code(code, data, units)
    _check_copies(codes)
    for event in sources + targets:
        if event.name in ("mrk", "sm") and event.get("type") == "comment":
            _check_comment(event, notes, (file, unit.attributes["id"]))
    complete = all(part.child("target") for part in parts)
    _check_pairs(sources, complete=True)
    _check_pairs(targets, complete=complete)
    _check_sequences(sources, targets)
    _check_deleted(parts, {event.get("id") for event in targets})


def _events(content: Element | None) -> Iterator[_Event]:
    todo = [_Event(one) for one in reversed(content.children)] if content else []
    while todo:
        event = todo.pop()
        yield event
        if event.name in ("pc", "mrk") and not event.ends:
            todo.append(_Event(event.element, ends=True))
            todo += [_Event(one) for one in reversed(event.element.children)]


def _in_target_order(parts: list[Element]) -> list[Element]:
    """The parts with a target, in the order of their targets. Raises Broken if two claim one place."""
    places: dict[int, Element] = {}
    for number, part in enumerate(parts, 1):
        target = part.child("target")
        if target is None:
            continue
        place = int(target.attributes.get("order", number))
        if place in places:
            raise Broken(target, f"two targets of this unit have the order {place}")
        places[place] = part
    return [places[place] for place in sorted(places)]


def _check_code(code: _Event, data: set[str | None], units: frozenset[str]) -> None:
    element = code.element
    if len(element.attributes) == 1:  # as most have: only an id, or startRef
        return
    for name in ("dataRef", "dataRefStart", "dataRefEnd"):
        if code.get(name) and code.get(name) not in data:
            raise Broken(element, f"{name}={code.get(name)!r} is not the id of <data> in this unit")
    for name in ("subFlows", "subFlowsStart", "subFlowsEnd"):
        for id in code.get(name).split():
            if id not in units:
                raise Broken(element, f"{name} names {id!r}, which is not a unit of this file")
    if code.get("subType"):
        wanted = _SUBTYPES.get(code.get("subType"), code.get("type"))
        if not wanted or code.get("type") != wanted:
            raise Broken(element, f"subType={code.get('subType')!r} needs type={wanted or '...'!r}")
        if code.get("subType").startswith("xlf:") and code.get("subType") not in _SUBTYPES:
            raise Broken(element, f"subType={code.get('subType')!r} is not defined")
    if code.get("canReorder", "yes") != "yes" and {code.get("canCopy"), code.get("canDelete")} != {"no"}:
        raise Broken(element, f'canReorder={code.get("canReorder")!r} needs canCopy="no" and canDelete="no"')


def _check_copies(codes: list[_Event]) -> None:
    known = {code.get("id"): code for code in codes}
    for code in codes:
        original = code.get("copyOf")
        if not original:
            continue
        if original not in known:
            raise Broken(code.element, f"copyOf={original!r} is not the id of a code in this unit")
        if known[original].get("canCopy") == "no":
            raise Broken(code.element, f"the code {original!r} must not be copied")
        if any(code.get(name) for name in ("dataRef", "dataRefStart", "dataRefEnd")):
            raise Broken(code.element, "a code has either copyOf or original data")


def _check_comment(mark: _Event, notes: set[str | None], place: tuple[str, str]) -> None:
    value, ref = mark.get("value"), mark.get("ref")
    if bool(value) == bool(ref):
        raise Broken(mark.element, "a comment has either value or ref")
    if ref:
        found = _NOTE.fullmatch(ref)
        unit = found and (found[2] or ("" if found[1] else place[1]))  # "#f=f1/n=n1" is a note of the file
        if not found or (found[1] or place[0], unit) != place or found[3] not in notes:
            raise Broken(mark.element, f"ref={ref!r} is not a note of this unit")


def _check_pairs(events: list[_Event], *, complete: bool) -> None:
    """Check <sc> with <ec>, and <sm> with <em>. If not complete, the other half may be without a target."""
    opened: dict[str, _Event] = {}
    for event in events:
        match event.name, event.get("isolated") == "yes":
            case (("sc" | "sm"), False):
                opened[event.get("id")] = event
            case "ec", True:
                if event.get("startRef") or not event.get("id"):
                    raise Broken(event.element, "an isolated <ec> has an id and no startRef")
            case (("ec" | "em"), _):
                start = event.get("startRef")
                if event.name == "ec" and (not start or event.get("id")):
                    raise Broken(event.element, "an <ec> that is not isolated has startRef and no id")
                begin = opened.pop(start, None)
                if begin is None and complete:
                    raise Broken(event.element, f"no <s{event.name[1]}> before it has the id {start!r}")
                if begin:
                    _check_halves(begin, event)
    if opened and complete:
        event = next(iter(opened.values()))
        raise Broken(event.element, f"<{event.name}> has no <e{event.name[1]}> after it")


def _check_halves(start: _Event, end: _Event) -> None:
    if start.name[1] != end.name[1]:
        raise Broken(end.element, f"startRef is the id of <{start.name}>")
    for name in ("canCopy", "canDelete", "canOverlap", "canReorder"):
        wanted = start.get(name, "yes").replace("firstNo", "no")
        if end.get(name, wanted) != wanted:
            raise Broken(end.element, f"<ec> must have {name}={wanted!r}, as its <sc>")


def _key(event: _Event) -> tuple[str, bool]:
    return event.get("id") or event.get("startRef"), event.ends or event.name == "ec"


def _check_sequences(sources: list[_Event], targets: list[_Event]) -> None:
    """Check that codes which must not be reordered follow each other in the target as in the source."""
    sequences: list[list[tuple[str, bool]]] = []
    last = "yes"
    if not any("canReorder" in one.element.attributes for one in sources):
        return
    for event in (one for one in sources if one.name in _CODES):
        reorder = event.get("canReorder", "yes")
        if reorder == "no" and not event.ends and not sequences:
            raise Broken(event.element, 'canReorder="no" needs a code with canReorder="firstNo" before it')
        if reorder != "yes" and (last == "yes" or (reorder == "firstNo" and not event.ends)):
            sequences.append([])
        if reorder != "yes":
            sequences[-1].append(_key(event))
        last = reorder
    codes = [one for one in targets if one.name in _CODES]
    order = [_key(event) for event in codes]
    places = {key: place for place, key in enumerate(order)}
    for sequence in sequences:
        if all(key in places for key in sequence):
            first = places[sequence[0]]
            if order[first : first + len(sequence)] != sequence:
                raise Broken(codes[first].element, "the codes from here on must have the order of the source")


def _check_deleted(parts: list[Element], kept: set[str]) -> None:
    for part in parts:
        target = part.child("target")
        for event in _events(part.child("source")) if target else ():
            if event.get("canDelete") == "no" and event.get("id") and event.get("id") not in kept:
                raise Broken(target or part, f"<target> lacks the code {event.get('id')!r}, which must stay")
