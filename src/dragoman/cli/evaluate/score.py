"""`dragoman score`: score translations in a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dragoman.base.errors import ConfigError
from dragoman.cli.options import Bootstrap, ChrfWords, Flag, Json, Lowercase, TestName, argument
from dragoman.cli.outcome import to_json

if TYPE_CHECKING:
    from dragoman.evaluation.results import Comparison, Scores, Test


def score(
    hypotheses: Annotated[Path, argument("HYPOTHESES", "Translations, one a line.")],
    references: Annotated[
        list[Path],
        argument("REFERENCES...", "Reference translations: one file or several."),
    ],
    against: Annotated[Path | None, Flag("Compare with these translations, and test significance.")] = None,
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
    """
    from dragoman.text.corpora.languages import of_side
    from dragoman.text.corpora.lines import read_lines

    names = [str(path) for path in references]
    systems = {str(hypotheses): list(read_lines(hypotheses))}
    if against is not None:
        if str(against) in systems:
            raise ConfigError(f"{against}: compared with itself", hint="name two different files")
        systems = {str(against): list(read_lines(against))} | systems
    results = results_of(
        systems,
        str(hypotheses),
        [list(read_lines(path)) for path in references],
        names,
        test=test,
        lowercase=lowercase,
        chrf_words=chrf_words,
        bootstrap=bootstrap,
        language=target_language or of_side(names[0]),
    )
    if as_json:
        print(to_json({"hypotheses": str(hypotheses), **to_table(results)}))
    else:
        print(to_text(results))


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
        if len(systems) == 1:
            results[case] = score_corpus(
                systems[name],
                references,
                lowercase=lower,
                metrics=metrics,
                target_language=language,
                bootstrap=1000 if bootstrap is None else bootstrap,
                name=name,
                reference_names=reference_names,
            )
        else:
            results[case] = compare(
                systems,
                references,
                test=test,
                lowercase=lower,
                metrics=metrics,
                target_language=language,
                samples=bootstrap,
                reference_names=reference_names,
            )
    return results


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
