"""A page that shows training runs while they train. It reads metrics.jsonl and training.toml."""
