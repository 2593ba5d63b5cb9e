"""Decoding: what a search is asked, what it answers, and the PyTorch engine that carries it out."""
