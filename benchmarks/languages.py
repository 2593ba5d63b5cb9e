"""Models of several languages: one against six, a language added later, and pairs without training.

    python benchmarks/languages.py plan FOLDER [--seeds 3] [--updates 400]
    dragoman pipeline FOLDER/table.toml --data DATA -o FOLDER/work
    dragoman pipeline FOLDER/added.toml --data DATA -o FOLDER/work-added
    python benchmarks/languages.py table FOLDER

DATA/multi30k has train.en.gz, train.de.gz, train.fr.gz and train.cs.gz, and valid and test files of each. The
pipelines use one core.

For each seed, table.toml trains six models of one direction (one), each with `updates` of 2,000 target
tokens; a model of all six directions (all) with the same layers, with so many updates that the training takes
as long as that of the six together; and six smaller models (small) with the parameters of `all` together.

added.toml trains a model of English with German and French (base) in 3,600 updates. It then adds Czech from
20,000 and from 2,000 pairs, to all weights (full) and by an adapter (light), in 800 updates each, but 2,400
for all weights and 20,000 pairs. Three quarters of the text are old pairs. For German and French it
translates by way of English (english), and it tunes the base on text that it translated itself (pivot).

The table shows BLEU and chrF on the test text, mean and deviation over the seeds, and the share of lines in a
wrong language.

Prints the number of updates of the trainings, then the scores.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterable, Iterator
from pathlib import Path

OTHERS = ("de", "fr", "cs")
PAIRS = [*(("en", one) for one in OTHERS), *((one, "en") for one in OTHERS)]
UNSEEN = [("de", "fr"), ("fr", "de")]
# Updates of the model of all directions in the time of one of a model of one: 1,740 tokens a second against
# 2,340, medians of 8 measurements of 5 updates (one core, AMD EPYC with AVX2).
SHARE = 0.74
BASE = 3600  # updates of the model that learns Czech
ADDED = (20000, 2000)
# Not by the minutes of tuning, which would make results depend on the machine.
UPDATES = "training.max_minutes=1000 training.patience=0 training.validate_every=400 training.max_updates="
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
batch_tokens = 2000
schedule = "cosine"
optimizer = "muon"
learning_rate = 0.006
warmup = {warmup}
clip = 1.0
validate_every = {validate_every}
average = {average}
calibrate = 0

[generation]
size = 5
length_penalty = 1.0
"""
CORPUS = """
[[data.corpora]]
name = "{other}"
train = ["{train}.en{ending}", "{train}.{other}{ending}"]
weight = {weight}
valid = ["valid.en", "valid.{other}"]
test = ["test.en", "test.{other}"]
both = true
"""

TEXT = """
cp {{data}}/multi30k/* {{out}}/
for f in {{out}}/valid.??; do head -n 250 $f > {{out}}/short && mv {{out}}/short $f; done
for l in en de fr cs; do gzip -dc {{data}}/multi30k/train.$l.gz | head -n {count} > {{out}}/new.$l; done
"""
# German and French have the same English, so each can be translated from it.
TRANSLATED = """
dragoman translate {base} {{out}}/new.en --from en --to fr -o {{out}}/de-fr.fr
dragoman translate {base} {{out}}/new.en --from en --to de -o {{out}}/fr-de.de
mv {{out}}/new.de {{out}}/de-fr.de
mv {{out}}/new.fr {{out}}/fr-de.fr
"""
ENGLISH = """
for pair in de-fr fr-de; do
    source=${{pair%-*}}
    target=${{pair#*-}}
    dragoman translate {base} {{data}}/multi30k/test.$source --from $source --to en -o {{out}}/$source.en
    dragoman evaluate {base} {{out}}/$source.en {{data}}/multi30k/test.$target -o {{out}}/$pair.$target \\
        --json > {{out}}/$pair.json
done
"""
PIVOT = """
[[data.corpora]]
name = "{source}-{target}"
train = ["{source}-{target}.{source}", "{source}-{target}.{target}"]
valid = ["valid.{source}", "valid.{target}"]
"""


def corpora(others: Iterable[str], train: str = "train", weight: float = 1.0) -> str:
    how = {"train": train, "ending": ".gz" if train == "train" else "", "weight": weight}
    return "".join(CORPUS.format(other=other, **how) for other in others)


def recipe(*, pieces: int, others: Iterable[str] = (), **shape: int) -> str:
    """A recipe of the pairs of English with `others`, both ways; without, the command names the text."""
    head = f'[data]\nfolder = "multi30k"\n{corpora(others)}\n' if others else ""
    values = {"width": 128, "inner": 256, "warmup": 300, "average": 1, "validate_every": 1200} | shape
    return f"{head}[tokenizer]\nvocab_size = {pieces}\nplaceholders = 0\n" + SHAPE.format(**values)


def steps(seeds: int, updates: int) -> Iterator[str]:
    text = "{data}/multi30k"
    for seed in range(1, seeds + 1):
        for kind in ("one", "small"):
            for source, target in PAIRS:
                name = f"{kind}-{source}-{target}-{seed}"
                yield step(
                    name,
                    f"train {text}/train.{source}.gz {text}/train.{target}.gz --valid {text}/valid.{source} "
                    f"{text}/valid.{target} --recipe {{here}}/{kind}.toml -o {{out}} seed={seed} "
                    f"training.max_updates={updates}",
                )
                yield scored(name, [(source, target)])
        yield trained("all", seed, round(len(PAIRS) * updates * SHARE))
        yield scored(f"all-{seed}", [*PAIRS, *UNSEEN])


def steps_of_added(seeds: int) -> Iterator[str]:
    old = [pair for pair in PAIRS if "cs" not in pair]
    for seed in range(1, seeds + 1):
        base = f"base-{seed}"
        yield trained("base", seed, BASE)
        yield scored(base, [*old, *UNSEEN])
        yield step(f"scores-english-{seed}", ENGLISH.format(base=f"{{{base}}}"), "shell")
        for count in ADDED:
            text, extended = f"text{count}-{seed}", f"extended{count}-{seed}"
            yield step(text, TEXT.format(count=count), "shell")
            yield step(extended, f"model extend {{{base}}} {{{text}}}/new.cs --language cs -o {{out}}")
            for kind, rank in (("full", 0), ("light", 16)):
                name = f"{kind}{count}-{seed}"
                yield step(
                    name,
                    f"train --from {{{extended}}} --recipe {{here}}/czech{count}.toml --data {{{text}}} "
                    f"-o {{out}} seed={seed} tuning.lora_rank={rank} "
                    f"{UPDATES}{2400 if (kind, count) == ('full', 20000) else 800}",
                )
                yield scored(name, PAIRS)
        yield step(f"translated-{seed}", (TEXT + TRANSLATED).format(count=10000, base=f"{{{base}}}"), "shell")
        yield step(
            f"pivot-{seed}",
            f"train --from {{{base}}} --recipe {{here}}/pivot.toml --data {{translated-{seed}}} -o {{out}} "
            f"seed={seed} {UPDATES}800",
        )
        yield scored(f"pivot-{seed}", [*old, *UNSEEN])


def step(name: str, run: str, kind: str = "run") -> str:
    return f'[[steps]]\nname = "{name}"\n{kind} = """{run}"""\n'


def trained(recipe: str, seed: int, updates: int) -> str:
    """Train a recipe of the plan."""
    return step(
        f"{recipe}-{seed}",
        f"train --recipe {{here}}/{recipe}.toml --data {{data}} -o {{out}} seed={seed} "
        f"training.max_updates={updates}",
    )


def scored(model: str, pairs: list[tuple[str, str]]) -> str:
    """Translate and score the test text of each pair."""
    lines = [
        f"dragoman evaluate {{{model}}} {{data}}/multi30k/test.{source} {{data}}/multi30k/test.{target} "
        f"-o {{out}}/{source}-{target}.{target} --json > {{out}}/{source}-{target}.json"
        for source, target in pairs
    ]
    return step(f"scores-{model}", "\n" + "\n".join(lines) + "\n", "shell")


def plan(folder: Path, seeds: int, updates: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    warmup = min(300, updates // 4)
    # 2.0 million parameters, a sixth of 2.6 million, and 2.6 million.
    short = {"warmup": warmup, "validate_every": 10_000}  # the last weights are those to score
    files = {
        "one.toml": recipe(pieces=5000, **short),
        "small.toml": recipe(pieces=1700, width=64, inner=128, **short),
        "all.toml": recipe(pieces=10000, others=OTHERS, **short),
        "base.toml": recipe(pieces=10000, others=("de", "fr"), average=3),
        "pivot.toml": "".join(PIVOT.format(source=source, target=target) for source, target in UNSEEN)
        + corpora(["de", "fr"], weight=10000 / 58000),
        "added.toml": 'title = "A language added"\n\n' + "\n".join(steps_of_added(seeds)),
        "table.toml": 'title = "One model against six"\n\n' + "\n".join(steps(seeds, updates)),
    }
    for count in ADDED:  # an epoch has three times as many old pairs as new ones
        files[f"czech{count}.toml"] = corpora(["cs"], "new") + corpora(["de", "fr"], weight=3 * count / 58000)
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    print(f"{folder}/table.toml: {seeds * len(PAIRS) * updates:,} updates of each kind of model")


def table(folder: Path) -> None:
    from dragoman.cli.evaluate.directions import other_language

    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for path in sorted(folder.glob("work*/scores-*/*.json")):
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
        print(f"{pair}  {kind:10}  {len(rows)} seeds  BLEU {spread(bleu)}  chrF {spread(chrf)}  "
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
        "--updates", type=int, default=400, help="of the training of a model of one direction"
    )
    given = parser.parse_args()
    if given.what == "plan":
        plan(given.folder, given.seeds, given.updates)
    else:
        table(given.folder)


if __name__ == "__main__":
    main()
