"""Bulk translation: files of lines, JSON Lines and Parquet, cut into parts, by one process or by many on Ray.

A part is translated whole or not at all, so a command that was killed resumes with the missing parts. Start
with `run.py`: a file is cut in `plan.py`, translated in `worker.py` (on Ray: `ray.py`), and joined in
`join.py`.
"""
