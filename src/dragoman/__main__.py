"""`python -m dragoman` and `torchrun -m dragoman` are the command line."""

from dragoman.cli import main

if __name__ == "__main__":
    main()
