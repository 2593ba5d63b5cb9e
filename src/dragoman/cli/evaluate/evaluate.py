"""`dragoman evaluate`: a model's translations of test text, and their scores."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args

from dragoman.base.errors import ConfigError, QualityError
from dragoman.base.languages import closest
from dragoman.base.tables import aligned
from dragoman.cli.evaluate import score as scoring
from dragoman.cli.evaluate.contrast import evaluate_contrast
from dragoman.cli.evaluate.directions import evaluate_directions
from dragoman.cli.input import check_outputs
from dragoman.cli.models import (
    Guides,
    Loading,
    files_of_models,
    in_languages_of,
    languages_for,
    leakage_of,
    models_and_text,
)
from dragoman.cli.options import (
    Bootstrap,
    ChrfWords,
    Comet,
    CometPython,
    Data,
    Flag,
    Flags,
    Json,
    Lowercase,
    Model,
    Page,
    Quiet,
    Recipe,
    TestName,
    argument,
)
from dragoman.cli.outcome import to_json, waiting, warn
from dragoman.translation.search.options import Decoding

if TYPE_CHECKING:
    from dragoman.evaluation.evaluate import Evaluation
    from dragoman.training.runs.recipe import Recipe as Recipe_
    from dragoman.translation.folder.config import FolderConfig
    from dragoman.translation.native.choice import DType
    from dragoman.translation.translator import Translator


def evaluate(
    model: Model,
    text: Annotated[
        list[str] | None,
        argument(
            "TEXT",
            "Test text and its reference translation: two files, one .tsv, .jsonl or .tmx, or -. More "
            "model folders come first: all translate together, as an ensemble.",
        ),
    ] = None,
    *,
    output: Annotated[
        Path | None, Flag("Also write the translations to this file.", flag="--output -o")
    ] = None,
    lowercase: Lowercase = False,
    chrf_words: ChrfWords = False,
    decoding: Annotated[
        Decoding,
        Flags(
            *("beam", "length_penalty", "stop", "shortlist", "source", "to", "formality", "quality", "mbr"),
            *("candidates", "batch_tokens"),
            section="Search",
        ),
    ],
    guides: Annotated[Guides, Flags("terms", "terms_mode", "reverse")],
    dtype: Annotated[
        str | None,
        Flag(
            "Type of the numbers: float32, bfloat16 or int8. Of one pair of languages, without --against or "
            "--contrast, also translates in float32, and shows what each type costs and gains.",
            metavar="auto|TYPE[,TYPE...]",
            section="Models",
        ),
    ] = None,
    loading: Annotated[Loading, Flags("adapter", "average")],
    against: Annotated[
        list[Path] | None,
        Flag(
            "Compare with another model or a file of its translations, and test significance. The "
            "first of several is the baseline.",
            metavar="MODEL|FILE",
        ),
    ] = None,
    test: TestName = "bs",
    bootstrap: Bootstrap = None,
    risk: Annotated[
        bool, Flag("Also measure the risk of the translations: calibration, and planted errors found.")
    ] = False,
    risk_chart: Annotated[Path | None, Flag("With --risk: write the reliability curve as SVG.")] = None,
    in_context: Annotated[
        bool, Flag("Read each line with those before it, as data.context does in training.")
    ] = False,
    consistency: Annotated[
        bool,
        Flag("Also measure whether the text has one form of address, and one translation for each term."),
    ] = False,
    noisy: Annotated[
        bool, Flag("Also translate the text with each kind of noise of data.noise, and show what it costs.")
    ] = False,
    contrast: Annotated[
        Path | None,
        Flag(
            "Instead of test text: say how often the model prefers right translations to wrong ones. A "
            ".jsonl of source, right, wrong and context, or a file of ContraPro (.json) or MuST-SHE (.tsv)."
        ),
    ] = None,
    documents: Annotated[
        Path | None, Flag("With --contrast: the documents of ContraPro, for context.", metavar="FOLDER")
    ] = None,
    page: Page = None,
    comet: Comet = None,
    comet_python: CometPython = None,
    min_bleu: Annotated[float | None, Flag("Exit with 5 if BLEU is below X.")] = None,
    recipe: Recipe = None,
    data: Data = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Translate test text and score it: sacreBLEU's BLEU, chrF and TER, with signatures.

    Under torchrun each process translates a share of the lines, and the first one scores and writes.

    \b
      dragoman evaluate runs/en-de test.en test.de
      dragoman evaluate runs/new test.en test.de --against runs/old --min-bleu 30
      dragoman evaluate runs/en-de-1 runs/en-de-2 test.en test.de --against runs/en-de-1
      dragoman evaluate runs/en-de test.en test.de --dtype bfloat16,int8
      dragoman evaluate runs/en-de test.en test.de --adapter runs/help --against runs/en-de
      dragoman evaluate runs/new test.en test.de --against runs/old --page errors.html
      dragoman evaluate runs/en-de --contrast pronouns.jsonl
      dragoman evaluate runs/multi30k --recipe recipes/multi30k-en-de.toml --data ~/corpora
    """
    from dragoman.base.files import write_whole
    from dragoman.evaluation.comet import comet_scores
    from dragoman.evaluation.consistency import consistency as measured_consistency
    from dragoman.evaluation.consistency import to_text as consistency_text
    from dragoman.evaluation.evaluate import evaluate as evaluated
    from dragoman.evaluation.metrics import check_lengths
    from dragoman.evaluation.noisy import measure_noise, noise_text
    from dragoman.text.corpora.context import with_context
    from dragoman.text.corpora.corpus import open_corpus
    from dragoman.text.corpora.lines import read_lines
    from dragoman.training.processes.distributed import joined
    from dragoman.training.step.malloc import keep_few_products, keep_freed_memory
    from dragoman.translation.folder.adapter import extension, read_adapter_config
    from dragoman.translation.folder.checkpoint import model_folder, run_of
    from dragoman.translation.folder.config import read_config
    from dragoman.translation.translator import Translator

    if risk_chart is not None and not risk:
        raise ConfigError("--risk-chart without --risk", hint="add --risk")
    if documents is not None and (contrast is None or contrast.suffix != ".json"):
        raise ConfigError("--documents without --contrast FILE.json", hint="--documents is for ContraPro")
    flags: dict[str, object] = {"--against": against, "--output": output, "--risk": risk, "--noisy": noisy}
    flags |= {"--lowercase": lowercase, "--chrf-words": chrf_words, "--comet-python": comet_python}
    flags |= {"--bootstrap": bootstrap is not None, "--test": test != "bs"}
    flags |= {"--in-context": in_context, "--consistency": consistency, "--page": page, "--comet": comet}
    if risk and (in_context or decoding.formality):
        used = "--in-context" if in_context else "--formality"
        raise ConfigError(f"--risk with {used}: the risk is measured without", hint="leave one out")
    rivals = against or []

    def check_unused(what: str, hint: str) -> None:
        if used := [flag for flag, given in flags.items() if given]:
            raise ConfigError(f"{used[0]} with {what}", hint=hint)

    def load(number_type: DType | None) -> Translator:
        return guides.guide(replace(loading, dtype=number_type).load(models), decoding)

    guides.check()
    dtypes = _dtypes(dtype, single="--against" if rivals else "")
    compared = [*rivals, *dtypes[1:]]
    scoring.check_scoring(compared, test=test, bootstrap=bootstrap, comet=comet, comet_python=comet_python)
    models, text = models_and_text(model, text)
    loading.check(models)
    if contrast is not None:
        if text:
            raise ConfigError(f"--contrast together with {text[0]}", hint="leave out one of them")
        flags |= {"--recipe": recipe, "--data": data, "--min-bleu": min_bleu}
        check_unused("--contrast", "leave out one of them")
        translator = load(_dtypes(dtype, single="--contrast")[0])
        evaluate_contrast(translator, contrast, documents, decoding, as_json=as_json, quiet=quiet)
        return
    if not text and (several := _recipe_of_several(recipe)) is not None:
        flags |= {"--from": decoding.source, "--to": decoding.to}
        check_unused("a recipe of several pairs", "name the files of one pair")
        translator = load(_dtypes(dtype, single="a recipe of several pairs")[0])
        bleu = evaluate_directions(translator, several, data, decoding, as_json=as_json, quiet=quiet)
        _check_least(str(model), bleu, min_bleu)
        return
    names = _names(text, recipe, data)
    adapter = loading.adapter
    folders = files_of_models([*models, guides.reverse, adapter, *rivals])
    read = [*names, *rivals, guides.terms, *folders]
    check_outputs([output, risk_chart, page], read)
    alone = len(models) == 1 and adapter is None
    others: dict[str, list[str] | None] = {}  # the translations of files, None for models
    for one in rivals:
        if (one.resolve() == model.resolve() and alone) or str(one) in others:
            raise ConfigError(f"{one}: compared with itself", hint="name another model, or its translations")
        others[str(one)] = None if one.is_dir() or run_of(one) != one else list(read_lines(one))
    about = read_config(model_folder(model))
    if adapter is not None and (found := extension(adapter, read_adapter_config(adapter))) is not None:
        about, _ = found  # with the languages that the adapter adds
    # The model's languages say which key of a JSONL file is the source.
    corpus = open_corpus(names, languages=languages_for(about, decoding))
    decoding = in_languages_of(corpus, decoding, about)
    if comet is not None:  # before minutes of translating
        comet_scores(comet, [], {}, [], python=comet_python)
    if risk:
        _check_risk(models, about, decoding.to, dtypes, adapter)
    keep_freed_memory()
    keep_few_products()
    lines = [line for shard in corpus.shards for line in with_context(shard)]
    pairs = [(line.source, line.target) for line, _ in lines]
    contexts = [context.source for _, context in lines] if in_context else None
    for name, texts in others.items():
        if texts is not None:
            check_lengths(name, texts, names[-1], pairs)
    other_models = [name for name, texts in others.items() if texts is None]
    leaked = leakage_of([*models, *map(Path, other_models)], pairs, "test")
    types: dict[str, dict[str, Any]] = {}  # how fast each is
    hypotheses: dict[str, list[str]] = {}
    commands, out_of_context = dict[str, str](), list[str]()
    with joined() as world:

        def translated(translator: Translator, what: str, how: Decoding, context: Any) -> Evaluation:
            with waiting(f"{what}: {len(pairs):,} sentences", shown=world.leads and not quiet):
                return evaluated(translator, pairs, how, world=world, context=context)

        for each in dtypes:  # the last is the requested one
            translator = load(each)
            in_type = f" in {each}" if len(dtypes) > 1 else ""
            evaluation = translated(translator, f"translating{in_type}", decoding, contexts)
            types[str(each)] = _speed(each, translator, evaluation, models)
            hypotheses[str(each)] = evaluation.hypotheses
        for name in other_models:
            loaded = Translator.load(Path(name), dtype=each)
            how = in_languages_of(corpus, decoding, loaded)
            how = how if "formality" in loaded.reads else replace(how, formality=None)
            near = contexts if "context" in loaded.reads else None
            rival = guides.guide(loaded, how)
            others[name] = translated(rival, f"translating with {name}", how, near).hypotheses
            commands[name] = _inspecting([name], rival, how)
            out_of_context += [name] * (near is None)
        noise = None
        if noisy:
            with waiting("translating with noise", shown=world.leads and not quiet):
                noise = measure_noise(translator, pairs, evaluation, decoding, world=world, context=contexts)
    if not world.leads:
        return
    report = None
    language = closest(decoding.to or translator.target_language, translator.risk_models) if risk else None
    if language is not None:
        from dragoman.evaluation.risk.calibrate import examples_of, measure_risk

        with waiting("measuring the risk", shown=not quiet) as progress:
            examples = examples_of(translator, pairs, decoding, progress=progress)
            report = measure_risk(translator.risk_models[language], examples)
    if output is not None:
        write_whole(output, "".join(f"{line}\n" for line in evaluation.hypotheses))
    if risk_chart is not None and report is not None:
        write_whole(risk_chart, report.to_svg())
    whole = " + ".join(map(str, models if adapter is None else [model, adapter]))
    name = whole if len(dtypes) == 1 else str(each)
    systems = {name: evaluation.hypotheses} if len(dtypes) == 1 else hypotheses
    systems = {key: texts or [] for key, texts in others.items()} | systems
    results = scoring.results_of(
        systems,
        name,
        [list(evaluation.references)],
        [names[-1]],
        test=test,
        lowercase=lowercase,
        chrf_words=chrf_words or page is not None,
        bootstrap=bootstrap,
        language=evaluation.target_language,
    )
    tested = [line for line, _ in lines]
    metric = scoring.add_comet(results, tested, systems, comet, comet_python, bootstrap)
    terms = [one.terms for one in translator.terms]
    if page is not None:
        languages = translator.pair(decoding)
        if len(models) == 1:  # an ensemble cannot be inspected
            own = [str(model), *(["--adapter", str(adapter)] if adapter else [])]
            command = _inspecting(own, translator, decoding)
            commands |= dict.fromkeys([one for one in systems if one not in others], command)
        scoring.write_page(
            page,
            results,
            tested,
            systems,
            references=[evaluation.references],
            languages=languages,
            contexts=contexts or (),
            terms=terms,
            out_of_context=out_of_context,
            commands=commands,
            comet=metric,
        )
    if evaluation.truncated:
        warn(f"{evaluation.truncated:,} of {len(pairs):,} translations are cut short")
    for line in leaked:
        warn(line)
    alike = None
    if consistency:
        sources, texts = [source for source, _ in pairs], evaluation.hypotheses
        alike = measured_consistency(sources, texts, evaluation.target_language, terms)
    size = decoding.beam_search(translator.generation).size
    if as_json:
        table = {
            "model": str(model),
            **({} if len(models) == 1 else {"models": [*map(str, models)]}),
            **({} if adapter is None else {"adapter": str(adapter)}),
            "text": names,
            "sentences": len(pairs),
            "seconds": evaluation.seconds,
            "sentences_per_second": evaluation.sentences_per_second,
            "beam": size,
            "cut_short": evaluation.truncated,
            **({"warnings": leaked} if leaked else {}),
            **({"dtype": types[str(each)]["dtype"], "types": [*types.values()]} if dtype else {}),
            **scoring.to_table(results),
            **({"risk": report.to_table()} if report else {}),
            **({"consistency": alike} if alike else {}),
            **({} if noise is None else {"noise": noise}),
        }
        print(to_json(table))
    else:
        search = "greedy" if size == 1 else f"beam {size}"
        print(f"{whole}: {' '.join(names)}, {search}, {evaluation.sentences_per_second:,.1f} sentences/s\n")
        if len(types) > 1:
            print("\n".join([*_compared(list(types.values())), ""]))
        print(scoring.to_text(results))
        if report:
            print(f"\n{report.to_text()}")
        if alike:
            print(f"\n{consistency_text(alike)}")
        if noise:
            print(f"\n{noise_text(noise)}")
    _check_least(whole, scoring.bleu_of(results, name), min_bleu)


def _inspecting(model: Sequence[str], translator: Translator, decoding: Decoding) -> str:
    """The command that inspects a translation of a system, but for the translation and its source."""
    languages = translator.pair(decoding) if translator.several else ()
    words = [*model]
    for flag, language in zip(("--from", "--to"), languages, strict=False):
        words += [flag, language] if language != "mul" else []
    words += ["--formality", decoding.formality] if decoding.formality else []
    return shlex.join(["dragoman", "inspect", *words])


def _check_least(name: str, bleu: float, least: float | None) -> None:
    if least is not None and bleu < least:
        raise QualityError(f"{name}: BLEU {bleu:.2f} is below {least:g}", hint="--min-bleu sets this limit")


def _recipe_of_several(path: Path | None) -> Recipe_ | None:
    """The recipe, if it names the test text of several pairs."""
    from dragoman.training.runs.recipe import resolve

    recipe = None if path is None else resolve(recipe=path)
    return recipe if recipe is not None and any(one.test for one in recipe.data.corpora) else None


def _check_risk(
    models: Sequence[Path],
    about: FolderConfig,
    to: str | None,
    dtypes: Sequence[DType | None],
    adapter: Path | None,
) -> None:
    """Raise ConfigError if the risk cannot be measured: no risk.json, an adapter, or several types."""
    from dragoman.translation.folder.risk import read_risk

    if len(dtypes) > 1:
        raise ConfigError("--risk with several types of numbers", hint="leave out --dtype")
    if len(models) > 1:
        raise ConfigError(
            "--risk with several models: the risk is calibrated for one", hint="leave out --risk, or name one"
        )
    model = models[0]
    if adapter is not None:
        raise ConfigError(
            f"{adapter}: the risk is not calibrated for a model with an adapter",
            hint="merge them with dragoman model merge, then dragoman model calibrate",
        )
    if closest(to or about.target_language, read_risk(model, about)) is None:
        into, option = (f" for {to}", f" --to {to}") if to else ("", "")
        raise ConfigError(
            f"{model}: its risk is not calibrated{into}",
            hint=f"dragoman model calibrate {model} SOURCE TARGET{option}, with text it was not trained on",
        )


def _dtypes(dtype: str | None, *, single: str) -> list[DType | None]:
    """Return the types to translate in, float32 first if there are others. Raises ConfigError.

    `single` names what allows one type only, "" for nothing.
    """
    from dragoman.translation.native.choice import DType

    known = get_args(DType)
    names = list(dict.fromkeys(name.strip() for name in dtype.split(","))) if dtype is not None else []
    if wrong := [name for name in names if name not in known or (name == "auto" and len(names) > 1)]:
        raise ConfigError(
            f"--dtype {dtype}: {wrong[0]!r} is not one of the types", hint="use float32, bfloat16 or int8"
        )
    if single and len(names) > 1:
        raise ConfigError(
            f"{single} cannot be used with --dtype {dtype}", hint=f"name one type, or leave out {single}"
        )
    if not names or names == ["auto"] or single:
        return [cast("DType | None", names[0] if names else None)]
    return [cast("DType", name) for name in dict.fromkeys(["float32", *names])]


def _speed(
    dtype: DType | None, translator: Translator, evaluation: Evaluation, models: Sequence[Path]
) -> dict[str, Any]:
    """How fast a model is with numbers of one type, and the size of its weights in memory."""
    from dragoman.translation.folder.checkpoint import model_folder
    from dragoman.translation.folder.config import WEIGHTS
    from dragoman.translation.folder.header import read_header
    from dragoman.translation.folder.quantised import bytes_in_memory

    default = "bfloat16" if dtype == "bfloat16" else "float32"  # PyTorch's engine has no attribute dtype
    used = str(getattr(translator.engine, "dtype", default))
    headers = [read_header(model_folder(model) / WEIGHTS) for model in models]
    return {
        "dtype": used,
        "engine": type(translator.engine).__name__.removesuffix("Engine").lower(),
        "seconds": evaluation.seconds,
        "sentences_per_second": evaluation.sentences_per_second,
        "weights_bytes": sum(bytes_in_memory(header, used) for header in headers),
    }


def _compared(types: list[dict[str, Any]]) -> list[str]:
    """Return a table of speeds and sizes. The others are compared with the first."""
    first, rows = types[0]["sentences_per_second"], []
    for one in types:
        speed, size = one["sentences_per_second"], one["weights_bytes"]
        row = f"{speed:,.1f}", f"{speed / first:.2f} x", f"{size / 1e6:,.1f} MB"
        rows.append([one["dtype"], one["engine"], *row])
    return aligned([["type", "engine", "sentences/s", "speed", "weights"], *rows], right=(2, 3, 4))


def _names(text: list[str], recipe: Path | None, data: Path | None) -> list[str]:
    """Return the files of the test text: the named ones, or the recipe's."""
    if text:
        if recipe or data:
            raise ConfigError("--recipe or --data with text", hint="leave out one of them")
        return text
    if recipe is None:
        raise ConfigError("no text to evaluate on", hint="name a source and a target file, or --recipe FILE")
    from dragoman.training.runs.recipe import find_data, resolve

    about = resolve(recipe=recipe).data
    if not about.test:
        raise ConfigError(f"{recipe}: names no test text", hint="name a source and a target file")
    return [str(path) for path in find_data(about, data, about.test)]
