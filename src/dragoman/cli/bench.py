"""`dragoman bench`: measure speed and cost on this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Literal

import typer

from dragoman.base.errors import ConfigError
from dragoman.cli.forecasts import cost, goodput
from dragoman.cli.options import Commands, Data, Json, Quiet, Recipe

bench = Commands(help="Measure speed and cost on this machine.", no_args_is_help=True)

Peers = Annotated[
    Path | None,
    typer.Option(
        "--peers",
        metavar="FOLDER",
        envvar="DRAGOMAN_PEERS",
        help="The drivers of the other toolkits. [default: benchmarks/peers of the source checkout]",
    ),
]
Busy = Annotated[bool, typer.Option("--busy", help="Measure even if the machine is busy.")]
_QUIET = 0.2  # cores that others may keep busy before a measurement


@bench.command("train", short_help="Measure the training speed of dragoman and other toolkits.")
def train(
    contenders: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", help="Contenders to measure. [default: dragoman and the installed toolkits]"
        ),
    ] = None,
    preset: Annotated[
        str, typer.Option("--preset", metavar="NAME", help="Size of the model: tiny, small, base or big.")
    ] = "small",
    rounds: Annotated[int, typer.Option("--rounds", min=1, metavar="N", help="Turns of each contender.")] = 3,
    steps: Annotated[
        int, typer.Option("--steps", min=1, metavar="N", help="Timed training steps in a turn.")
    ] = 12,
    warm: Annotated[int, typer.Option("--warm", min=0, metavar="N", help="Steps before the timed ones.")] = 3,
    batch_tokens: Annotated[
        int,
        typer.Option(
            "--batch-tokens", min=100, metavar="N", help="Most target tokens in a batch, with padding."
        ),
    ] = 4096,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", min=1, metavar="N", help="Threads of each contender. [default: the number of cores]"
        ),
    ] = None,
    device: Annotated[
        Literal["cpu", "cuda"],
        typer.Option("--device", help="cuda measures on a GPU, which only some contenders can use."),
    ] = "cpu",
    recipe: Recipe = None,
    data: Data = None,
    peers: Peers = None,
    busy: Busy = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train the same model on the same text with dragoman and with other toolkits, and compare.

    They take turns, each in a separate process. Prints medians, spread and peak memory. Without
    --recipe the text is the embedded corpus. `dragoman bench peers` installs the other toolkits.

    \b
      dragoman bench train
      dragoman bench train dragoman hf hf-tuned --preset base --rounds 5
      dragoman bench train --recipe recipes/multi30k-en-de.toml --data ~/corpora
      dragoman bench train --device cuda --preset big --batch-tokens 25000
    """
    from dragoman.base import machine
    from dragoman.bench import contest, report, workload
    from dragoman.bench.contenders import Conditions, choose_contenders
    from dragoman.bench.peers import MISSING, drivers
    from dragoman.runs.recipe import resolve
    from dragoman.runs.texts import open_training

    say = _speaker(quiet)
    folder = peers or drivers()
    chosen = choose_contenders(contenders or None, device, peers=folder)
    if folder is None and not contenders:
        say(MISSING)
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise ConfigError("PyTorch finds no GPU", hint="run dragoman doctor, which checks the GPU")
    resolve(preset=preset)  # an unknown preset fails here, before any work
    _check_quiet(busy)
    if recipe is None:
        batches = workload.embedded(batch_tokens=batch_tokens, batches=warm + steps)
    else:
        named = resolve(recipe=recipe)
        corpus, _ = open_training(named.data, data)
        pairs = [(pair.source, pair.target) for pair in corpus]
        batches = workload.make(pairs, title=named.title, batch_tokens=batch_tokens, batches=warm + steps)
    conditions = Conditions(
        workload=batches,
        preset=preset,
        threads=threads or machine.cores(),
        steps=steps,
        warm=warm,
        device=device,
        peers=folder,
    )
    result = contest.hold(chosen, conditions, rounds=rounds, say=say)
    print(json.dumps(result.to_table(), indent=2) if as_json else report.to_text(result))
    if all(one.failure for one in result.results):
        raise typer.Exit(1)


@bench.command("quality", short_help="Measure the time of training to a BLEU.")
def quality(
    recipe: Annotated[Path, typer.Option("--recipe", metavar="FILE", help="A recipe (TOML).")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Models, logs and curves are kept here.")
    ],
    bleu: Annotated[
        float, typer.Option("--bleu", metavar="X", help="BLEU of the validation text, greedy and cased.")
    ],
    contenders: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="dragoman, hf, hf-tuned. [default: those that are installed]"),
    ] = None,
    minutes: Annotated[
        float, typer.Option("--minutes", metavar="N", help="Minutes of training for each, at most.")
    ] = 240.0,
    data: Data = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="An option of the recipe, for dragoman only."),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, metavar="N", help="Threads of each. [default: the number of cores]"),
    ] = None,
    peers: Peers = None,
    busy: Busy = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train until greedy translations of the validation text reach a BLEU, and compare the minutes.

    dragoman trains the recipe. hf is Seq2SeqTrainer of Hugging Face's transformers with its defaults,
    hf-tuned with settings for training from nothing. They train models of one shape, one after the other.
    Minutes do not include validations. A repeated command skips the contenders that have finished.

    \b
      dragoman bench peers huggingface
      dragoman bench quality --recipe recipes/multi30k-en-de.toml --data ~/corpora --bleu 40 -o quality
    """
    from dragoman.base import machine
    from dragoman.bench.peers import MISSING, drivers
    from dragoman.bench.quality import QualityTask, choose, race, to_table, to_text, write_texts
    from dragoman.runs.recipe import resolve

    if not 0 < bleu <= 100:
        raise ConfigError(f"--bleu {bleu:g}", hint="it must be above 0 and at most 100")
    if not minutes > 0:
        raise ConfigError(f"--minutes {minutes:g}", hint="it must be above 0")
    say = _speaker(quiet)
    folder = peers or drivers()
    chosen = choose(contenders or [], folder)
    if folder is None and not contenders:
        say(MISSING)
    _check_quiet(busy)
    resolved = resolve(recipe=recipe, overrides=options or [])
    train, valid = write_texts(resolved, data, output / "text")
    task = QualityTask(
        recipe=resolved,
        recipe_file=recipe,
        data=data,
        options=tuple(options or ()),
        train=train,
        valid=valid,
        work=output,
        bleu=bleu,
        minutes=minutes,
        threads=threads or machine.usable_cores(),
        peers=folder,
    )
    curves = race(chosen, task, say=say)
    print(json.dumps(to_table(curves, task), indent=2) if as_json else to_text(curves, task))


@bench.command("translate", short_help="Measure the translation speed of dragoman and other programs.")
def bench_translate(
    contenders: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Contenders to measure. [default: all]")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="MODEL", help="Translate with this model, at its own lengths."),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="Translate with a model of this size and random weights: tiny, small, base or big. "
            "[default: small]",
        ),
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(
            "--text", metavar="FILE", help="Lines to translate. [default: the embedded English corpus]"
        ),
    ] = None,
    lines: Annotated[
        int,
        typer.Option(
            "--lines",
            min=1,
            metavar="N",
            help="Number of lines. More than the text has are made by changing words.",
        ),
    ] = 1000,
    beam: Annotated[
        list[int] | None,
        typer.Option("--beam", min=1, metavar="N", help="Width of the beam; repeatable. [default: 1 and 4]"),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only",
            metavar="WHAT",
            help="throughput, latency, start or file; repeatable. [default: all]",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", min=1, metavar="N", help="Turns of each contender.")] = 5,
    threads: Annotated[
        int | None,
        typer.Option(
            "--threads", min=1, metavar="N", help="Threads of each contender. [default: the number of cores]"
        ),
    ] = None,
    busy: Annotated[bool, typer.Option("--busy", help="Do not wait for the machine to be idle.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Translate the same lines with the same model in dragoman and in other programs, and compare.

    They take turns, each in a separate process, and get the model by `dragoman export`. A model with random
    weights translates every line to 16 tokens. CTranslate2 and Hugging Face first find their best batches by
    short runs. `start` is one sentence from the command line, `file` is `dragoman translate` of the lines.

    \b
      dragoman bench translate
      dragoman bench translate --preset base --text test.en --rounds 3
      dragoman bench translate --model runs/en-de --text test.en
      dragoman bench translate dragoman-int8 ctranslate2-int8 --lines 100000 --only throughput
    """
    from dragoman.base import machine
    from dragoman.bench.decoding import contest, report
    from dragoman.bench.decoding.contenders import choose_kinds, choose_translators
    from dragoman.bench.decoding.prepare import prepared

    chosen, kinds = choose_translators(contenders), choose_kinds(only)
    say = _speaker(quiet)
    number = threads or machine.usable_cores()
    with prepared(chosen, model=model, preset=preset, text=text, lines=lines, threads=number) as conditions:
        result = contest.compete(
            chosen,
            conditions,
            kinds=kinds,
            beams=sorted(set(beam or (1, 4))),
            rounds=rounds,
            patience=contest.Patience(seconds=0 if busy else 60),
            say=say,
        )
    print(json.dumps(result.to_table(), indent=2) if as_json else report.to_text(result))
    if any(one.disagrees for one in result.results) or not any(one.turns for one in result.results):
        raise typer.Exit(1)


@bench.command("complexity", short_help="Measure table 1 of the paper: cost of a layer against length.")
def complexity(
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Also write charts: a self-contained page."),
    ] = None,
    lengths: Annotated[
        str, typer.Option("--lengths", metavar="N,N,...", help="Positions in a sentence.")
    ] = "128,256,512,1024,2048",
    width: Annotated[int, typer.Option("--width", min=1, metavar="N", help="d: width of the layers.")] = 256,
    heads: Annotated[int, typer.Option("--heads", min=1, metavar="N", help="Heads of the attention.")] = 4,
    kernel: Annotated[
        int, typer.Option("--kernel", min=1, metavar="N", help="k: positions a convolution sees.")
    ] = 3,
    neighbours: Annotated[
        int,
        typer.Option("--neighbours", min=1, metavar="N", help="r: positions that restricted attention sees."),
    ] = 32,
    batch: Annotated[int, typer.Option("--batch", min=1, metavar="N", help="Sentences in a batch.")] = 1,
    rounds: Annotated[int, typer.Option("--rounds", min=1, metavar="N", help="Turns of each layer.")] = 5,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, metavar="N", help="Threads. [default: the number of cores]"),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how the time and memory of each kind of layer grow with the length of a sentence.

    Measures self-attention, recurrent, convolutional and restricted self-attention layers: a forward pass,
    a training step, and one token of a translation. Prints the fitted exponents beside those of the
    operations.

    \b
      dragoman bench complexity -o complexity.html
      dragoman bench complexity --width 64 --lengths 512,1024,2048,4096
    """
    import torch

    from dragoman.base.files import write_whole
    from dragoman.bench.complexity import FITTED, Setting, measure_costs, to_html, to_table, to_text

    try:
        chosen = tuple(sorted({int(length) for length in lengths.split(",")}))
    except ValueError:
        chosen = ()
    if len(chosen) < FITTED or chosen[0] < 1:
        raise ConfigError(f"--lengths {lengths}", hint=f"give {FITTED} or more numbers, as in 128,256,512")
    if width % heads:
        raise ConfigError(f"--width {width} is not a multiple of --heads {heads}", hint="change one of them")
    if kernel % 2 == 0:
        raise ConfigError(f"--kernel {kernel} is even", hint="choose an odd number")
    if threads is not None:
        torch.set_num_threads(threads)
    setting = Setting(
        lengths=chosen, width=width, heads=heads, kernel=kernel, neighbours=neighbours, batch=batch,
        rounds=rounds,
    )  # fmt: skip
    costs = measure_costs(setting, _speaker(quiet))
    print(json.dumps(to_table(setting, costs), indent=2) if as_json else to_text(setting, costs))
    if output is not None:
        write_whole(output, to_html(setting, costs))


bench.command("goodput", short_help="Simulate a run on machines that fail: how often to save.")(goodput)
bench.command("cost", short_help="Forecast hours and money of a recipe on some GPUs.")(cost)


@bench.command("peers", short_help="Install other toolkits to measure.")
def peers(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Toolkits to install. [default: list them]")
    ] = None,
    peers: Peers = None,
) -> None:
    """Install other toolkits to measure against, in pinned versions, each in its own environment.

    The environments are created in the cache. Without NAME, list the toolkits and their packages. The drivers
    come with the source checkout.

    \b
      dragoman bench peers
      dragoman bench peers huggingface
    """
    from dragoman.base.tables import aligned
    from dragoman.bench.peers import WHERE, drivers, install, python_of, requirements

    folder = peers or drivers()
    if folder is None:
        raise ConfigError("the drivers of other toolkits come with the source checkout", hint=WHERE)
    if not names:
        rows = [
            [
                name,
                "installed" if python_of(name).exists() else "not installed",
                ", ".join(path.read_text(encoding="utf-8").split()),
            ]
            for name, path in requirements(folder).items()
        ]
        print("\n".join(aligned(rows or [[f"no toolkits in {folder}"]])))
    for name in names or []:
        print(f"{name}: installing", file=sys.stderr)
        install(name, folder)


def _check_quiet(busy: bool) -> None:
    """Raise ConfigError if other processes work, unless the user says that they may."""
    from dragoman.base import machine

    others = machine.busy_cores(1.0)
    if not busy and others is not None and others > _QUIET:
        raise ConfigError(
            f"the machine is busy: other processes use {others:.1f} cores",
            hint="wait until it is idle, or pass --busy to measure anyway and mark the figures",
        )


def _speaker(quiet: bool) -> Callable[[str], None]:
    """Print progress on standard error, or nothing."""
    return (lambda _: None) if quiet else (lambda line: print(line, file=sys.stderr))
