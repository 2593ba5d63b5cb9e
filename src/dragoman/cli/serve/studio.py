"""`dragoman studio`: watch training runs on a page."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from dragoman.base.errors import ConfigError
from dragoman.cli.options import Flag, Quiet


def studio(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN", help="Training folders, or their metrics.jsonl.", show_default=False),
    ],
    host: Annotated[str, Flag("Address to serve on.", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, Flag("Port; 0 takes a free one.")] = 8090,
    allow_open: Annotated[bool, Flag("Serve on an address that other machines reach.")] = False,
    quiet: Quiet = False,
) -> None:
    """Watch training runs on a page: loss, BLEU, translations, attention, recipes.

    It reads metrics.jsonl and training.toml, so a run may be on another machine, and its folder a copy that
    is synchronised. Attention also needs the checkpoints and PyTorch. It never changes a run. Ctrl-C ends it.

    \b
      dragoman studio runs/en-de
      dragoman studio runs/en-de runs/wider
    """
    # One thread for attention: on the machine that trains, the others are taken.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        from dragoman.serving.http.server import listen
        from dragoman.serving.http.settings import is_loopback
        from dragoman.serving.studio.app import Studio, server_of
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise ConfigError(
            "the studio needs Starlette and uvicorn", hint="pip install 'dragoman[serve]'"
        ) from error
    if not is_loopback(host) and not allow_open:
        raise ConfigError(
            f"--host {host}: other machines could read the runs",
            hint="use ssh -L to reach 127.0.0.1 from elsewhere, or add --allow-open",
        )
    served = Studio(runs, host=host)
    with listen(host, port) as door:
        door.listen()  # so that a reader of the address can connect at once
        if not quiet:
            name = f"[{host}]" if ":" in host else host
            print(f"http://{name}:{door.getsockname()[1]}/  (Ctrl-C ends it)", file=sys.stderr, flush=True)
        server_of(served).run(sockets=[door])
