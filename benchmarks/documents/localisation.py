"""Translate real message catalogues, and check their placeholders.

    python benchmarks/documents/localisation.py --model runs/en-de /usr/share/locale/de/LC_MESSAGES/*.mo

Needs polib, which reads the files here, and msgunfmt and msgfmt of gettext. Prints how many messages have
placeholders, by which method they were kept, how many are broken without a mark (found by an independent
search), the result of `msgfmt -c`, and chrF against the translations of the catalogues, as plain lines and as
documents.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from pathlib import Path

import polib
import sacrebleu

from dragoman import Translator
from dragoman.documents.files import Outcome, translate_file

# What a program would take for a placeholder, a tag or an address. C reads directives also before letters.
DIRECTIVE = r"%(?:\d+\$)?[-+#0']*[\d*]*(?:\.[\d*]+)?(?:(?:hh|h|ll|l|j|z|t|L|q)?[diouxXeEfgGcsp]|<PRI\w+>)"
OTHERS = r"%%|%\([a-z_]+\)[sd]|\$\([A-Z0-9]+\)|\$\{\w+\}|\{\w*\}|%[A-Z]{3,}"
MARKUP = r"|</?[a-z]+[^<>:|@]*>|https?://[^\s<>\"')]+[^\s<>\"').,;:]"
FORMS = re.compile(rf"{DIRECTIVE}(?![a-zA-Z])|{OTHERS}{MARKUP}")
C_FORMS = re.compile(f"{DIRECTIVE}|{OTHERS}{MARKUP}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("catalogues", nargs="+", type=Path)
    options = parser.parse_args()
    translator = Translator.load(options.model)
    total: Counter[str] = Counter()
    sources, plain, protected, references = list[str](), list[str](), list[str](), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        for number, catalogue in enumerate(options.catalogues):
            source, output = Path(folder, f"{number}.po"), Path(folder, f"{number}.new.po")
            write_source(catalogue, source)
            began = time.perf_counter()
            outcome = translate_file(translator, source, output)
            total["seconds"] += round(time.perf_counter() - began)
            count(total, outcome, output)
            before, after = polib.pofile(str(source)), polib.pofile(str(output))
            pairs = [
                (a, b)
                for a, b in zip(before, after, strict=True)
                if not a.msgid_plural and FORMS.search(a.msgid)
            ]
            lines = [" ".join(a.msgid.split()) for a, _ in pairs]
            sources += lines
            plain += [one.text for one in translator.translate(lines, beam=options.beam)]
            protected += [b.msgstr for _, b in pairs]
            references += [a.msgstr for a, _ in pairs]
    for name, value in total.items():
        print(f"{name:45} {value:>9,}")
    for name, lines in (("lines", plain), ("as documents", protected)):
        score = sacrebleu.corpus_chrf(lines, [references]).score
        print(f"chrF of messages with placeholders, {name:12} {score:6.2f}")
    broken = sum(forms(a) != forms(b) for a, b in zip(sources, plain, strict=True))
    print(f"broken in plain lines: {broken:,} of {len(plain):,}")


def write_source(catalogue: Path, path: Path) -> None:
    """Write the catalogue as PO. What `msgfmt` takes for a format string of C is marked as one."""
    if catalogue.suffix == ".mo":
        subprocess.run(["msgunfmt", catalogue, "-o", path], check=True)
    else:
        path.write_bytes(catalogue.read_bytes())
    file = polib.pofile(str(path))
    for entry in file:
        if re.search(r"%[-\d.*]*[a-z]", entry.msgid):
            entry.flags.append("c-format")
    file.save(str(path))
    said = subprocess.run(
        ["msgfmt", "-c", "-o", "/dev/null", path], capture_output=True, text=True, check=False
    )
    starts = [entry.linenum for entry in polib.pofile(str(path))]
    for line in map(int, re.findall(r"\.po:(\d+):", said.stderr)):  # the original does not pass either
        entry = file[bisect_right(starts, line) - 1]
        entry.flags = [flag for flag in entry.flags if flag != "c-format"]
    file.save(str(path))


def count(total: Counter[str], outcome: Outcome, output: Path) -> None:
    total["messages"] += outcome.counts.segments
    total["with doubts"] += outcome.counts.doubtful
    for way, number in outcome.counts.ways.items():
        total[f"sentences: {way}"] += number
    for doubt in outcome.doubts:
        for reason in {reason.partition(":")[0] for reason in doubt.reasons}:
            total[f"doubt: {reason}"] += 1
    for entry in polib.pofile(str(output)):
        pairs = [(entry.msgid, entry.msgstr)] if not entry.msgid_plural else [
            (entry.msgid_plural if form else entry.msgid, text) for form, text in entry.msgstr_plural.items()
        ]  # fmt: skip
        known = C_FORMS if "c-format" in entry.flags else FORMS
        total["messages with placeholders"] += any(known.search(source) for source, _ in pairs)
        wrong = any(forms(source, known) != forms(text, known) for source, text in pairs)
        total["broken and marked"] += wrong and entry.fuzzy
        total["broken and not marked"] += wrong and not entry.fuzzy
    said = subprocess.run(
        ["msgfmt", "-c", "-o", "/dev/null", output], capture_output=True, text=True, check=False
    )
    total["errors of msgfmt -c"] += len(re.findall(r"\.po:\d+: (?!warning)", said.stderr))


def forms(text: str, known: re.Pattern[str] = FORMS) -> Counter[str]:
    return Counter(known.findall(text))


if __name__ == "__main__":
    main()
