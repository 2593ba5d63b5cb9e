"""The model folder with PyTorch: weights in and out, averages, merges, int8, checks."""
