"""SubRip and WebVTT."""
