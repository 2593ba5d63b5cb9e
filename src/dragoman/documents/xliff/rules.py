"""The rules of XLIFF 2 that a file must keep, from https://docs.oasis-open.org/xliff/xliff-core/v2.1/.

One rule is left to others: that the prefix of a reference to an extension is registered. The committee keeps
that list, it grows, and a translator follows no such reference.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from dragoman.base.errors import DataError
from dragoman.documents.edits import line_of
from dragoman.documents.xliff.unit_rules import Broken, check_unit, unique
from dragoman.documents.xml.pieces import XML_SPACE, Element
from dragoman.text.xml import forbidden

_INLINE = "(cp | ph | pc | sc | ec | mrk | sm | em)*"
_PARTS = "(segment | ignorable)"
# The children of an element, as a document type definition has them; "other" is of another namespace.
_CHILDREN = {
    "xliff": "notes?, other?, file+",
    "file": "skeleton?, other*, notes?, (unit | group)+",
    "skeleton": "other*",
    "group": "other*, notes?, (unit | group)*",
    "unit": f"other*, notes?, originalData?, {_PARTS}*, segment, {_PARTS}*",
    "segment": "source, target?",
    "ignorable": "source, target?",
    "notes": "note+",
    "note": "",
    "originalData": "data+",
    "data": "cp*",
    **dict.fromkeys(("source", "target", "pc", "mrk"), _INLINE),
    **dict.fromkeys(("cp", "ph", "sc", "ec", "sm", "em"), ""),
}
_CODE = "canCopy canDelete canReorder copyOf id! subType type module"
_STRUCTURE = "id! name type canResegment translate srcDir trgDir space other"
_MARK = "id! translate type ref value other"
# Their attributes. "!" is required; "space" is xml:space, "lang" xml:lang; "module" stands for attributes of
# modules, and "other" for any other namespace.
_ATTRIBUTES = {
    "xliff": "version srcLang! trgLang space other",
    "file": "id! canResegment original translate srcDir trgDir space other",
    "skeleton": "href",
    "group": _STRUCTURE,
    "unit": _STRUCTURE,
    "segment": "id canResegment state subState module",
    "ignorable": "id",
    "notes": "",
    "note": "id appliesTo category priority ref other",
    "originalData": "",
    "data": "id! dir space",
    "source": "lang space",
    "target": "lang space order",
    "cp": "hex!",
    "ph": f"{_CODE} disp equiv dataRef subFlows",
    "pc": f"{_CODE} canOverlap dispEnd dispStart equivEnd equivStart dataRefEnd dataRefStart subFlowsEnd "
    "subFlowsStart dir",
    "sc": f"{_CODE} canOverlap dataRef dir disp equiv isolated subFlows",
    "ec": f"{_CODE.replace('!', '')} canOverlap dataRef dir disp equiv isolated startRef subFlows",
    "mrk": _MARK,
    "sm": _MARK,
    "em": "startRef!",
}
_TOKEN = r"[\w.:·-]+"
_YES_NO = "yes|no"
_DIRECTION = "ltr|rtl|auto"
_OWN = r"[^\s:]+:[^\s:]+"
_LANGUAGE = r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*|x(?:-[A-Za-z0-9]{1,8})+"
_PART = r"[^\s/=#]+"
# https://docs.oasis-open.org/xliff/xliff-core/v2.1/os/xliff-core-v2.1-os.html#fragid
_FRAGMENT = (
    rf"#/?(?:f={_PART}(?:/(?!$)|$))?(?:g={_PART}(?:/(?!$)|$))?(?:u={_PART}(?:/(?!$)|$))?"
    rf"(?:(?:(?:[ndt]|[\w.-]{{2,}})=)?{_PART})?"
)
# The values of attributes, of any element or of one.
_VALUES = {
    **dict.fromkeys(("id", "copyOf", "dataRef", "dataRefStart", "dataRefEnd", "startRef"), _TOKEN),
    **dict.fromkeys(("canResegment", "translate", "canCopy", "canDelete", "canOverlap", "isolated"), _YES_NO),
    **dict.fromkeys(("srcDir", "trgDir", "dir"), _DIRECTION),
    **dict.fromkeys(("srcLang", "trgLang", "lang"), _LANGUAGE),
    **dict.fromkeys(("subFlows", "subFlowsStart", "subFlowsEnd"), rf"\s*{_TOKEN}(?:\s+{_TOKEN})*\s*"),
    **dict.fromkeys(("subState", "subType", "group type", "unit type"), _OWN),
    "version": r"2\.[012]",
    "space": "default|preserve",
    "state": "initial|translated|reviewed|final",
    "canReorder": "yes|firstNo|no",
    "appliesTo": "source|target",
    "priority": "[1-9]|10",
    "order": "[1-9][0-9]{0,8}",
    "type": "fmt|ui|quote|link|image|other",
    "mrk type": f"generic|comment|term|{_OWN}",
    "sm type": f"generic|comment|term|{_OWN}",
    "ref": f"(?!#).*|{_FRAGMENT}",
    "hex": "[0-9A-Fa-f]{1,8}",
}
_MODULE = "urn:oasis:names:tc:xliff:"
_MODULES = (_MODULE, "http://www.w3.org/2005/11/its")
_FORMAT_STYLE = f"{_MODULE}fs:2.0"
_VALIDATION = f"{_MODULE}validation:2.0"
_LANG, _SPACE = f"{{{XML_SPACE}}}lang", f"{{{XML_SPACE}}}space"
_HTML = frozenset(
    "a b bdo big blockquote body br button caption center cite code col colgroup dd del div dl dt em h1 h2 "
    "h3 h4 h5 h6 head hr html i img label legend li ol p pre q s samp select small span strike strong sub "
    "sup table tbody td tfoot th thead title tr tt u ul".split()
)


_SHAPES = {  # of the names of children, with a space behind each
    name: re.compile(re.sub(r"\w+", r"(?:\g<0>\\ )", model.replace(",", "")), re.VERBOSE)
    for name, model in _CHILDREN.items()
}
_ALLOWED = {
    element: {
        name: re.compile(_VALUES.get(f"{element} {name}", _VALUES.get(name, "(?s:.*)")))
        for name in names.replace("!", "").split()
    }
    for element, names in _ATTRIBUTES.items()
}
_REQUIRED = {
    element: [name[:-1] for name in names.split() if name[-1] == "!"]
    for element, names in _ATTRIBUTES.items()
}


def check(text: str, root: Element) -> None:
    """Raise DataError with the line of the first element found that breaks a rule."""
    try:
        _check(root)
    except Broken as broken:
        raise DataError(
            f"line {line_of(text, broken.element.start)}: {broken}",
            hint="the file breaks a rule of XLIFF 2; correct it in the program that wrote it",
        ) from None


def _check(root: Element) -> None:
    languages = {"source": root.attributes.get("srcLang", ""), "target": root.attributes.get("trgLang", "")}
    fits: set[tuple[str, str]] = set()  # elements with children that have been compared with the table
    units: frozenset[str] = frozenset()
    file = ""
    found: list[tuple[Element, str, frozenset[str]]] = []
    todo = [(root, root.attributes.get(_LANG, ""), "default")]
    while todo:
        element, language, space = todo.pop()
        attributes = element.attributes
        children = " ".join([one.name if one.space == root.space else "other" for one in element.children])
        if element.name not in _CHILDREN:
            raise Broken(element, f"XLIFF 2 has no <{element.name}>")
        if attributes:
            _check_attributes(element, attributes)
            language, space = attributes.get(_LANG, language), attributes.get(_SPACE, space)
        for name in _REQUIRED[element.name]:
            if name not in attributes:
                raise Broken(element, f"<{element.name}> lacks {name}")
        if (element.name, children) not in fits:
            _check_children(element, children)
            fits.add((element.name, children))
        match element.name:
            case "source" | "target":
                _check_language(element, language, languages[element.name])
            case "segment" | "ignorable":
                spaces = {one.attributes.get(_SPACE, space) for one in element.children}
                if len(spaces) > 1:
                    raise Broken(element, "<source> and <target> differ in xml:space")
                if "subState" in attributes and "state" not in attributes:
                    raise Broken(element, "subState needs state")
            case "unit":
                found.append((element, file, units))
            case "file":
                file = attributes["id"]
                units = frozenset(_check_ids(element, root.space))
            case "skeleton" if ("href" in attributes) == (element.last > element.first):
                raise Broken(element, "<skeleton> must have either href or content")
            case "cp":
                _check_character(element, attributes["hex"])
        if element.name in ("xliff", "notes", "originalData"):
            unique(element.children)
        if element.name in ("file", "group", "unit") and "other" in children:
            _check_extensions([one for one in element.children if one.space != root.space])
        todo += [(one, language, space) for one in reversed(element.children) if one.space == root.space]
    for unit, file, units in found:  # whose elements and attributes are now known to be as they must
        check_unit(unit, file, units, root.space)


def _check_children(element: Element, children: str) -> None:
    if not _SHAPES[element.name].fullmatch(children + " " * bool(children)):
        shown = children if len(children) < 200 else children[:200] + "..."
        raise Broken(
            element,
            f"<{element.name}> has the children ({shown.replace(' ', ', ')}), "
            f"but must have ({_CHILDREN[element.name]})",
        )


def _check_attributes(element: Element, attributes: dict[str, str]) -> None:
    allowed = _ALLOWED[element.name]
    for name, value in attributes.items():
        space, _, local = name[1:].rpartition("}") if name[0] == "{" else ("", "", name)
        short = local if not space or name in (_LANG, _SPACE) else ""
        if short in allowed:
            if not allowed[short].fullmatch(value):
                raise Broken(element, f"{local}={value!r} is not allowed on <{element.name}>")
        elif not space or not ("other" in allowed or ("module" in allowed and space.startswith(_MODULES))):
            raise Broken(element, f"<{element.name}> must not have {local}")
        elif space == _FORMAT_STYLE and (
            local not in ("fs", "subFs")
            or (local == "fs" and value not in _HTML)
            or (element.name == "ec" and attributes.get("isolated") != "yes")
        ):
            raise Broken(element, f"{local}={value!r} of the format style module is not allowed here")


def _check_language(element: Element, language: str, wanted: str) -> None:
    if element.name == "target" and not wanted:
        raise Broken(element, "<target> needs trgLang on <xliff>")
    if language and language.lower() != wanted.lower():
        raise Broken(element, f"xml:lang is {language!r} on <{element.name}>, but {wanted!r} on <xliff>")


def _check_character(element: Element, digits: str) -> None:
    number = int(digits, 16)
    if number > sys.maxunicode or not forbidden(chr(number)):
        raise Broken(element, f'<cp hex="{digits}"/> is not a character that XML forbids')


def _check_ids(file: Element, core: str) -> list[str]:
    """Return the ids of the units of a file. Raises Broken for one that is there twice, also of groups."""
    parts = [one for one in _below(file.children) if one.space == core]
    unique(one for one in parts if one.name == "group")
    unique(one for one in parts if one.name == "unit")
    return [one.attributes.get("id", "") for one in parts if one.name == "unit"]


def _below(elements: list[Element]) -> Iterator[Element]:
    """Elements and all below them, but nothing below a unit."""
    todo = list(elements)
    while todo:
        element = todo.pop()
        yield element
        if element.name != "unit":
            todo += element.children


def _check_extensions(elements: list[Element]) -> None:
    seen = set()
    for element in _below(elements):
        if element.space == _VALIDATION and element.name not in ("validation", "rule"):
            raise Broken(element, f"the validation module has no <{element.name}>")
        if element.space.startswith(_MODULE):
            continue
        for name in ("id", f"{{{XML_SPACE}}}id"):
            if name in element.attributes:
                key = element.space, element.attributes[name]
                if key in seen:
                    raise Broken(element, f"the id {key[1]!r} is there twice")
                seen.add(key)
