"""Speed, measured: translation compared with other programs; checks of this machine.

`turns.py` holds what makes a measurement fair. `ceiling.py` is a measured process.
"""
