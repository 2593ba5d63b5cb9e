"""`python -m dragoman` and `torchrun -m dragoman` are the command line."""

import gc

from dragoman.base.ctrl_c_at_start import end_at_once


def main() -> None:
    """Run the `dragoman` program. Importing the command line takes a moment, in which Ctrl-C may come."""
    end_at_once()
    # Modules make many objects that stay: to look for garbage among them takes a tenth of the time to start.
    gc.set_threshold(10_000)
    from dragoman.cli import main as run

    run()


if __name__ == "__main__":
    main()
