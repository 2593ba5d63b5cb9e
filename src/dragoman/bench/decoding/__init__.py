"""`dragoman bench translate`: one model translates the same sentences in dragoman and in other programs.

prepare.py     from the options of the command to the material
material.py    the sentences, and the model in the format of each program
contenders.py  who takes part, and which settings each may choose among
contest.py     rounds of turns; every turn is a separate process
report.py      the outcome as text
job.py         what one process measures; it needs the standard library only
measured.py    the clock inside a process
run_*.py       the processes: one for each program
one_*.py       a program's shortest script for one sentence, to measure its start
start.py       a process that runs a command, and measures its time and memory
"""
