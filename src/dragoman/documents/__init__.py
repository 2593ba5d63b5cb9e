"""Files with structure: translated, with everything that is not language kept."""
