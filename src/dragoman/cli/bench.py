"""`dragoman bench`: how fast this machine is, by a measurement that can be repeated."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.base.errors import ConfigError
from dragoman.cli.options import Data, Debug, Json, Quiet, Recipe

bench = typer.Typer(
    help="Measure speed on this machine, beside the peers.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)

_PAIRS = 40_000  # of the embedded corpus
_QUIET = 0.2  # cores that others may keep busy before a measurement


@bench.command("train", short_help="Training speed: dragoman and the peers, in turns.")
def train(
    contenders: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Who takes part. [default: dragoman, and the peers that are installed]"
        ),
    ] = None,
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="The shape: tiny, small, base or big.")
    ] = "small",
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Turns that each takes.")] = 3,
    steps: Annotated[int, typer.Option("--steps", min=1, help="Training steps in a turn.")] = 12,
    warm: Annotated[int, typer.Option("--warm", min=0, help="Steps before the clock runs.")] = 3,
    batch_tokens: Annotated[
        int, typer.Option("--batch-tokens", min=100, help="Most target tokens of a batch, padding counted.")
    ] = 4096,
    threads: Annotated[
        int | None, typer.Option("--threads", min=1, help="Threads for each. [default: the cores]")
    ] = None,
    device: Annotated[
        Literal["cpu", "cuda"], typer.Option("--device", help="A GPU: the peers that are libraries only.")
    ] = "cpu",
    recipe: Recipe = None,
    data: Data = None,
    busy: Annotated[bool, typer.Option("--busy", help="Measure although the machine is busy.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Train the same model on the same text with dragoman and with its peers, in turns, and compare.

    Without --recipe the text is the embedded corpus. Peers are installed by `dragoman bench peers`.

    \b
      dragoman bench train
      dragoman bench train dragoman hf hf-tuned --preset base --rounds 5
      dragoman bench train --recipe recipes/multi30k-en-de.toml --data ~/corpora
      dragoman bench train --device cuda --preset big --batch-tokens 25000
    """
    from dragoman.base import machine
    from dragoman.bench import contenders as known
    from dragoman.bench import report, workload
    from dragoman.bench.training import compare
    from dragoman.runs.recipe import find_data, resolve
    from dragoman.text import toy
    from dragoman.text.corpus import open_corpus

    chosen = known.choose(contenders or None, device)
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise ConfigError("PyTorch finds no GPU here", hint="dragoman doctor says what there is")
    resolve(preset=preset)  # an unknown one is said now
    others = machine.busy_cores(1.0)
    if not busy and others is not None and others > _QUIET:
        raise ConfigError(
            f"the machine is busy: others use {others:.1f} cores",
            hint="wait until it is quiet, or pass --busy and have the figures marked",
        )
    if recipe is None:
        title, pairs = "embedded corpus", toy.pairs(count=_PAIRS)
    else:
        read = resolve(recipe=recipe)
        corpus = open_corpus(find_data(read.data, data, read.data.train))
        title, pairs = read.title, [(pair.source, pair.target) for pair in corpus]
    made = workload.make(pairs, title=title, batch_tokens=batch_tokens, batches=warm + steps)
    conditions = known.Conditions(
        workload=made,
        preset=preset,
        threads=threads or machine.cores(),
        steps=steps,
        warm=warm,
        device=device,
    )
    say = (lambda _: None) if quiet else (lambda line: print(line, file=sys.stderr))
    comparison = compare(chosen, conditions, rounds=rounds, say=say)
    print(json.dumps(comparison.to_table(), indent=2) if as_json else report.to_text(comparison))
    if all(result.failure for result in comparison.results):
        raise typer.Exit(1)


@bench.command("complexity", short_help="The paper's table 1, measured: cost against length.")
def complexity(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Also draw it: a self-contained page (HTML)."),
    ] = None,
    lengths: Annotated[
        str, typer.Option("--lengths", metavar="N,N,...", help="Positions in a sentence.")
    ] = "128,256,512,1024,2048",
    width: Annotated[int, typer.Option("--width", min=1, help="d: width of the layers.")] = 256,
    heads: Annotated[int, typer.Option("--heads", min=1, help="Heads of the attention.")] = 4,
    kernel: Annotated[int, typer.Option("--kernel", min=1, help="k: positions a convolution sees.")] = 3,
    neighbours: Annotated[
        int, typer.Option("--neighbours", min=1, help="r: positions that restricted attention sees.")
    ] = 32,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Sentences at once.")] = 1,
    rounds: Annotated[int, typer.Option("--rounds", min=1, help="Turns that each takes.")] = 5,
    threads: Annotated[int | None, typer.Option("--threads", min=1, help="[default: the cores]")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Measure how the time and memory of each kind of layer grow with the length of a sentence.

    Self-attention, recurrent, convolutional and restricted self-attention; forward, training, and for
    each token of a translation. Exponents are fitted, and stand beside those that the operations have.

    \b
      dragoman bench complexity -o complexity.html
      dragoman bench complexity --width 64 --lengths 512,1024,2048,4096
    """
    import torch

    from dragoman.base.files import write_whole
    from dragoman.bench.complexity import FITTED, Setting, measure, to_html, to_table, to_text

    try:
        chosen = tuple(sorted({int(length) for length in lengths.split(",")}))
    except ValueError:
        chosen = ()
    if len(chosen) < FITTED or chosen[0] < 1:
        raise ConfigError(f"--lengths {lengths}", hint=f"{FITTED} or more whole numbers, as 128,256,512")
    if width % heads:
        raise ConfigError(f"--width {width} is no multiple of --heads {heads}", hint="choose other heads")
    if kernel % 2 == 0:
        raise ConfigError(f"--kernel {kernel}", hint="choose an odd number")
    if threads is not None:
        torch.set_num_threads(threads)
    setting = Setting(
        lengths=chosen, width=width, heads=heads, kernel=kernel, neighbours=neighbours, batch=batch,
        rounds=rounds,
    )  # fmt: skip
    costs = measure(setting, (lambda _: None) if quiet else (lambda line: print(line, file=sys.stderr)))
    print(json.dumps(to_table(setting, costs), indent=2) if as_json else to_text(setting, costs))
    if output is not None:
        write_whole(output, to_html(setting, costs))


@bench.command("peers", short_help="Install the peers, each in an environment of its own.")
def peers(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Which; without, say what there is.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Install other toolkits to measure against, pinned, each in an environment of its own in the cache.

    \b
      dragoman bench peers
      dragoman bench peers huggingface
    """
    from dragoman.bench import contenders as known

    if not names:
        for name, path in known.requirements().items():
            there = "installed" if known.python_of(name).exists() else "not installed"
            print(f"{name:<12} {there:<14} {', '.join(path.read_text(encoding='utf-8').split())}")
    for name in names or []:
        print(f"{name}: installing", file=sys.stderr)
        known.install(name)
