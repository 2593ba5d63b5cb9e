"""Models and their parts. They work on tensors only, not on text or files."""
