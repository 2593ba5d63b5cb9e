"""Foundations that every package uses: errors, options, files, the machine, tables and charts."""
