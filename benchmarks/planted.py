"""Plant dirt of each kind in known lines of parallel text, clean it, and see what is found.

    python benchmarks/planted.py --data FOLDER [--lines 20000] [--each 200] [--opusfilter PROGRAMS]
        [--write OUT]

FOLDER has train.en.gz and train.de.gz. PROGRAMS is a folder with the programs of OpusFilter (bin of its
environment); it then filters the same text with the defaults of opusfilter-autogen. With --write nothing is
cleaned: OUT gets the text before and after the planting (dirt.toml trains on both).

Each kind has its own lines. A filter or repair counts as right on the lines of its kind; precision is the
share of such lines among those dropped or repaired for it, with lines that nothing was planted in as wrong.

Prints recall, precision and F1 for each kind, what OpusFilter drops of it, and how many other lines were
changed or dropped.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

Pair = tuple[str, str]

FRENCH = [
    "Le chien dort à l'ombre du vieux mur de la maison.",
    "Nous ne savons pas encore quand ils viendront.",
    "Cette décision du conseil a été prise hier dans la soirée.",
]
RUSSIAN = "Мы пока не знаем, когда они к нам приедут."
EXPECTED = {  # the filters or repairs that may find a kind; none: only a score can
    "wrong language": ("language",),
    "untranslated copy": ("copied",),
    "misaligned": ("score",),
    "truncated side": ("truncated", "length-ratio"),
    "mojibake": ("mojibake",),
    "broken characters": ("encoding",),
    "entities": ("entities",),
    "controls": ("controls",),
    "addresses": ("boilerplate",),
    "numbers changed": ("numbers",),
    "repetition": ("repetition",),
    "empty": ("empty",),
    "over-long": ("long",),
    "wrong script": ("script",),
}


def planted(kind: str, pair: Pair, other: Pair, chance: random.Random) -> Pair | None:
    """The pair with dirt of a kind; None if it has no place for it."""
    source, target = pair
    words = target.split()
    accented = not target.isascii()
    changed: dict[str, Callable[[], Pair | None]] = {
        "wrong language": lambda: (source, chance.choice(FRENCH)),
        "untranslated copy": lambda: (source, source) if len(source.split()) > 5 else None,
        "misaligned": lambda: (source, other[1]),
        "truncated side": lambda: (source, " ".join(words[: len(words) // 4])) if len(words) > 11 else None,
        "mojibake": lambda: (source, target.encode().decode("latin-1")) if accented else None,
        "broken characters": lambda: (
            (source, target.encode("ascii", "replace").decode().replace("?", "\ufffd")) if accented else None
        ),
        "entities": lambda: (source, f"&quot;{target}&quot;") if "<" not in target else None,
        "controls": lambda: (source, f"{target[:5]}\x07{target[5:]}"),
        "addresses": lambda: (f"https://example.org/{len(source)}/news/index.html Home", f"{words[0]} ..."),
        "numbers changed": lambda: (f"{source} (4711)", f"{target} (5822)"),
        "repetition": lambda: (source, " ".join(words[:3] + words[2:3] * 9)) if len(words) > 5 else None,
        "empty": lambda: (source, " "),
        "over-long": lambda: (" ".join([source] * 60), " ".join([target] * 60)) if len(words) > 5 else None,
        "wrong script": lambda: (source, RUSSIAN),
    }
    return changed[kind]()


def read(folder: Path, lines: int) -> list[Pair]:
    """The first pairs of each part of a corpus, from all over it."""
    sides = []
    for language in ("en", "de"):
        with gzip.open(folder / f"train.{language}.gz", "rt", encoding="utf-8") as file:
            sides.append([line.rstrip("\n").replace("\t", " ") for line in file])
    pairs = list(zip(*sides, strict=True))
    return pairs[:: max(1, len(pairs) // lines)][:lines]


def write(path: Path, pairs: list[Pair]) -> None:
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


def dropped_by_opusfilter(programs: Path, pairs: list[Pair], folder: Path) -> set[int]:
    """The numbers of the lines that OpusFilter drops with its default filters."""
    files = [str(folder / f"in.{one}") for one in ("en", "de")]
    for file, side in zip(files, zip(*pairs, strict=True), strict=True):
        Path(file).write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    plan = str(folder / "opusfilter.yaml")
    command = [programs / "opusfilter-autogen", "--files", *files, "--langs", "en", "de"]
    command += ["--scripts", "Latin", "Latin", "--method", "defaults", "--work-dir", folder, "-o", plan]
    subprocess.run(command, check=True)
    subprocess.run([programs / "opusfilter", plan], check=True)
    kept = Counter(zip(*(lines(folder / f"filtered.{one}.gz") for one in ("en", "de")), strict=True))
    dropped = set()
    for number, pair in enumerate(pairs, 1):
        stripped = (pair[0].strip(), pair[1].strip())
        if kept[stripped]:
            kept[stripped] -= 1
        else:
            dropped.add(number)
    return dropped


def lines(path: Path) -> list[str]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.strip() for line in file]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="a folder with train.en.gz and train.de.gz")
    parser.add_argument("--lines", type=int, default=20_000)
    parser.add_argument("--each", type=int, default=200, help="lines of each kind")
    parser.add_argument("--opusfilter", type=Path, help="the folder with OpusFilter's programs")
    parser.add_argument("--write", type=Path, help="a folder for the text")
    parser.add_argument("options", nargs="*", help="more options of dragoman data clean, after --")
    given = parser.parse_args()
    chance = random.Random(1)
    pairs = read(given.data, given.lines)
    original = list(pairs)
    kinds: dict[int, str] = {}
    places = iter(chance.sample(range(1, len(pairs) - 1), len(pairs) - 2))
    for kind in EXPECTED:
        done = 0
        while done < given.each:
            place = next(places)
            dirty = planted(kind, pairs[place], pairs[place - 1], chance)
            if dirty is not None:
                pairs[place], kinds[place + 1] = dirty, kind
                done += 1
    if given.write:
        given.write.mkdir(parents=True, exist_ok=True)
        write(given.write / "original.en-de.tsv", original)
        write(given.write / "dirty.en-de.tsv", pairs)
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "in.en-de.tsv", pairs)
        (folder / "rules.toml").write_text("[filters]\nnumbers = true\nplaceholders = true\n")
        command = [sys.executable, "-m", "dragoman", "data", "clean", str(folder / "in.en-de.tsv")]
        command += ["-o", str(folder / "out.en-de.tsv"), "--report", str(folder / "r.jsonl")]
        subprocess.run([*command, "--rules", str(folder / "rules.toml"), *given.options], check=True)
        theirs = dropped_by_opusfilter(given.opusfilter, pairs, folder) if given.opusfilter else set()
        rows = [json.loads(row) for row in (folder / "r.jsonl").read_text(encoding="utf-8").splitlines()]
    found = {row["line"]: {*row.get("filters", ()), *row.get("repairs", ())} for row in rows}
    print("| kind | planted | found by its own | by any | precision | F1 | OpusFilter |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for kind, own in EXPECTED.items():
        of_kind = [line for line, one in kinds.items() if one == kind]
        hits = sum(bool(found.get(line, set()) & {*own}) for line in of_kind)
        any_ = sum(line in found for line in of_kind) / len(of_kind)
        other = f"{len(theirs & {*of_kind}) / len(of_kind):.3f}" if given.opusfilter else ""
        wrong = sum(bool(names & {*own}) for line, names in found.items() if line not in kinds)
        precision = hits / (hits + wrong) if hits else 0.0
        recall = hits / len(of_kind)
        f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
        print(
            f"| {kind} | {len(of_kind)} | {recall:.3f} | {any_:.3f} | {precision:.3f} | {f1:.3f} | {other} |"
        )
    clean = [line for line in found if line not in kinds]
    print(f"{len(clean)} of {len(pairs) - len(kinds)} lines without planted dirt were changed or dropped")
    if given.opusfilter:
        print(f"OpusFilter dropped {len(theirs - {*kinds})} of them")


if __name__ == "__main__":
    main()
