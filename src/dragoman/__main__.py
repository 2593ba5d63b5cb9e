"""`python -m dragoman` and `torchrun -m dragoman` are the command line."""

from dragoman.base.ctrl_c_at_start import end_at_once


def main() -> None:
    """Run the `dragoman` program. Importing the command line takes a moment, in which Ctrl-C may come."""
    end_at_once()
    from dragoman.cli import main as run

    run()


if __name__ == "__main__":
    main()
