"""Speed beside the peers: the same text, vocabulary, shape, batches and threads, in turns, in one run.

`workload.py` makes the batches, `contenders.py` says who takes part, each file of `peers/` trains one of
them in a process of its own, `training.py` runs them in turns and adds up, `report.py` shows it.
"""
