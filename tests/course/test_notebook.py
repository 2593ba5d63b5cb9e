"""The snippets as a notebook."""

from __future__ import annotations

import json
from typing import Any

import nbformat
import pytest

from dragoman.course.notebook import notebook
from dragoman.course.texts import CHAPTERS, chapter, course_languages


@pytest.mark.parametrize("language", course_languages())
def test_the_notebook_has_every_snippet_in_order(language: str) -> None:
    table: dict[str, Any] = json.loads(notebook(language))
    nbformat.validate(table)
    codes = [cell["source"] for cell in table["cells"] if cell["cell_type"] == "code"]
    snippets = [one.code.rstrip("\n") for name in CHAPTERS for one in chapter(name, language).snippets]
    assert codes == snippets != []
    titles = [cell["source"] for cell in table["cells"] if cell["source"].startswith("## ")]
    assert titles == [f"## {chapter(name, language).title}" for name in CHAPTERS]


@pytest.mark.slow
def test_jupyter_runs_it() -> None:
    from nbclient import NotebookClient

    ran = NotebookClient(nbformat.reads(notebook(), as_version=4), timeout=600).execute()
    codes = [cell for cell in ran.cells if cell.cell_type == "code"]
    assert all(cell.outputs for cell in codes)
