"""Bulk translation: files of lines, JSON Lines and Parquet, cut into parts, by one process or by many on Ray.

A part is translated whole or not at all, so a command that was killed resumes with the missing parts. Start
with `run.py`: it cuts files, has the parts translated in `worker.py` (on Ray: `ray.py`), and puts them
together.
"""
