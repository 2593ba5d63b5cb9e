"""One file a contender, each run in a process of its own, most in an environment without dragoman.

Only `ours.py` imports dragoman; the others import nothing of it but their neighbour `timing.py`.
"""
