"""Bulk translation: files of lines, JSON Lines and Parquet, cut into parts, by one process or by many on Ray.

A part is translated whole or not at all, so a command that was killed goes on with the parts that are
missing. Start with `run.py`: a file is cut in `plan.py`, translated in `worker.py`, and put together in
`join.py`.
"""
