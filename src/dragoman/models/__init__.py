"""Tensors only: these modules know no text, no files and no batches."""
