"""Segments of several texts: messages with branches, and forms between separators."""
