"""One model of six directions against six models: English to German, French and Czech, and back.

    python benchmarks/languages.py plan FOLDER [--seeds 3] [--updates 600]
    dragoman pipeline FOLDER/table.toml --data DATA -o FOLDER/work
    python benchmarks/languages.py table FOLDER

DATA/multi30k has train.en.gz, train.de.gz, train.fr.gz and train.cs.gz, and valid and test files of each. For
each seed the pipeline trains six models of one direction, each with `updates` of 4,000 target tokens, on one
core; one model of all six directions and the same shape, with six times as many updates (time); and one as
large as the six together, with so many that the training takes as long (size). The table shows BLEU and chrF
on the test text, mean and deviation over the seeds, and for pairs without training (German and French) the
share of lines in a wrong language.

Prints the number of updates of the trainings, then the scores.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator
from pathlib import Path

OTHERS = ("de", "fr", "cs")
PAIRS = [*(("en", one) for one in OTHERS), *((one, "en") for one in OTHERS)]
UNSEEN = [("de", "fr"), ("fr", "de")]
LARGER = 0.22  # updates of the large model in the time of one of the small one (AMD EPYC with AVX-512)
SHAPE = """
[model]
d_model = {width}
d_ff = {inner}
heads = 4
encoder_layers = 4
decoder_layers = 4
dropout = 0.15
norm = "pre"
output_bias = true

[training]
batch_tokens = 4000
schedule = "cosine"
optimizer = "muon"
learning_rate = 0.006
warmup = 300
clip = 1.0
validate_every = 1000
average = 5
calibrate = 0

[generation]
size = 5
length_penalty = 1.0
"""
CORPUS = """
[[data.corpora]]
name = "{other}"
train = ["train.en.gz", "train.{other}.gz"]
valid = ["valid.en", "valid.{other}"]
test = ["test.en", "test.{other}"]
both = true
"""


def recipe_of_many(*, width: int, inner: int, pieces: int) -> str:
    corpora = "".join(CORPUS.format(other=other) for other in OTHERS)
    head = f'[data]\nfolder = "multi30k"\n{corpora}\n[tokenizer]\nvocab_size = {pieces}\nplaceholders = 0\n'
    return head + SHAPE.format(width=width, inner=inner)


def recipe_of_one() -> str:
    return "[tokenizer]\nvocab_size = 8000\nplaceholders = 0\n" + SHAPE.format(width=128, inner=256)


def steps(seeds: int, updates: int) -> Iterator[str]:
    text = "{data}/multi30k"
    for seed in range(1, seeds + 1):
        for source, target in PAIRS:
            name = f"one-{source}-{target}-{seed}"
            yield step(
                name,
                f"train {text}/train.{source}.gz {text}/train.{target}.gz --valid {text}/valid.{source} "
                f"{text}/valid.{target} --recipe {{here}}/one.toml -o {{out}} seed={seed} "
                f"training.max_updates={updates}",
            )
            yield scored(name, [(source, target)])
        for kind, share in (("time", 1.0), ("size", LARGER)):
            name = f"{kind}-{seed}"
            yield step(
                name,
                f"train --recipe {{here}}/{kind}.toml --data {{data}} -o {{out}} seed={seed} "
                f"training.max_updates={round(len(PAIRS) * updates * share)}",
            )
            yield scored(name, [*PAIRS, *UNSEEN])


def step(name: str, run: str) -> str:
    return f'[[steps]]\nname = "{name}"\nrun = """{run}"""\n'


def scored(model: str, pairs: list[tuple[str, str]]) -> str:
    """Translate and score the test text of each pair."""
    lines = [
        f"dragoman evaluate {{{model}}} {{data}}/multi30k/test.{source} {{data}}/multi30k/test.{target} "
        f"-o {{out}}/{source}-{target}.{target} --json > {{out}}/{source}-{target}.json"
        for source, target in pairs
    ]
    return f'[[steps]]\nname = "scores-{model}"\nshell = """\n' + "\n".join(lines) + '\n"""\n'


def plan(folder: Path, seeds: int, updates: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    # 2.4 million parameters, as many for all directions, and six times as many.
    files = {
        "one.toml": recipe_of_one(),
        "time.toml": recipe_of_many(width=128, inner=256, pieces=16000),
        "size.toml": recipe_of_many(width=320, inner=832, pieces=16000),
        "table.toml": 'title = "One model against six"\n\n' + "\n".join(steps(seeds, updates)),
    }
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    print(
        f"{folder / 'table.toml'}: {seeds * len(PAIRS) * updates:,} updates of each of three kinds of models"
    )


def table(folder: Path) -> None:
    from dragoman.cli.evaluate.directions import other_language

    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for path in sorted((folder / "work").glob("scores-*/*.json")):
        kind = path.parent.name.removeprefix("scores-").partition("-")[0]
        scores = json.loads(path.read_text(encoding="utf-8"))["cased"]
        target = path.stem.partition("-")[2]
        lines = path.with_suffix(f".{target}").read_text(encoding="utf-8").splitlines()
        wrong = other_language(lines, target) / max(len(lines), 1)
        found.setdefault((kind, path.stem), []).append(
            (scores["bleu"]["value"], scores["chrf"]["value"], wrong)
        )
    for (kind, pair), rows in sorted(found.items(), key=lambda item: (item[0][1], item[0][0])):
        bleu, chrf, wrong = zip(*rows, strict=True)
        print(f"{pair}  {kind:4}  {len(rows)} seeds  BLEU {spread(bleu)}  chrF {spread(chrf)}  "
              f"wrong language {statistics.fmean(wrong):.1%}")  # fmt: skip


def spread(values: tuple[float, ...]) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.2f} ± {deviation:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["plan", "table"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--updates", type=int, default=600, help="of the training of a model of one direction"
    )
    given = parser.parse_args()
    if given.what == "plan":
        plan(given.folder, given.seeds, given.updates)
    else:
        table(given.folder)


if __name__ == "__main__":
    main()
