"""Translation memory and terms: text and files, no tensors."""
