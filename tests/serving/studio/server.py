"""A studio on a port of its own, in a thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dragoman.serving.http.server import listen
from dragoman.serving.studio.app import Studio, server_of


@contextmanager
def serving(*paths: Path, every: float = 0.05, port: int = 0, names: Sequence[str] = ()) -> Iterator[str]:
    """Serve runs during the block; yields the address."""
    with listen("127.0.0.1", port) as door:
        server = server_of(Studio(paths, every=every, names=names))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{door.getsockname()[1]}"
        finally:
            server.stop()
            thread.join(30)
            assert not thread.is_alive()
