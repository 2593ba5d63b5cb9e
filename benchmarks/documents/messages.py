"""The messages in a translated file, read by programs that are not ours."""

from __future__ import annotations

import json
import plistlib
import re
from collections.abc import Iterator
from typing import Any

import javaproperties
import openstep_parser
import polib
import yaml
from fluent.syntax import FluentParser
from fluent.syntax.serializer import serialize_pattern
from lxml import etree

Messages = dict[str, str]  # text by its key


def po_text(data: bytes) -> str:
    """The text of a catalogue, in the encoding that its header names."""
    named = re.search(rb"charset=([\w-]+)", data)
    return data.decode(named[1].decode() if named and named[1] != b"CHARSET" else "utf-8")


def po_messages(data: bytes) -> dict[str, tuple[str, str, bool]]:
    """For each message: its source, its translation and whether it is marked."""
    found = {}
    for entry in polib.pofile(po_text(data)):
        key = f"{entry.msgctxt}\0{entry.msgid}"
        if not entry.msgid_plural:
            found[key] = (entry.msgid, entry.msgstr, entry.fuzzy)
            continue
        for form, text in entry.msgstr_plural.items():
            found[f"{key}\0{form}"] = (entry.msgid_plural if int(form) else entry.msgid, text, entry.fuzzy)
    return found


def xliff_messages(data: bytes) -> dict[str, tuple[str, str, bool]]:
    """Inline elements count as their source: ids, not texts. A state that asks for a person is a mark."""
    found = {}
    for number, unit in enumerate(etree.fromstring(data).iter("{*}trans-unit", "{*}segment")):
        source, target = unit.find("{*}source"), unit.find("{*}target")
        if source is None or target is None:
            continue
        state = f"{target.get('state')} {unit.get('state')} {unit.get('subState')}"
        found[str(number)] = (inline(source), inline(target), "needs" in state or "check" in state)
    return found


def inline(element: Any) -> str:
    """The text of an element, with each element inside as its name and its id."""
    text = element.text or ""
    for one in element:
        if isinstance(one.tag, str):
            text += f" <{etree.QName(one).localname}{one.get('id') or ''}> {inline(one)}"
        text += one.tail or ""
    return text


def properties_messages(data: bytes) -> Messages:
    try:
        return javaproperties.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        return javaproperties.loads(data.decode("latin-1"))


def json_messages(data: bytes) -> Messages:
    tree = json.loads(data.decode("utf-8-sig"))
    if isinstance(tree, dict) and all(isinstance(one, dict) and "message" in one for one in tree.values()):
        return {key: one["message"] for key, one in tree.items()}  # WebExtensions
    return {key: text for key, text in leaves(tree) if not key.startswith("/@")}


def yaml_messages(data: bytes) -> Messages:
    return {key.partition("/")[2].partition("/")[2]: text for key, text in leaves(yaml.load(data, Yaml))}


class Yaml(yaml.SafeLoader):
    """Reads symbols and other tags of Ruby as plain values."""


def untagged(loader: Any, _: str, node: Any) -> Any:
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    build = loader.construct_sequence if isinstance(node, yaml.SequenceNode) else loader.construct_mapping
    return build(node, deep=True)


Yaml.add_multi_constructor("", untagged)


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The strings of a tree, by their paths."""
    if isinstance(tree, dict):
        for key, one in tree.items():
            yield from leaves(one, f"{path}/{key}")
    elif isinstance(tree, list):
        for number, one in enumerate(tree):
            yield from leaves(one, f"{path}/{number}")
    elif isinstance(tree, str):
        yield path, tree


def strings_messages(data: bytes) -> Messages:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    text = text.replace("\\\\", "\\U005c")  # this program takes the quote behind two for an escaped one
    return dict(openstep_parser.OpenStepDecoder.ParseFromString("{" + text + "}"))


def stringsdict_messages(data: bytes) -> Messages:
    return dict(leaves(plistlib.loads(data)))


def xml_messages(data: bytes) -> Messages:
    """Android's strings and the values of RESX, with the tags inside."""
    found = {}
    for number, one in enumerate(etree.fromstring(data).iter("string", "item", "value")):
        parent = one.getparent()
        key = one.get("name") or f"{parent.get('name')}/{one.get('quantity') or number}"
        found[key] = (one.text or "") + "".join(etree.tostring(inner, encoding="unicode") for inner in one)
    return found


def ts_messages(data: bytes) -> dict[str, tuple[str, str, bool]]:
    found = {}
    for number, message in enumerate(etree.fromstring(data).iter("message")):
        source, target = message.find("source"), message.find("translation")
        if source is None or target is None:
            continue
        forms = target.findall("numerusform") or [target]
        for form, one in enumerate(forms):
            marked = target.get("type") == "unfinished"
            found[f"{number}/{form}"] = (source.text or "", one.text or "", marked)
    return found


def ftl_messages(data: bytes) -> Messages:
    found = {}
    for entry in FluentParser().parse(data.decode("utf-8")).body:
        if (named := getattr(entry, "id", None)) is None:
            continue
        for part in (entry, *entry.attributes):
            if part.value is not None:
                key = f"{named.name}.{part.id.name}" if part is not entry else named.name
                found[key] = pattern_text(part.value)
    return found


def pattern_text(pattern: Any) -> str:
    return serialize_pattern(pattern).strip()


BILINGUAL = {"po": po_messages, "xliff": xliff_messages, "ts": ts_messages}
ONE_LANGUAGE = {
    "properties": properties_messages,
    "json": json_messages,
    "arb": json_messages,
    "yaml": yaml_messages,
    "strings": strings_messages,
    "stringsdict": stringsdict_messages,
    "android": xml_messages,
    "resx": xml_messages,
    "ftl": ftl_messages,
}
