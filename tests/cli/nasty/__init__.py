"""The table of nasty inputs: see `row.py` for what a row is. `python -m tests.cli.nasty` counts them."""
