"""Calibrate the risk of a model's translations on held-out text, and measure it."""
