"""A pipeline: commands that need each other's results, from raw text to a small model.

graph.py      the steps of a TOML file, and what each needs
running.py    run them, skip what has not changed, resume after a kill
forecast.py   time and memory before they run
"""
