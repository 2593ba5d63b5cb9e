"""A page in one file that translates: out. It needs neither a network nor another program."""
