"""Lists of terms: files, and finding terms in a line."""
