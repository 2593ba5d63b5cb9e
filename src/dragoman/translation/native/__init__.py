"""The native engine: translation in C++ without PyTorch, behind the same `Engine` interface."""
