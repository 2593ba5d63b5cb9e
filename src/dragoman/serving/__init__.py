"""A translation server: what many clients ask at once, from one process. Imports no torch.

Start with `service/service.py`. It knows nothing of HTTP.
"""
