"""What stands around a segment, for models that read context."""
