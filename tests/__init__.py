"""A package, so that no other `tests` on the path takes its place in a program that a test starts."""
