"""A lock on a training folder, so that two runs never write it at once.

The operating system holds the lock and releases it when the process ends, even if it crashes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from dragoman.base.errors import ConfigError
from dragoman.base.files import write_whole

if TYPE_CHECKING:
    import filelock

log = logging.getLogger(__name__)


class Lock:
    """The lock of one folder, taken by `acquire` and released by `release`."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path, self._folder = path, folder
        self._owner = path.with_name(f"{path.name}.owner")
        self._held: filelock.BaseFileLock | None = None

    def acquire(self) -> None:
        """Take the lock, unless it is held already. Raises ConfigError if another process holds it.

        If the file system has no locks, log a warning and continue.
        """
        if self._held is not None:
            return
        import filelock  # of the extra `train`; looking at a folder does not need it

        lock = filelock.FileLock(self._path)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError:
            return  # the first file written there reports what is wrong
        try:
            lock.acquire(timeout=0)
            if isinstance(lock, filelock.SoftFileLock):  # a marker file, which a killed run leaves behind
                lock.release()
                raise OSError("no locks here")
        except filelock.Timeout as error:
            raise ConfigError(
                f"{self._folder}: another run is writing this folder{self._who()}",
                hint="wait until it ends, stop it, or choose another folder with -o",
            ) from error
        except (OSError, NotImplementedError) as error:
            log.warning("%s: cannot be locked (%s); do not start a second run there", self._folder, error)
            return
        self._held = lock
        write_whole(self._owner, f"process {os.getpid()} on {socket.gethostname()}\n")

    def release(self) -> None:
        """Release the lock, if it is held."""
        if self._held is not None:
            self._owner.unlink(missing_ok=True)
            self._held.release()
            self._held = None

    def _who(self) -> str:
        owner = ""
        with contextlib.suppress(OSError, ValueError):
            owner = self._owner.read_text(encoding="utf-8").strip()
        return f": {owner}" if owner else ""
