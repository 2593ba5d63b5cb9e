"""From the options of the command to what a contest needs: model, text and exports in a temporary folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dragoman.base.errors import ConfigError
from dragoman.bench.decoding import material
from dragoman.bench.decoding.contenders import DecodingConditions, TranslationContender
from dragoman.text.lines import read_lines

DEFAULT = "small"


@contextmanager
def prepared(
    contenders: Sequence[TranslationContender],
    *,
    model: str | None,
    preset: str | None,
    text: Path | None,
    lines: int,
    threads: int,
) -> Iterator[DecodingConditions]:
    """Yield the conditions; the folder is removed afterwards. Raises ConfigError for options that exclude."""
    if model is not None and preset is not None:
        raise ConfigError("--model together with --preset", hint="a preset has random weights: leave out one")
    own = (
        list(read_lines(text)) if text is not None else material.embedded_lines(min(lines, material.EMBEDDED))
    )
    chosen = material.varied(own, lines)
    if model is not None:
        from dragoman.translator import Translator

        title, bundle = str(model), Translator.load(model, device="cpu", engine="pytorch").bundle
    else:
        title = preset or DEFAULT
        bundle = material.random_bundle(title, own)
    formats = {one.model for one in contenders if one.missing is None}
    with tempfile.TemporaryDirectory(prefix="dragoman-bench-") as folder:
        made = material.make_material(
            Path(folder), bundle, chosen, formats, title=title, forced=model is None
        )
        del bundle
        yield DecodingConditions(material=made, threads=threads)
