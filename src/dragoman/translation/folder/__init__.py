"""The model folder: weights, tokenizer and configuration on disk."""
