"""What all tests share."""

from hypothesis import settings

# The same examples each time, and no clock: a shared machine may be slow, and a test says the same twice.
settings.register_profile("house", derandomize=True, deadline=None, database=None)
settings.load_profile("house")
