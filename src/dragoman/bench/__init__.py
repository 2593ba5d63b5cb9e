"""Speed, measured: training and translation compared with other toolkits; checks of this machine.

`workload.py` makes the batches, `contenders.py` lists who trains on them, `contest.py` lets them take turns
and shows the result. `turns.py` holds what makes a measurement fair, `timing.py` the clock inside a measured
process. `ours.py` and `ceiling.py` are such processes; those of the other toolkits are in
`benchmarks/peers/` of the source checkout, and `peers.py` finds and installs them.
"""
