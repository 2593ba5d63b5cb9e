"""fxtranslate as a peer: the engine of Firefox's models, run to compare its translations with ours.

It runs in a process of its own, because it panics on files that it does not support. It has no scores.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

from dragoman.base.errors import DragomanError
from dragoman.interop.firefox.reading import save
from dragoman.interop.marian import files
from dragoman.interop.marian.reading import read
from dragoman.interop.verify import Agreement
from dragoman.models.folder.bundle import Bundle

_ALIKE = 0.8  # the share of equal lines below which something else than rounding must be wrong
_CODE = """
import json, sys, fxtranslate
job = json.load(sys.stdin)
bytes_of = lambda path: path and open(path, "rb").read()
files = [job["model"], *job["vocabularies"], job["shortlist"]]
loaded = fxtranslate.Translator(*map(bytes_of, files))
found = [loaded.translate(line) for line in job["lines"]]
json.dump({"backend": loaded.backend(), "lines": found}, sys.stdout)
"""


class Fxtranslate:
    """fxtranslate with the model of a folder."""

    def __init__(self, folder: Path) -> None:
        self.name = f"fxtranslate {version('fxtranslate')}"
        self._files = files.find(folder)

    def translate(self, lines: Sequence[str], *, shortlist: bool = True) -> tuple[list[str], str]:
        """Return the translations, and which instructions it used. Raises DragomanError if it fails."""
        found = self._files
        job = {
            "model": str(found.model),
            "vocabularies": [str(path) for path in found.vocabularies],
            "shortlist": str(found.shortlist) if shortlist and found.shortlist else None,
            "lines": list(lines),
        }
        run = subprocess.run(
            [sys.executable, "-c", _CODE], input=json.dumps(job).encode(), capture_output=True
        )
        if run.returncode:
            said = run.stderr.decode(errors="replace").splitlines()
            why = next((b for a, b in pairwise(said) if "panicked" in a), f"exit {run.returncode}")
            raise DragomanError(
                f"{self.name} fails on {found.model}: {why}",
                hint="it runs only SSRU models with post-norm and multipliers; --no-verify skips it",
            )
        answer = json.loads(run.stdout)
        return answer["lines"], answer["backend"]


def verify(bundle: Bundle, folder: Path, lines: Sequence[str]) -> Agreement:
    """Compare greedy translations by our engine, in 8 bit, of the files in `folder` with fxtranslate's.

    Both round their sums differently, so a few lines may differ. Raises DragomanError if more do.
    """
    from dragoman.translation.translator import Translator

    lines = [" ".join(line.split()) for line in lines]
    program = Fxtranslate(folder)
    with tempfile.TemporaryDirectory(prefix="dragoman-firefox-") as temporary:
        save(read(folder), folder, Path(temporary))
        translator = Translator.load(temporary, engine="native")
        found = translator.translate(lines, beam=1, split=False, shortlist=translator.shortlist is not None)
    theirs, backend = program.translate(lines)
    ours = [one.text.strip() for one in found]
    # The programs cut translations that do not end at different lengths.
    ended = [n for n, one in enumerate(found) if not one.truncated]
    differ = [n for n in ended if ours[n] != theirs[n].strip()]
    if len(differ) > (1 - _ALIKE) * len(ended):
        n = differ[0]
        raise DragomanError(
            f"{program.name} ({backend}) disagrees on {len(differ)} of {len(ended)} translations. Of "
            f"{lines[n]!r} dragoman has {ours[n]!r}, it has {theirs[n]!r}",
            hint="with avx2 its sums overflow, most in models that were trained briefly: see "
            "docs/how-to/firefox.md. --no-verify skips the comparison",
        )
    equal = len(ended) - len(differ)
    return Agreement(program=f"{program.name} ({backend})", lines=len(ended), equal=equal)
