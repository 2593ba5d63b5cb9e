"""XML with places, for every format that is written in it."""
