"""Chapter 5: its live numbers, computed again in Python."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from dragoman import Translator
from dragoman.course import MODEL
from tests.course.reading import assert_equal, chapter, each_input, live, opened


def numbers(translator: Translator, sentence: str) -> dict[str, float | str]:
    """By the native engine, in float32."""
    n, d, width = 20, 512, 3
    costs = {
        "attention": (n**2 * d, 1, 1),
        "recurrent": (n * d**2, n, n),
        "convolutional": (width * n * d**2, 1, math.log(n, width)),
    }
    found: dict[str, float | str] = {
        f"since.complexity.{name}.{key}": value
        for name, values in costs.items()
        for key, value in zip(("operations", "steps", "path"), values, strict=True)
    }
    for k in range(1, 5):
        text = sentence if k == 1 else " and ".join([re.sub("[.?!]$", "", sentence)] * k) + "."
        one = translator.translate([text], beam=1, max_extra_tokens=20)[0]
        found[f"since.longer.{k}.tokens"] = len(translator.tokenizer.encode_source([text])[0]) + 1
        found[f"since.longer.{k}.text"] = one.text
        found[f"since.longer.{k}.logp"] = sum(one.token_logp) / len(one.token_logp)
    return found


@each_input
def test_every_live_number_is_pythons(
    browser: Any, tmp_path_factory: pytest.TempPathFactory, sentences: tuple[str, ...]
) -> None:
    translator = Translator.load(MODEL, dtype="float32")
    with opened(browser, tmp_path_factory.mktemp("since")) as page:
        for sentence in sentences:
            chapter(page, "since", sentence)
            assert_equal(live(page, "since"), numbers(translator, sentence), "since.")
            page.click("#since .widget[data-widget='since.measured'] button")
            page.locator("#since [data-widget='since.measured'] button:enabled").wait_for()
            assert page.locator("#since [data-widget='since.measured'] polyline").count() == 3
