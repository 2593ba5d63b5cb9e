"""`dragoman bench translate`: one model translates the same sentences in dragoman and in other programs.

material.py    the sentences, and the model in the format of each program
contenders.py  the programs, the settings each may choose among, and the common conditions
contest.py     rounds of turns; every turn is a separate process
report.py      the outcome as text
measured.py    the work of one process, and its clock; it needs the standard library only
programs.py    the programs inside these processes
script.py      the shortest scripts for one sentence, to measure the start of a program
start.py       a process that runs a command, and measures its time and memory
"""
