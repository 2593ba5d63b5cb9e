"""A zip file is read safely, and what does not change keeps its bytes."""

from __future__ import annotations

import io
import struct
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.base.errors import DataError
from dragoman.documents.office.package import Package
from tests.documents.office.office_files import packed

MEMBERS = {"mimetype": b"application/x", "content.xml": b"<a>one</a>" * 50, "media/p.png": bytes(range(256))}


def read(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        assert package.testzip() is None
        return {name: package.read(name) for name in package.namelist()}


def details(data: bytes) -> list[tuple[object, ...]]:
    """What zipfile knows of the members, without sizes and places."""
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        return [
            (one.filename, one.date_time, one.compress_type, one.external_attr, one.extra, one.comment)
            for one in package.infolist()
        ]


def streamed() -> bytes:
    """A file whose sizes follow the data, with comments and extra fields."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.data = b""

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override]
            self.data += bytes(data)
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as package:  # type: ignore[call-overload]
        package.comment = b"made by hand"
        for name, content in MEMBERS.items():
            info = zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6))
            info.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            info.comment, info.extra, info.external_attr = b"hello", b"\xfe\xca\x02\x00ab", 0o600 << 16
            package.writestr(info, content)
    return pipe.data


FILES = {"plain": packed(MEMBERS), "streamed": streamed()}


def forged(data: bytes, old: bytes, new: bytes) -> bytes:
    assert old in data
    assert len(old) == len(new)
    return data.replace(old, new)


def patched(data: bytes, signature: bytes, number: int, offset: int, new: bytes) -> bytes:
    """Change a field of the header of a member."""
    place = -1
    for _ in range(number + 1):
        place = data.index(signature, place + 1)
    return data[: place + offset] + new + data[place + offset + len(new) :]


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_members_are_read(data: bytes) -> None:
    package = Package(data)

    assert {name: package.read(name) for name in package.names} == MEMBERS
    assert "content.xml" in package
    assert "Content.xml" not in package


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_without_changes_the_bytes_are_the_same(data: bytes) -> None:
    assert Package(data).replace({}) == data


@pytest.mark.parametrize("name", MEMBERS)
@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_only_a_changed_member_changes(data: bytes, name: str) -> None:
    new = Package(data).replace({name: b"something else entirely" * 9})

    assert read(new) == {**MEMBERS, name: b"something else entirely" * 9}
    assert details(new) == details(data)
    with zipfile.ZipFile(io.BytesIO(new)) as package, zipfile.ZipFile(io.BytesIO(data)) as old:
        assert package.comment == old.comment


def test_a_changed_member_needs_no_descriptor() -> None:
    new = Package(FILES["streamed"]).replace({"content.xml": b"new"})

    assert new.count(b"PK\7\10") == FILES["streamed"].count(b"PK\7\10") - 1
    with zipfile.ZipFile(io.BytesIO(new)) as package:
        assert [one.flag_bits & 8 for one in package.infolist()] == [8, 0, 8]


@settings(max_examples=30)
@given(
    st.dictionaries(
        st.text("abc./é", min_size=1, max_size=6).filter(
            lambda name: "/" not in name[:1] and ".." not in name
        ),
        st.binary(max_size=40),
        max_size=5,
    ),
    st.dictionaries(st.integers(0, 4), st.binary(max_size=40)),
)
def test_any_change_is_read_back(members: dict[str, bytes], changes: dict[int, bytes]) -> None:
    data = packed(members)
    named = {name: changes[place] for place, name in enumerate(members) if place in changes}

    assert read(Package(data).replace(named)) == {**members, **named}


def test_an_unknown_member_cannot_change() -> None:
    with pytest.raises(KeyError):
        Package(FILES["plain"]).replace({"nowhere": b""})


# Files of strangers


def refused(data: bytes, what: str, name: str = "content.xml") -> None:
    with pytest.raises(DataError, match=what) as error:
        Package(data).read(name)
    assert error.value.hint


def test_a_missing_member_is_named() -> None:
    refused(FILES["plain"], "nowhere is missing", "nowhere")


@pytest.mark.parametrize("data", FILES.values(), ids=FILES)
def test_every_truncated_file_is_refused(data: bytes) -> None:
    for end in range(len(data)):
        with pytest.raises(DataError):
            Package(data[:end])


def test_every_changed_byte_is_an_error_or_harmless() -> None:
    data = FILES["plain"]
    for place in range(len(data)):
        damaged = data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :]
        try:
            package = Package(damaged)
            contents = [package.read(name) for name in package.names]
        except DataError:
            continue
        assert contents == list(MEMBERS.values())


@pytest.mark.parametrize("data", [b"", b"hello", b"PK", b"PK\3\4", b"\0" * 100])
def test_what_is_no_zip_file_is_refused(data: bytes) -> None:
    refused(data, "zip file")


def test_an_old_word_file_is_named() -> None:
    refused(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "old format of Word")


def test_a_word_file_with_a_password_is_named() -> None:
    name = "EncryptedPackage".encode("utf-16-le")
    refused(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600 + name, "encrypted")


def test_a_wrong_checksum_names_the_member() -> None:
    data = packed({"content.xml": b"hello world"}, stored=("content.xml",))
    refused(forged(data, b"hello world", b"jello world"), "content.xml is damaged")


def test_an_encrypted_member_is_refused() -> None:
    refused(patched(FILES["plain"], b"PK\1\2", 1, 8, b"\1\0"), "content.xml is encrypted")


def test_an_unknown_method_is_refused() -> None:
    refused(patched(FILES["plain"], b"PK\1\2", 1, 10, b"\x0e\0"), "unknown compression 14")


def test_a_bomb_does_not_explode() -> None:
    refused(packed({"content.xml": b"a" * (16 << 20)}), "too big when inflated")


def test_the_ratio_is_bounded() -> None:
    refused(packed({"content.xml": b"a" * (3 << 20)}), "too big when inflated")


def test_small_members_may_be_dense() -> None:
    content = b"a" * (1 << 20)
    assert Package(packed({"content.xml": content})).read("content.xml") == content


def test_all_members_together_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.documents.office.package._TOTAL_SIZE", 1000)
    package = Package(packed({"1": b"a" * 600, "2": b"b" * 600, "3": b"c" * 600}, stored=("3",)))

    assert package.read("1") == b"a" * 600
    for name in ("2", "3"):
        with pytest.raises(DataError, match=f"{name} is too big"):
            package.read(name)


def test_a_stored_member_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.documents.office.package._MEMBER_SIZE", 10)

    refused(packed({"content.xml": b"a" * 11}, stored=("content.xml",)), "too big")


@pytest.mark.parametrize("size", [0xFFFFFFFE, 4, 0])
def test_a_size_that_lies_is_found(size: int) -> None:
    refused(patched(FILES["plain"], b"PK\1\2", 1, 24, struct.pack("<L", size)), "content.xml is damaged")


def test_a_lie_about_the_compressed_size_is_found() -> None:
    refused(patched(FILES["plain"], b"PK\1\2", 1, 20, b"\xfe\xff\xff\xff"), "content.xml is incomplete")
    refused(patched(FILES["plain"], b"PK\1\2", 1, 20, b"\x03\0\0\0"), "content.xml is incomplete")


def test_zip64_is_refused() -> None:
    refused(patched(FILES["plain"], b"PK\5\6", 0, 16, b"\xff" * 4), "zip64")


def test_too_many_members_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.documents.office.package._MEMBERS", 10)
    refused(packed({str(one): b"" for one in range(11)}), "more than 10 members")


def test_a_name_may_not_come_twice() -> None:
    refused(forged(packed({"content.xml": "one", "kontent.xml": "two"}), b"kontent", b"content"), "twice")


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "C:\\x", "C:x", "a\\b"])
def test_paths_outside_are_refused(name: str) -> None:
    data = packed({"content.xml": b"", "n" * len(name): b""})
    refused(forged(data, b"n" * len(name), name.encode()), "outside")


def test_members_may_not_overlap() -> None:
    data = FILES["plain"]
    inner = data.index(b"PK\3\4", 1)
    header = data[inner : inner + 30 + len("content.xml")]
    outer = packed({"a": b"x" + data[inner:], "content.xml": b""}, stored=("a", "content.xml"))
    refused(
        patched(outer, b"PK\1\2", outer.count(b"PK\1\2") - 1, 42, struct.pack("<L", outer.index(header))),
        "overlap",
    )


def test_two_names_for_one_member_are_refused() -> None:
    data = FILES["plain"]
    place = data.index(b"content.xml")
    refused(data[:place] + b"Content.xml" + data[place + 11 :], "two names")
