"""Zip files of parts: Word, PowerPoint, Excel, OpenDocument and EPUB."""
