"""The routes of a server: LibreTranslate's, DeepL's, and its own."""
