"""A page translates as Python does: what it shows in a browser beside `Translator`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.translation.bundles import PAIRS, learnt_bundle

from dragoman.base.errors import ConfigError
from dragoman.models.folder.bundle import save
from dragoman.text.toy.corpus import pairs
from dragoman.translation.native.web.wasm import engine_wasm

pytest.importorskip("playwright.sync_api")


def test_a_page_shows_the_translations_of_python(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import pages

    try:
        engine_wasm()
    except ConfigError as error:
        pytest.skip(f"{error} (pip install ziglang)")
    save(learnt_bundle(updates=25), tmp_path / "model")  # not quite sure of anything
    lines = [source for source, _ in [*PAIRS, *pairs(seed=4, count=20)]]
    lines += ["A cat sleeps. The dog sees a bird.", "", "Who sees Mr. Smith? We do!"]
    monkeypatch.setattr(pages, "PORTION", 500)  # so that it pastes more than once
    monkeypatch.setattr(pages, "ENGINES", {"int8": ("portable",), "float32": ("portable",)})
    pages.compare(browser, tmp_path / "model", lines)
    equal = re.findall(
        r"^\| (int8|float32) \| native portable \| (\d+) \|", capsys.readouterr().out, re.MULTILINE
    )
    assert equal == [("int8", str(len(lines))), ("float32", str(len(lines)))]
