"""`dragoman course`: learn how the Transformer works, on a page with a live model."""

from __future__ import annotations

from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from signal import SIGINT
from typing import Annotated

from dragoman.base.errors import ConfigError
from dragoman.cli.options import Flag, Quiet
from dragoman.cli.outcome import tell
from dragoman.cli.signals import number_of


def course(
    output: Annotated[
        Path | None, Flag("Write one page (.html), or its Python as a notebook (.ipynb).", flag="--output -o")
    ] = None,
    language: Annotated[str, Flag("Language of the course: en or de.", metavar="CODE")] = "en",
    port: Annotated[int, Flag("Port of this machine to serve on, without -o; 0 takes a free one.")] = 8100,
    quiet: Quiet = False,
) -> None:
    """Learn how the Transformer works: five chapters, on a page with a live English-German model.

    The page needs no network, and Python only for its snippets. Ctrl-C ends the server.

    \b
      dragoman course
      dragoman course -o course.html
      dragoman course -o course.ipynb
    """
    from dragoman.course.notebook import notebook
    from dragoman.course.page import course_page

    if output is None:
        return _serve(course_page(language).encode(), port, quiet)
    if output.suffix not in (".html", ".ipynb"):
        raise ConfigError(f"{output}: unknown format", hint="name it *.html, or *.ipynb for a notebook")
    from dragoman.base.files import write_whole

    write_whole(output, course_page(language) if output.suffix == ".html" else notebook(language))
    tell(f"wrote {output}", quiet=quiet)


def _serve(page: bytes, port: int, quiet: bool) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> bool:
            found = self.path.partition("?")[0] == "/"
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page) if found else 0))
            self.end_headers()
            return found

        def do_GET(self) -> None:
            with suppress(ConnectionError):  # the browser has gone
                if self.do_HEAD():
                    self.wfile.write(page)

        def log_message(self, format: str, *args: object) -> None:
            pass

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except (OSError, OverflowError) as error:
        raise ConfigError(f"--port {port}: cannot listen ({error})", hint="choose another --port") from error
    with server:
        tell(f"http://127.0.0.1:{server.server_port}/  (Ctrl-C ends it)", quiet=quiet)
        try:
            server.serve_forever()
        except KeyboardInterrupt as interrupt:
            if number_of(interrupt) != SIGINT:
                raise
