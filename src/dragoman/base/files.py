"""Files are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.base.errors import DragomanError

_LEFT_OVER = re.compile(r"\..+\.[0-9a-f]{8}\.part", re.DOTALL)
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; on success it takes `path`'s place, on failure it goes.

    A reader sees the old file or the new one, never a part, also after a power cut. Missing folders
    are made, a link is followed, and the mode of an existing file is kept. A device or a pipe
    (`/dev/null`, `/dev/stdout`) cannot be replaced: it is yielded itself and written directly.
    Raises DragomanError where the file cannot be written.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        with _explaining(path, path):
            yield path
        return
    target = Path(os.path.realpath(path))
    # At most 32 letters of the name, so that the longest name a folder can hold has a part too.
    part = target.with_name(f".{target.name[:32]}.{secrets.token_hex(4)}.part")
    try:
        try:
            _check_writable(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            part.touch(mode=0o666, exist_ok=False)
        except OSError as error:
            raise _cannot_write(path, error, "choose another path, in a folder you may write to") from error
        with _explaining(path, part):
            yield part
            with part.open("r+b") as written:
                os.fsync(written.fileno())
            if target.exists() and (mode := target.stat().st_mode & 0o777) != part.stat().st_mode & 0o777:
                part.chmod(mode)
            os.replace(part, target)
        _sync_folder(target.parent)
    finally:
        # A block that failed has its own error to tell; one more about cleaning up would hide it.
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Writes `content` (text as UTF-8) to `path`, whole or not at all. Raises DragomanError."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with replacing(Path(path)) as part:
        part.write_bytes(data)


def sweep(folder: Path) -> None:
    """Removes what `replacing` left half written in `folder` when the program or the machine crashed."""
    for path in folder.glob(".*.part"):
        if _LEFT_OVER.fullmatch(path.name):
            with contextlib.suppress(OSError):
                path.unlink()


@contextmanager
def _explaining(path: Path, written: Path) -> Iterator[None]:
    """An OSError about `written` as a DragomanError about `path`. Any other (the block may also read
    files and pipes) is not ours to explain and passes."""
    try:
        yield
    except OSError as error:
        if error.errno in _DISK_ERRORS or str(written) in (error.filename, error.filename2):
            raise _cannot_write(path, error, "is the disk full, or the folder gone?") from error
        raise


def _check_writable(target: Path) -> None:
    """A rename would also replace a write-protected file; refuse before the work, not after it."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it is write-protected")


def _sync_folder(folder: Path) -> None:
    """Makes the rename itself last. The file is whole either way, so a system that cannot is no error."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _cannot_write(path: Path, error: OSError, hint: str) -> DragomanError:
    return DragomanError(f"{path}: cannot be written ({error.strerror or error})", hint=hint)
