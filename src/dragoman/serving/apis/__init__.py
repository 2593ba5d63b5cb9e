"""The routes of a server: those of LibreTranslate, of DeepL, and its own."""
