"""A zip file of parts, read safely. Members that do not change are copied byte for byte.

Safe for untrusted files: a member is inflated only when it is read, and never beyond a limit, whatever its
header says. Nothing is written to disk.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise

from dragoman.base.errors import DataError
from dragoman.documents.edits import unsafe

_MEMBERS = 10_000
_MEMBER_SIZE = 64 << 20  # bytes, inflated
_TOTAL_SIZE = 256 << 20
_RATIO, _RATIO_FROM = 200, 1 << 20  # a member above the second number grows by the first at most
_STORED, _DEFLATED = 0, 8
most_tags = ContextVar("most_tags", default=2_000_000)  # of a file, with less than a kilobyte for each
_ENCRYPTED = 0x0001 | 0x0040 | 0x2000  # flags: encrypted, strongly, and with a hidden directory
_DESCRIPTOR = 0x0008  # flag: sizes follow the data
_UTF8 = 0x0800
_ZIP64 = 0x0001  # an extra field
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# APPNOTE.TXT, sections 4.3.7, 4.3.12 and 4.3.16
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_DAMAGED = "is the file complete? Open it in the program that wrote it"


@dataclass(frozen=True)
class _Member:
    name: str
    entry: tuple[bytes, ...]  # of the central directory: fixed fields, name, extra fields, comment
    fields: tuple[int, ...]  # the fixed fields as numbers, without the signature
    start: int  # of the local header
    data: int  # where the compressed bytes begin
    end: int  # where they end

    @property
    def flags(self) -> int:
        return self.fields[2]

    @property
    def method(self) -> int:
        return self.fields[3]


class Package:
    """The members of a zip file. Raises DataError if the file is damaged, encrypted or unsafe."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._inflated = self._tags = 0
        self._counted: set[str] = set()
        self._directory, self._tail, count = _end(data)
        self._members = _members(data, count, self._directory, self._tail)

    @property
    def names(self) -> list[str]:
        """In the order of the directory."""
        return list(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def read(self, name: str) -> bytes:
        """Return a member. Raises DataError if it is missing, encrypted, damaged or too big."""
        member = self._members.get(name)
        if member is None:
            raise DataError(f"{name} is missing", hint=_DAMAGED)
        if member.flags & _ENCRYPTED:
            raise DataError(f"{name} is encrypted", hint="save the file without a password")
        if member.method not in (_STORED, _DEFLATED):
            raise DataError(f"{name}: unknown compression {member.method}", hint="save the file again")
        data = self._data[member.data : member.end]
        limit = min(_MEMBER_SIZE, _TOTAL_SIZE - self._inflated, max(_RATIO_FROM, _RATIO * len(data)))
        if member.method == _DEFLATED:
            stream = zlib.decompressobj(-zlib.MAX_WBITS)
            try:
                data = stream.decompress(data, limit + 1)
            except zlib.error:
                raise DataError(f"{name} is damaged", hint=_DAMAGED) from None
            if len(data) <= limit and not stream.eof:
                raise DataError(f"{name} is incomplete", hint=_DAMAGED)
        if len(data) > limit:
            raise unsafe(f"{name} is too big when inflated")
        self._inflated += len(data)
        _, _, _, _, _, _, crc, _, size, *_ = member.fields
        if len(data) != size or zlib.crc32(data) != crc:
            raise DataError(f"{name} is damaged: its checksum is wrong", hint=_DAMAGED)
        return data

    def count_tags(self, name: str, data: bytes) -> None:
        """Count the tags of a member that becomes a tree, once. Raises DataError if the file has too many."""
        if name not in self._counted:
            self._tags += data.count(b"<")
            self._counted.add(name)
        if self._tags > (most := most_tags.get()):
            raise DataError(f"more than {most:,} tags in the file", hint="divide it")

    def replace(self, changes: Mapping[str, bytes]) -> bytes:
        """Return the file with new contents for these members.

        They keep place, date, method and attributes; every other member keeps its bytes. Without changes this
        is the file itself. Raises KeyError for a member that does not exist.
        """
        if not changes:
            return self._data
        for name in changes:
            self._members[name]
        body, entries = bytearray(), {}
        place = 0  # self._data[:place] is written
        for member in sorted(self._members.values(), key=lambda one: one.start):
            body += self._data[place : member.start]
            start, place = len(body), member.start
            fixed = list(member.fields)
            if member.name in changes:
                content = changes[member.name]
                raw = zlib.compress(content, wbits=-zlib.MAX_WBITS) if member.method == _DEFLATED else content
                fixed[2] &= ~_DESCRIPTOR
                fixed[6:9] = zlib.crc32(content), len(raw), len(content)
                body += self._local(member, fixed) + raw
                place = member.end
                if member.flags & _DESCRIPTOR:  # which a changed member does without
                    place += 16 if self._data.startswith(b"PK\7\10", place) else 12
            fixed[-1] = start
            entries[member.name] = _CENTRAL.pack(b"PK\1\2", *fixed) + b"".join(member.entry[1:])
        body += self._data[place : self._directory]
        directory = b"".join(entries[name] for name in self._members)
        tail = bytearray(self._data[self._tail :])
        struct.pack_into("<2L", tail, 12, len(directory), len(body))
        return bytes(body + directory + tail)

    def _local(self, member: _Member, fixed: list[int]) -> bytes:
        """The header before a changed member."""
        *_, name_length, extra_length = _LOCAL.unpack_from(self._data, member.start)
        place = member.start + _LOCAL.size
        name = self._data[place : place + name_length]
        extra = _without_zip64(self._data[place + name_length : place + name_length + extra_length])
        return _LOCAL.pack(b"PK\3\4", *fixed[1:9], len(name), len(extra)) + name + extra


def _end(data: bytes) -> tuple[int, int, int]:
    """Where the directory begins and ends, and the number of members."""
    if data.startswith(_OLE):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise DataError("the file is encrypted", hint="save it without a password")
        raise DataError(
            "this is the old format of Word, Excel or PowerPoint",
            hint="save it as .docx, .xlsx or .pptx first",
        )
    place = data.rfind(b"PK\5\6", max(0, len(data) - _END.size - 0xFFFF))
    if not data.startswith(b"PK") or place < 0 or place + _END.size > len(data):
        what = "the zip file is incomplete" if data.startswith(b"PK") else "not a zip file, as documents are"
        raise DataError(what, hint=_DAMAGED)
    _, disk, first_disk, here, count, size, start, comment = _END.unpack_from(data, place)
    if place + _END.size + comment > len(data):
        raise DataError("the zip file is incomplete", hint=_DAMAGED)
    if 0xFFFF in (disk, count) or 0xFFFFFFFF in (size, start):
        raise DataError("a zip file of the kind zip64", hint="save it again in another program")
    if disk or first_disk or here != count or start + size != place:
        raise DataError("the directory of the zip file is damaged", hint=_DAMAGED)
    if count > _MEMBERS:
        raise unsafe(f"more than {_MEMBERS:,} members in the zip file")
    return start, place, count


def _members(data: bytes, count: int, directory: int, end: int) -> dict[str, _Member]:
    members: dict[str, _Member] = {}
    place = directory
    for _ in range(count):
        if data[place : place + 4] != b"PK\1\2" or place + _CENTRAL.size > end:
            raise DataError("the directory of the zip file is damaged", hint=_DAMAGED)
        _, *fields = _CENTRAL.unpack_from(data, place)
        lengths = fields[9:12]
        cuts = [place, place + _CENTRAL.size]
        for length in lengths:
            cuts.append(cuts[-1] + length)
        entry = tuple(data[a:b] for a, b in pairwise(cuts))
        place = cuts[-1]
        name = entry[1].decode("utf-8" if fields[2] & _UTF8 else "cp437", "replace")
        if name in members:
            raise unsafe(f"the zip file has {name!r} twice")
        if name[:1] == "/" or name[1:2] == ":" or re.search(r"[\\\0]", name) or ".." in name.split("/"):
            raise unsafe(f"{name!r} is outside of the file")
        members[name] = _located(data, name, entry, tuple(fields), directory)
    if place != end:
        raise DataError("the directory of the zip file is damaged", hint=_DAMAGED)
    ordered = sorted(members.values(), key=lambda one: one.start)
    for before, after in pairwise(ordered):
        if before.end > after.start:
            raise unsafe(f"{before.name} and {after.name} overlap")
    return members


def _located(
    data: bytes, name: str, entry: tuple[bytes, ...], fields: tuple[int, ...], directory: int
) -> _Member:
    start, size = fields[-1], fields[7]
    if data[start : start + 4] != b"PK\3\4" or start + _LOCAL.size > directory:
        raise DataError(f"{name} is not where the zip file says", hint=_DAMAGED)
    *_, name_length, extra_length = _LOCAL.unpack_from(data, start)
    named = start + _LOCAL.size
    begin = named + name_length + extra_length
    if data[named : named + name_length] != entry[1]:
        raise unsafe(f"{name} has two names")
    if begin + size > directory:
        raise DataError(f"{name} is incomplete", hint=_DAMAGED)
    return _Member(name, entry, fields, start, begin, begin + size)


def _without_zip64(extra: bytes) -> bytes:
    """Extra fields without sizes of 64 bits, which would contradict the new ones."""
    kept, place = b"", 0
    while place + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, place)
        if kind != _ZIP64:
            kept += extra[place : place + 4 + length]
        place += 4 + length
    return kept + extra[place:]
