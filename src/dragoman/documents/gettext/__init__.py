"""Gettext: PO and POT files."""
