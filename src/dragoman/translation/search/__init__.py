"""Decoding: options, rules, requests and hypotheses, and the PyTorch engine."""
