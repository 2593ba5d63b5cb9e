"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dragoman.errors import DragomanError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; on success it takes `path`'s place, on failure it goes.

    A reader sees the old file or the new one, never a part. Raises DragomanError where the
    folder cannot be written.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        os.close(handle)
    except OSError as error:
        raise DragomanError(
            f"{path}: cannot be written ({error.strerror or error})",
            hint="choose a folder you may write to with -o",
        ) from error
    part = Path(name)
    try:
        yield part
        with part.open("rb") as written:
            os.fsync(written.fileno())
        # mkstemp makes files private; a result is as readable as any other file of the user's.
        part.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask())
        os.replace(part, path)
    except OSError as error:
        raise DragomanError(
            f"{path}: cannot be written ({error.strerror or error})",
            hint="is the disk full, or the path a folder?",
        ) from error
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes `content` (text as UTF-8) to `path`, whole or not at all."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    with replacing(Path(path)) as part:
        part.write_bytes(data)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
