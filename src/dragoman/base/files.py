"""Files: written completely or not at all, and digests of them."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dragoman.base.errors import ConfigError, DragomanError, ModelError

_LEFT_OVER = re.compile(r"\..+\.[0-9a-f]{8}\.part", re.DOTALL)
_ELSEWHERE = "choose another path, in a folder you may write to"
_DISK_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`. On success it replaces `path`; on failure it is deleted.

    A reader sees the old file or the new one, never a part, even after a power cut. Missing folders are
    created, links are followed, and the mode of an existing file is kept. A device or pipe (`/dev/null`,
    `/dev/stdout`) cannot be replaced, so `path` itself is yielded and written directly. Raise
    DragomanError if the file cannot be written.
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        with explaining(path, path):
            yield path
        return
    target = Path(os.path.realpath(path))
    # Use 32 characters of the name, because the whole name may be as long as the file system allows.
    part = target.with_name(f".{target.name[:32]}.{os.urandom(4).hex()}.part")
    try:
        try:
            _check_writable(target)
            target.parent.mkdir(parents=True, exist_ok=True)
            part.touch(mode=0o666, exist_ok=False)
        except OSError as error:
            raise _cannot_write(path, error, _ELSEWHERE) from error
        with explaining(path, part):
            yield part
            with part.open("r+b") as written:
                os.fsync(written.fileno())
            if target.exists() and (mode := target.stat().st_mode & 0o777) != part.stat().st_mode & 0o777:
                part.chmod(mode)
            os.replace(part, target)
        _sync_folder(target.parent)
    finally:
        # An error while cleaning up would hide the error of the block.
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def write_whole(path: str | Path, content: str | bytes) -> None:
    """Write `content` (text as UTF-8) to `path`, completely or not at all. Raise DragomanError."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with replacing(Path(path)) as part:
        part.write_bytes(data)


def is_utf8(name: str | Path) -> bool:
    """Whether a name is valid UTF-8. Names of files need not be; the files that we write must."""
    try:
        str(name).encode()
    except UnicodeEncodeError:  # Python has half a surrogate pair for each byte that is not
        return False
    return True


def move(source: Path, target: Path) -> None:
    """Rename a file, whose content is on the disk, over `target` in the same folder. Raise DragomanError."""
    with explaining(target, source):
        os.replace(source, target)
    _sync_folder(target.parent)


def link_or_copy(source: Path, link: Path) -> None:
    """Link to a file, or copy it: Windows allows links only to some users."""
    try:
        link.symlink_to(source.absolute())
    except OSError:
        shutil.copyfile(source, link)


def check_writable(path: str | Path) -> None:
    """Create the folder of `path`. Raise DragomanError if `path` is a folder or write-protected."""
    target = Path(os.path.realpath(path))
    try:
        _check_writable(target)
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _cannot_write(Path(path), error, _ELSEWHERE) from error


def check_new(path: str | Path, what: str = "folder") -> None:
    """Raise ConfigError if something is at `path`, even a link that leads nowhere."""
    if os.path.lexists(path):
        raise ConfigError(f"{path}: exists already", hint=f"choose a new {what} with -o")


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Yield a file that becomes `path`. Raises ConfigError if something is there, even a dead link."""
    check_new(path, "file")
    with replacing(path) as part:
        yield part


@contextmanager
def new_folder(path: str | Path) -> Iterator[Path]:
    """Yield an empty temporary folder next to `path`. On success it becomes `path`; on failure it is deleted.

    So the folder exists whole or not at all, and never replaces another. Missing parents are created. Raise
    ConfigError if `path` exists, DragomanError if the folder cannot be written.
    """
    path = Path(path)
    target = Path(os.path.abspath(path))
    check_new(path)
    part = target.with_name(f".{target.name[:32]}.{os.urandom(4).hex()}.part")
    created = [parent for parent in target.parents if not parent.exists()]
    try:
        try:
            part.mkdir(parents=True)
        except OSError as error:
            raise _cannot_write(path, error, _ELSEWHERE) from error
        yield part
        _sync_folder(part)
        try:
            os.rename(part, target)  # refuses a folder with files that appeared meanwhile
        except OSError as error:
            raise _cannot_write(path, error, "choose a new folder with -o") from error
        _sync_folder(target.parent)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        for parent in created:
            with contextlib.suppress(OSError):  # it is not empty: the new folder is there
                parent.rmdir()


def sweep(folder: Path) -> None:
    """Delete the temporary files of `replacing` in `folder` that a crash left behind."""
    for path in folder.glob(".*.part"):
        if _LEFT_OVER.fullmatch(path.name):
            with contextlib.suppress(OSError):
                path.unlink()


@contextmanager
def explaining(path: Path, written: Path | None = None) -> Iterator[None]:
    """Turn an OSError about `written` into a DragomanError about `path`.

    Any other error passes unchanged, because the block may also read files and pipes.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _DISK_ERRORS or str(written or path) in (error.filename, error.filename2):
            full = "is the disk full, or was the folder deleted?"
            raise _cannot_write(path, error, _ELSEWHERE if error.errno == errno.EACCES else full) from error
        raise


def _check_writable(target: Path) -> None:
    """Refuse folders and write-protected files before the work; a rename would replace the latter."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it is write-protected")


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power cut. If the system cannot, ignore it: the file is complete anyway."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _cannot_write(path: Path, error: OSError, hint: str) -> DragomanError:
    return DragomanError(f"{path}: cannot be written ({error.strerror or error})", hint=hint)


def sealed(folder: Path, names: Iterable[str]) -> dict[str, list[Any]]:
    """Return bytes and digest of each of these files. Reads them once, in blocks. Raises OSError.

    Digests find accidents: a failing disk, a copy that was cut short, a file of another run. They do not
    protect from an attacker, who can change the digest too.
    """
    return {name: _stamp(folder / name) for name in sorted(names)}


def broken(folder: Path, seals: object) -> list[str]:
    """Return the faults of the files that `sealed` was called on, a text each."""
    if not isinstance(seals, Mapping):
        return ["the table of its digests cannot be read"]
    faults = []
    for name, stamp in seals.items():
        if not isinstance(name, str) or Path(name).name != name:
            faults.append(f"{name!r} is not the name of a file")
            continue
        try:
            size = (folder / name).stat().st_size
            if not isinstance(stamp, list) or stamp[:1] != [size]:
                faults.append(f"{name} has {size:,} bytes, not as many as were written")
            elif _stamp(folder / name) != stamp:
                faults.append(f"{name} has another digest than was written")
        except OSError as error:
            faults.append(f"{name}: {error.strerror or error}")
    return faults


def read_of_model(path: Path, *, missing: str, damaged: str) -> bytes:
    """The bytes of a file of a model. Raises ModelError, with the hint for a missing or a damaged file."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"{path}: missing", hint=missing) from error
    except OSError as error:
        raise ModelError(f"{path}: cannot be read ({error.strerror or error})", hint=damaged) from error


def json_of_model(path: Path, *, missing: str, damaged: str) -> dict[str, Any]:
    """The object in a JSON file of a model. Raises ModelError as `read_of_model` does."""
    try:
        table = json.loads(read_of_model(path, missing=missing, damaged=damaged).decode())
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path}: not valid JSON ({error})", hint=damaged) from error
    if not isinstance(table, dict):
        raise ModelError(f"{path}: not a JSON object", hint=damaged)
    return table


def digest_of_table(table: Mapping[str, Any]) -> str:
    """Return the digest of what JSON can hold, whatever the order of its keys."""
    return hashlib.blake2b(json.dumps(table, sort_keys=True).encode(), digest_size=16).hexdigest()


def _stamp(path: Path) -> list[Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return [file.tell(), f"sha256:{digest}"]
