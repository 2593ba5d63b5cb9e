"""The parts that architectures share: positions, masks, caches, embeddings."""
