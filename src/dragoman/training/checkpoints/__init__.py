"""Checkpoints: where they are, how they are written and read, which of them are kept and averaged."""
