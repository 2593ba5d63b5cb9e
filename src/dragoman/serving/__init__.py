"""A translation server: one process answers many clients at once. Imports no torch.

Start with `service/service.py`. It is independent of HTTP.
"""
