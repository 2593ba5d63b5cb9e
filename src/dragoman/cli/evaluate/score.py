"""`dragoman score`: score translations in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dragoman.base.errors import ConfigError
from dragoman.cli.input import keep_apart
from dragoman.cli.options import (
    Bootstrap,
    ChrfWords,
    Comet,
    CometPython,
    Flag,
    Json,
    Lowercase,
    Page,
    TestName,
    argument,
)
from dragoman.cli.outcome import to_json

if TYPE_CHECKING:
    from dragoman.evaluation.results import Comparison, Scores, Test
    from dragoman.text.corpora.lines import Line


def score(
    hypotheses: Annotated[Path, argument("HYPOTHESES", "Translations, one a line.")],
    references: Annotated[
        list[Path], argument("REFERENCES...", "Reference translations: one file or several.")
    ],
    against: Annotated[
        list[Path] | None,
        Flag(
            "Compare with these, and test significance. The first of several is the baseline.", metavar="FILE"
        ),
    ] = None,
    source: Annotated[Path | None, Flag("The source text, for --page and --comet.")] = None,
    page: Page = None,
    comet: Comet = None,
    comet_python: CometPython = None,
    test: TestName = "bs",
    lowercase: Lowercase = False,
    chrf_words: ChrfWords = False,
    bootstrap: Bootstrap = None,
    target_language: Annotated[
        str | None,
        Flag(
            "Language, for splitting words. [default: the suffix of the reference, such as .de]",
            metavar="CODE",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Score translations: sacreBLEU's BLEU, chrF and TER, with signatures and 95% intervals.

    \b
      dragoman score out.de test.de
      dragoman score out.de test.de --against baseline.de
      dragoman score out.de test.de --source test.en --page errors.html
    """
    from dragoman.evaluation.metrics import check_lengths
    from dragoman.text.corpora.languages import of_side
    from dragoman.text.corpora.lines import Line, read_lines

    if source is None and any(one is not None for one in (page, comet, comet_python)):
        raise ConfigError("--page or --comet without the source text", hint="name its file with --source")
    check_scoring(against or (), test=test, bootstrap=bootstrap, comet=comet, comet_python=comet_python)
    names = [str(path) for path in references]
    keep_apart(page, [*names, hypotheses, source, *(against or ())])
    systems: dict[str, list[str]] = {}
    for path in (*(against or ()), hypotheses):
        if str(path) in systems:
            raise ConfigError(f"{path}: compared with itself", hint="name different files")
        systems[str(path)] = list(read_lines(path))
    columns = [list(read_lines(path)) for path in references]
    language = target_language or of_side(names[0])
    results = results_of(
        systems,
        str(hypotheses),
        columns,
        names,
        test=test,
        lowercase=lowercase,
        chrf_words=chrf_words or page is not None,
        bootstrap=bootstrap,
        language=language,
    )
    if source is not None:
        sources = list(read_lines(source))
        check_lengths(str(source), sources, names[0], columns[0])
        lines = [Line(number, *pair) for number, pair in enumerate(zip(sources, columns[0], strict=True), 1)]
        more = add_comet(results, lines, systems, comet, comet_python, bootstrap)
        languages = of_side(str(source)), language
        write_page(page, results, lines, systems, references=columns, languages=languages, comet=more)
    if as_json:
        print(to_json({"hypotheses": str(hypotheses), **to_table(results)}))
    else:
        print(to_text(results))


def check_scoring(
    rivals: Sequence[object], *, test: str, bootstrap: int | None, comet: str | None, comet_python: str | None
) -> None:
    """Raise ConfigError for options that cannot be used, before minutes of translating."""
    from dragoman.evaluation.metrics import check_options

    if comet_python is not None and comet is None:
        raise ConfigError("--comet-python without --comet", hint="name the model of COMET")
    if test != "bs" and not rivals:
        raise ConfigError("--test without --against", hint="name what to compare with by --against")
    if bootstrap == 0 and rivals:
        raise ConfigError("--bootstrap 0: comparing systems needs resamples", hint="leave it out")
    check_options(("bleu",), bootstrap or 0)


def results_of(
    systems: dict[str, list[str]],
    name: str,
    references: list[list[str]],
    reference_names: list[str],
    *,
    test: Test,
    lowercase: bool,
    chrf_words: bool,
    bootstrap: int | None,
    language: str | None,
) -> dict[str, Scores | Comparison]:
    """Return scores of one system or a comparison with the first; for each case, "cased" or "lowercased"."""
    from dragoman.evaluation.metrics import ALL_METRICS, compare, score_corpus

    results: dict[str, Scores | Comparison] = {}
    for lower in (False, True)[: 1 + lowercase]:
        case = "lowercased" if lower else "cased"
        # TER ignores case anyway.
        left_out = {*(["ter"] if lower else []), *([] if chrf_words else ["chrf++"])}
        metrics = [metric for metric in ALL_METRICS if metric not in left_out]
        how: dict[str, Any] = {"lowercase": lower, "metrics": metrics, "target_language": language}
        how["reference_names"] = reference_names
        if len(systems) == 1:
            resamples = 1000 if bootstrap is None else bootstrap
            results[case] = score_corpus(systems[name], references, bootstrap=resamples, name=name, **how)
        else:
            results[case] = compare(systems, references, test=test, samples=bootstrap, **how)
    return results


def add_comet(
    results: dict[str, Scores | Comparison],
    lines: Sequence[Line],
    systems: dict[str, list[str]],
    model: str | None,
    python: str | None,
    samples: int | None,
) -> dict[str, list[float]]:
    """Add COMET to the cased results, and return its scores of the lines by system; none without a model."""
    if model is None:
        return {}
    from dragoman.evaluation.comet import comet_scores, with_comet

    sources, references = [line.source for line in lines], [line.target for line in lines]
    scores = comet_scores(model, sources, systems, references, python=python)
    results["cased"] = with_comet(results["cased"], scores, model, 1000 if samples is None else samples)
    return scores


def write_page(
    page: Path | None,
    results: dict[str, Scores | Comparison],
    lines: Sequence[Line],
    systems: dict[str, list[str]],
    **about: Any,
) -> None:
    """Write the error page, if it is wanted."""
    if page is None:
        return
    from dragoman.base.files import write_whole
    from dragoman.evaluation.error_page import error_page

    write_whole(page, error_page(lines, systems, results["cased"].to_table(), **about))


def bleu_of(results: dict[str, Scores | Comparison], name: str) -> float:
    """Return the cased BLEU of the system called `name`."""
    from dragoman.evaluation.results import Comparison

    cased = results["cased"]
    return (cased.scores[name] if isinstance(cased, Comparison) else cased).bleu.value


def to_table(results: dict[str, Scores | Comparison]) -> dict[str, Any]:
    """Return the results as plain values, for JSON."""
    return {case: result.to_table() for case, result in results.items()}


def to_text(results: dict[str, Scores | Comparison]) -> str:
    """Return the results as text: the cased scores, then those in lower case."""
    parts = [result.to_text() for result in results.values()]
    return "\n\nIn lower case:\n\n".join(parts)
