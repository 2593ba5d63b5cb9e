"""BLEU, chrF and TER by sacreBLEU, with signatures, intervals and significance tests.

BLEU (Papineni et al. 2002) counts word n-grams that a translation shares with the reference, chrF (Popović
2015) character n-grams, chrF++ (Popović 2017) also words and pairs of words, TER (Snover et al. 2006) the
edits that turn a translation into the reference. A signature lists every choice behind a score, so that
others can reproduce it (Post 2018).

Intervals and p-values are sacreBLEU's: 1,000 bootstrap resamples of the lines (Koehn 2004) or 10,000
approximate randomisations (Riezler and Maxwell 2005). The seed is the environment variable SACREBLEU_SEED,
12345 by default, so equal input gives equal results.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import base
from dragoman.base.tables import count
from dragoman.evaluation.results import TESTS, Comparison, Difference, MetricName, Score, Scores, Test
from dragoman.text.blank import is_blank

if TYPE_CHECKING:
    import numpy as np
    from sacrebleu.metrics.base import Metric
    from sacrebleu.significance import Result

METRICS: tuple[MetricName, ...] = ("bleu", "chrf", "ter")
ALL_METRICS: tuple[MetricName, ...] = ("bleu", "chrf", "chrf++", "ter")
SEED_VARIABLE = "SACREBLEU_SEED"

# One list, or several; None where one of several is missing.
References = Sequence[str] | Sequence[Sequence[str | None]]

_SAMPLES = {"bs": 1000, "ar": 10_000}

# sacreBLEU keeps every resample of every line in memory; with chrF's 72 bytes a line, this is 1.5 GB.
_MOST_DRAWS = 20_000_000
_FEWEST_SAMPLES = 100  # fewer give no useful interval

_CJK = {"zh", "ja"}
_NO_SPACES = {"th", "lo", "km", "my"}  # Thai, Lao, Khmer, Burmese


def score_corpus(
    hypotheses: Sequence[str],
    references: References,
    *,
    lowercase: bool = False,
    target_language: str | None = None,
    metrics: Sequence[MetricName] = METRICS,
    bootstrap: int = 1000,
    seed: int | None = None,
    name: str = "the translations",
    reference_names: Sequence[str] = (),
) -> Scores:
    """Score `hypotheses` (plain text, not tokenised) against one list of references or several.

    `lowercase` makes BLEU and chrF ignore case; TER always does, as in sacreBLEU. `target_language`
    ("de", "zh-CN") chooses how text is split into words. `bootstrap` is the number of resamples, 0 for no
    interval. `seed` overrides SACREBLEU_SEED. Errors call the lists `name` and `reference_names`, such as
    file names. With several references, None is a missing one; a blank line is an empty reference, as in
    sacreBLEU, and noted. Raise DataError if the numbers of lines differ or all are blank.
    """
    columns = _checked({name: hypotheses}, references, reference_names)
    scorers, notes = _scorers(metrics, lowercase, target_language)
    check_options(metrics, bootstrap)
    resamples = _affordable(bootstrap, len(hypotheses))
    if resamples < bootstrap:
        notes.append(_fewer(bootstrap, resamples, len(hypotheses)))
    if resamples == 1 or len(hypotheses) == 1:
        resamples = 0  # one resample or one line has no spread
    by_metric: dict[MetricName, Score] = {}
    with _seeded(seed):
        for metric, scorer in scorers.items():
            result = scorer.corpus_score(list(hypotheses), cast(Any, columns), n_bootstrap=max(resamples, 1))
            by_metric[metric] = Score(
                name=result.name,
                value=float(result.score),
                signature=str(scorer.get_signature()),
                # sacreBLEU publishes these two only as text.
                mean=float(result._mean) if resamples else None,
                half_width=float(result._ci) if resamples else None,
                higher_is_better=metric != "ter",
                detail=_parts(result) if metric == "bleu" else "",
            )
    return Scores(
        by_metric=by_metric,
        lines=len(hypotheses),
        references=len(columns),
        resamples=resamples,
        notes=(*notes, *_remarks({name: hypotheses}, columns)),
    )


def compare(
    systems: Mapping[str, Sequence[str]],
    references: References,
    *,
    baseline: str | None = None,
    test: Test = "bs",
    lowercase: bool = False,
    target_language: str | None = None,
    metrics: Sequence[MetricName] = METRICS,
    samples: int | None = None,
    seed: int | None = None,
    reference_names: Sequence[str] = (),
) -> Comparison:
    """Test whether systems, by name, differ significantly from `baseline` (by default, the first).

    `test` is "bs" (paired bootstrap resampling) or "ar" (paired approximate randomisation). `samples` is
    the number of draws, by default 1,000 for "bs" and 10,000 for "ar". Other options are as in
    `score_corpus`. Raise DataError as it does, ConfigError for fewer than two systems or an unknown
    baseline.

    The p-values are sacreBLEU's, except in two cases where they are too small. Systems with equal scores get
    1. If systems differ on k lines, the least p-value is 2^(1-k): swapping all of these lines, or none, gives
    the observed difference. One line has no interval.
    """
    if len(systems) < 2:
        raise ConfigError("a comparison needs at least two systems", hint="name a baseline and a system")
    if test not in TESTS:
        raise ConfigError(
            f"test = {test!r} cannot be used", hint="bs: paired bootstrap; ar: approximate randomisation"
        )
    baseline = next(iter(systems)) if baseline is None else baseline
    if baseline not in systems:
        raise ConfigError(
            f"baseline {baseline!r} is not one of the systems", hint="choose one of: " + ", ".join(systems)
        )
    if samples is not None and samples < 1:
        raise ConfigError(f"samples = {samples} cannot be used", hint="use at least 1")
    columns = _checked(systems, references, reference_names)
    ordered = {baseline: list(systems[baseline])} | {name: list(lines) for name, lines in systems.items()}
    scorers, notes = _scorers(metrics, lowercase, target_language)
    lines, requested = len(ordered[baseline]), samples or _SAMPLES[test]
    # A randomisation needs 8 bytes a line, a ninth of a bootstrap.
    draws = max(1, min(requested, _MOST_DRAWS * (9 if test == "ar" else 1) // lines))
    if draws < requested:
        notes.append(_fewer(requested, draws, lines))
    resamples = draws if test == "bs" else _affordable(_SAMPLES["bs"], lines)
    notes += _remarks(ordered, columns)

    scores: dict[str, dict[MetricName, Score]] = {name: {} for name in ordered}
    differences = []
    with _seeded(seed):
        signatures, results = _paired_test(ordered, columns, scorers, test, draws, resamples)
    for metric, title in zip(scorers, signatures, strict=True):
        base, *_ = of_metric = results[title]
        for name, result in zip(ordered, of_metric, strict=True):
            score = _score(metric, title, signatures[title], result)
            scores[name][metric] = replace(score, mean=None, half_width=None) if lines == 1 else score
            if name != baseline:
                differing = sum(a != b for a, b in zip(ordered[name], ordered[baseline], strict=True))
                differences.append(_difference(metric, name, result, base, differing))
    scores_of = partial(Scores, lines=lines, references=len(columns), resamples=resamples, notes=tuple(notes))
    return Comparison(
        baseline=baseline,
        test=test,
        scores={name: scores_of(by_metric=by_metric) for name, by_metric in scores.items()},
        differences=tuple(differences),
    )


def line_ter(
    hypotheses: Sequence[str], references: Sequence[str], target_language: str | None = None
) -> list[float]:
    """Return the TER of each line against its reference, in percent, in lower case. See `score_corpus`."""
    return _by_line(_scorers(("ter",), False, target_language)[0]["ter"], hypotheses, references)


def line_bleu(
    hypotheses: Sequence[str], references: Sequence[str], target_language: str | None = None
) -> list[float]:
    """Return the BLEU of each line against its reference, with case, as sacreBLEU scores a sentence.

    It counts the n-grams only up to the length of the line, and smooths exponentially.
    """
    from sacrebleu.metrics.bleu import BLEU

    tokenizer, _ = _bleu_tokenizer(_code(target_language))
    scorer = BLEU(tokenize=tokenizer, effective_order=True, force=True)
    return _by_line(scorer, hypotheses, references)


def line_statistics(
    hypotheses: Sequence[str], references: References, target_language: str | None = None
) -> np.ndarray:
    """Return the numbers from which sacreBLEU computes its scores: a row for each line, ALL_METRICS in order.

    The score of lines comes from the sum of their rows.
    """
    import numpy as np

    columns = _checked({"the translations": hypotheses}, references, ())
    scorers, _ = _scorers(ALL_METRICS, False, target_language)
    parts = [one._extract_corpus_statistics(hypotheses, cast(Any, columns)) for one in scorers.values()]
    return np.concatenate([np.array(part, dtype="<f8") for part in parts], axis=1)


def _by_line(scorer: Metric, hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    return [
        float(scorer.sentence_score(hypothesis, [reference]).score)
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]


def check_options(metrics: Sequence[MetricName], bootstrap: int = 0) -> None:
    """Raise ConfigError for an unknown metric or a wrong number of resamples."""
    if not metrics or any(metric not in ALL_METRICS for metric in metrics):
        raise ConfigError(
            f"metrics = {list(metrics)!r} cannot be used", hint="choose from: " + ", ".join(ALL_METRICS)
        )
    if type(bootstrap) is not int or bootstrap < 0:
        raise ConfigError(
            f"bootstrap = {bootstrap} cannot be used", hint="use 0 for no interval; 1000 is usual"
        )


def check_lengths(name: str, lines: Sized, other: str, others: Sized) -> None:
    """Raise DataError if two lists of lines, by name, cannot be translations of each other."""
    if len(lines) != len(others):
        raise DataError(
            f"{name}: {count(len(lines), 'line')}, but {other}: {count(len(others), 'line')}",
            hint="line n of one must be the translation of line n of the other",
        )


def _paired_test(
    systems: Mapping[str, list[str]],
    columns: list[list[str | None]],
    scorers: Mapping[MetricName, Metric],
    test: Test,
    draws: int,
    resamples: int,
) -> tuple[dict[str, str], dict[str, list[Result]]]:
    """Return sacreBLEU's signature and results (baseline first) by the title of each metric."""
    from sacrebleu.significance import PairedTest

    signatures, results = PairedTest(
        list(systems.items()),
        {str(metric): scorer for metric, scorer in scorers.items()},
        cast(Any, columns),  # it takes None for a missing reference, but its types lack it
        test_type=test,
        n_samples=draws,
        # A bootstrap gives the intervals too; a randomisation needs a bootstrap for them.
        n_ar_confidence=resamples if test == "ar" and resamples else -1,
    )()
    return {title: str(signature) for title, signature in signatures.items()}, cast(Any, results)


def _score(metric: MetricName, title: str, signature: str, result: Result) -> Score:
    return Score(
        name=title,
        value=float(result.score),
        signature=signature,
        mean=None if result.mean is None else float(result.mean),
        half_width=None if result.ci is None else float(result.ci),
        higher_is_better=metric != "ter",
    )


def _difference(metric: MetricName, system: str, result: Result, base: Result, differing: int) -> Difference:
    """Return the difference of a system from the baseline. `differing` of their lines differ."""
    change, p = float(result.score) - float(base.score), float(cast(float, result.p_value))
    p = 1.0 if change == 0 else max(p, 2.0 ** (1 - differing))
    better = change < 0 if metric == "ter" else change > 0
    return Difference(system=system, metric=metric, difference=change, p_value=p, better=better)


def _checked(
    systems: Mapping[str, Sequence[str]], references: References, names: Sequence[str]
) -> list[list[str | None]]:
    """Return one list for each reference. Raise DataError if lengths differ or a line has no reference."""
    if isinstance(references, str) or any(isinstance(lines, str) for lines in systems.values()):
        raise DataError("one text where a list of lines is needed", hint="pass text.splitlines()")
    single = not references or isinstance(references[0], str)
    columns: list[list[str | None]] = [list(column) for column in ([references] if single else references)]  # type: ignore[arg-type]
    if len(names) != len(columns):
        names = [
            f"reference {n}" if len(columns) > 1 else "the reference" for n in range(1, len(columns) + 1)
        ]
    for name, column in zip(names, columns, strict=True):
        if all(is_blank(line or "") for line in column):
            raise DataError(
                f"{name}: {'only blank lines' if column else 'no lines'}, so nothing to compare with",
                hint="give the reference translations, one a line",
            )
        for system, lines in systems.items():
            check_lengths(system, lines, name, column)
    for number, line in enumerate(zip(*columns, strict=True), 1):
        if all(reference is None for reference in line):
            raise DataError(f"line {number}: every reference is missing", hint="give each line one")
    return columns


def _scorers(
    metrics: Sequence[MetricName], lowercase: bool, language: str | None
) -> tuple[dict[MetricName, Metric], list[str]]:
    """Return sacreBLEU's metrics for a language, and notes about them for the reader."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    check_options(metrics)
    code = _code(language)
    scorers: dict[MetricName, Metric] = {}
    notes: list[str] = []
    for metric in metrics:
        match metric:
            case "bleu":
                tokenizer, note = _bleu_tokenizer(code)
                notes += [note] if note else []
                # force: sacreBLEU would log a warning about tokenised text; we put it into the notes.
                scorers[metric] = BLEU(lowercase=lowercase, tokenize=tokenizer, force=True)
            case "chrf" | "chrf++":
                words = 2 if metric == "chrf++" else 0
                scorers[metric] = _with_equal_types(CHRF(word_order=words, lowercase=lowercase))
            case "ter":
                # Without spaces a sentence would be one word: these two options separate characters.
                ter = TER(normalized=code in _CJK, asian_support=code in _CJK)
                scorers[metric] = _with_equal_types(ter)
                if code in _NO_SPACES:
                    notes.append("TER counts text between spaces as words, but this language has no spaces")
    return scorers, notes


def _with_equal_types(scorer: Metric) -> Metric:
    """Make the scorer return numbers of one type for all resamples.

    sacreBLEU's chrF and TER return numpy's float32 for a resample, but Python's float if nothing matches or
    no reference has a word. It cannot take the mean of a mixture of the two.
    """
    compute = scorer._compute_score_from_stats

    def computed(stats: Any) -> Any:
        result = compute(stats)
        if hasattr(stats, "dtype"):  # a resample
            result.score = stats.dtype.type(result.score)
        return result

    scorer._compute_score_from_stats = computed  # type: ignore[method-assign]
    return scorer


def _code(language: str | None) -> str:
    """The code by which text of the language is split into words."""
    code = base(language or "")
    return "zh" if code == "yue" else code


def _bleu_tokenizer(code: str) -> tuple[str, str]:
    """Return sacreBLEU's tokenizer for a language, and a note if it is not the usual one."""
    if code == "zh":
        return "zh", ""
    if code in _NO_SPACES:
        return "char", "BLEU is of characters, because the language has no spaces between words"
    if code in {"ja", "ko"}:
        from sacrebleu.metrics.bleu import BLEU

        try:
            BLEU(tokenize=f"{code}-mecab")
            return f"{code}-mecab", ""
        except (RuntimeError, ImportError, AssertionError):
            # Not installed, or with another dictionary than the one that the signature would name.
            return "char", (
                f"BLEU is of characters, not comparable with BLEU of words: pip install 'sacrebleu[{code}]' "
                "brings the usual tokenizer"
            )
    return "13a", ""


def _remarks(systems: Mapping[str, Sequence[str]], columns: Sequence[Sequence[str | None]]) -> list[str]:
    """Return notes about empty translations and about text that looks tokenised."""
    notes = []
    blank = 0  # next to a reference with text
    for line in zip(*columns, strict=True):
        given = [is_blank(reference) for reference in line if reference is not None]
        blank += 0 if all(given) else sum(given)
    if blank:
        notes.append(
            f"{count(blank, 'blank line')} among the references, scored as empty references, as sacreBLEU "
            "does; such a line can raise or lower a score, so leave out references that are not complete"
        )
    for name, lines in systems.items():
        empty = sum(map(is_blank, lines))
        expected = sum(all(is_blank(column[n] or "") for column in columns) for n in range(len(lines)))
        if empty > expected:
            notes.append(f"{name}: {count(empty, 'line')} of {len(lines):,} empty")
        tokenised = sum(line.endswith(" .") for line in lines)
        if tokenised >= max(3, len(lines) // 10):
            notes.append(
                f"{name}: {count(tokenised, 'line')} end in ' .'; scores need text that is not tokenised"
            )
    return notes


def _parts(result: Any) -> str:
    """Return the parts of BLEU: n-gram precisions, brevity penalty, length ratio."""
    precisions = "/".join(f"{precision:.1f}" for precision in result.precisions)
    return f"{precisions}, brevity penalty {result.bp:.3f}, length ratio {result.ratio:.3f}"


@contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    """Set sacreBLEU's seed, which it reads from the environment only. Raise ConfigError for a bad one."""
    before = os.environ.get(SEED_VARIABLE)
    value = str(seed) if seed is not None else before or "12345"
    # Zero would leave half of a paired test without a seed.
    if value.lower() != "none" and not (value.isdecimal() and int(value) > 0):
        where = SEED_VARIABLE if seed is None else "seed"
        raise ConfigError(f"{where} = {value} cannot be used", hint="use a whole number above 0")
    os.environ[SEED_VARIABLE] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[SEED_VARIABLE]
        else:
            os.environ[SEED_VARIABLE] = before


def _affordable(resamples: int, lines: int) -> int:
    """Return how many resamples of `lines` lines fit into memory, or 0 if these are too few to be useful."""
    most = _MOST_DRAWS // max(lines, 1)
    return resamples if resamples <= most else most if most >= _FEWEST_SAMPLES else 0


def _fewer(requested: int, possible: int, lines: int) -> str:
    return f"{possible:,} samples, not {requested:,}: for {lines:,} lines, more would not fit into memory"
