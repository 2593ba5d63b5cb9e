"""Compressed text: gzip (.gz) and Zstandard (.zst), recognised by their first bytes.

Only blocks that are read are unpacked, so a small file that unpacks to a huge one fills no memory. The window
of a Zstandard file, which its header sets, may have at most 128 MB: the default limit of the library.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from contextlib import AbstractContextManager, nullcontext
from pathlib import PurePath
from typing import Any, BinaryIO, cast

from dragoman.base.errors import DataError

SUFFIXES = frozenset({".gz", ".zst"})
# These bytes are not valid UTF-8, so text cannot begin with them.
_GZIP, _ZSTANDARD = b"\x1f\x8b", b"\x28\xb5"
_SKIPPED = b"*M\x18"  # from the second byte on, of a frame without text, with which pzstd begins a file


def without_suffix(name: str) -> str:
    """Return the name without .gz or .zst, in lower case: train.en-de.tsv for Train.en-de.TSV.gz."""
    path = PurePath(name.lower())
    return str(path.with_suffix("")) if path.suffix in SUFFIXES else name.lower()


def decompressed(stream: BinaryIO, name: str) -> BinaryIO:
    """Return the bytes of a stream, which may be compressed. Raise DataError if only its name says so."""
    # Standard input may have been replaced by bytes in memory, which cannot look ahead.
    ahead = stream if hasattr(stream, "peek") else io.BufferedReader(cast(Any, stream))
    start = ahead.peek(4)[:4]
    if start.startswith(_GZIP):
        return cast(BinaryIO, gzip.GzipFile(fileobj=ahead))
    if start.startswith(_ZSTANDARD) or (start[1:] == _SKIPPED and 0x50 <= start[0] <= 0x5F):
        return cast(BinaryIO, _zstandard().ZstdFile(ahead))
    for suffix, kind in ((".gz", "gzip"), (".zst", "Zstandard")):
        if start and name.lower().endswith(suffix):
            raise DataError(
                f"{name}: not a {kind} file",
                hint=f"if it is plain text, remove {suffix} from its name; otherwise copy or download it "
                "again",
            )
    return ahead


def compressing(file: BinaryIO, suffix: str) -> AbstractContextManager[BinaryIO]:
    """Return a file that compresses into `file`, as the suffix of its name says. It does not close `file`.

    The same text gives the same bytes: neither name nor time is written.
    """
    if suffix == ".gz":
        return cast("AbstractContextManager[BinaryIO]", gzip.GzipFile("", "wb", fileobj=file, mtime=0))
    if suffix == ".zst":
        return cast("AbstractContextManager[BinaryIO]", _zstandard().ZstdFile(file, "wb"))
    return nullcontext(file)


def damage(error: Exception, name: str) -> str:
    """Return why a file cannot be unpacked, or "" for an error of another kind."""
    if type(error).__name__ == "ZstdError":
        window = "memory" in str(error)
        return "a Zstandard file with a window of over 128 MB" if window else "a damaged Zstandard file"
    if isinstance(error, EOFError | zlib.error | gzip.BadGzipFile):
        return f"a damaged {'Zstandard' if name.endswith('.zst') else 'gzip'} file"
    return ""


def _zstandard() -> Any:
    """The module of Python 3.14, or its backport."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd
