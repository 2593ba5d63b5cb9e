"""From a model's probabilities to token sequences: search, sampling, and rules about what may be said."""
