"""The version, in a file that imports nothing."""

__version__ = "0.1.0"
# What pip installs where dragoman is not installed yet: the folder of a clone, since no index has a release.
# The release changes it to "dragoman"; tests/test_package.py then names the lines of the docs to change.
INSTALL = "."
