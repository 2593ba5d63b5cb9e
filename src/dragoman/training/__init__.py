"""From pairs of token sequences to a trained model."""
