"""The snippets of the course as one Jupyter notebook."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from dragoman.course.texts import CHAPTERS, chapter, labels
from dragoman.version import __version__


def notebook(language: str = "en") -> str:
    """Return a notebook (nbformat 4.5) with the snippets of all chapters. Raises ConfigError as `chapter`."""
    cells = [_cell("markdown", f"# {labels(language)['title']}\n\n`pip install 'dragoman[train]'`")]
    for one in (chapter(name, language) for name in CHAPTERS):
        cells.append(_cell("markdown", f"## {one.title}"))
        cells += [_cell("code", snippet.code.rstrip("\n")) for snippet in one.snippets]
    about = {"kernelspec": {"name": "python3", "display_name": "Python 3"}, "dragoman": __version__}
    for number, cell in enumerate(cells):  # the same text twice gives two cells
        cell["id"] = sha256(f"{number} {cell['source']}".encode()).hexdigest()[:12]
    table = {"nbformat": 4, "nbformat_minor": 5, "metadata": about, "cells": cells}
    return json.dumps(table, ensure_ascii=False, indent=1) + "\n"


def _cell(kind: str, text: str) -> dict[str, Any]:
    more: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": text, **more}
