"""The PyTorch engine: beam search, sampling and scoring for every architecture."""
