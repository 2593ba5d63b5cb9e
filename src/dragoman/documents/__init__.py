"""Files with structure. Their text is translated, and everything else is kept."""
