"""A course on the Transformer in five chapters, as a page with a live model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


def model_folder() -> Path:
    """Return the folder of the course's model, which translates the sentences of the embedded grammar."""
    return _FOLDER / "model"


def recorded() -> dict[str, Any]:
    """Return the runs that the page shows and does not compute, as recipes/course/record.py writes them."""
    found: dict[str, Any] = json.loads((_FOLDER / "recorded.json").read_text(encoding="utf-8"))
    return found
