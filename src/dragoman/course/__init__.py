"""A course on the Transformer in five chapters, as a page with a live model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MODEL = Path(__file__).with_name("model")  # English to German; recipes/course/make_model.py trains it
RECORDED = Path(__file__).with_name("recorded.json")


def recorded_runs() -> dict[str, Any]:
    """Return the recorded runs by entry. The top of recipes/course/record.py describes them."""
    runs: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return runs
