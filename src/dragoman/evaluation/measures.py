"""How good a translation is, as sacreBLEU measures it: BLEU, chrF and TER with their signatures.

BLEU (Papineni et al. 2002) counts shared word n-grams, chrF (Popović 2015) shared character n-grams,
TER (Snover et al. 2006) the edits that turn a translation into the reference. A signature states
every choice behind a figure, so that someone else can get the same one (Post 2018).

Intervals and p-values are sacreBLEU's: 1,000 bootstrap resamples of the lines (Koehn 2004) or 10,000
approximate randomisations (Riezler and Maxwell 2005). They are drawn with the seed in the environment
variable SACREBLEU_SEED, 12345 where it is not set: equal input gives equal figures.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.tables import count
from dragoman.evaluation.scores import TESTS, Comparison, Difference, MetricName, Score, Scores, Test

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

METRICS: tuple[MetricName, ...] = ("bleu", "chrf", "ter")
SEED_VARIABLE = "SACREBLEU_SEED"

_SAMPLES = {"bs": 1000, "ar": 10_000}

# sacreBLEU holds every resample of every line at once: at chrF's 72 bytes a line these are 1.5 GB.
_MOST_DRAWS = 20_000_000
_FEWEST_SAMPLES = 100  # fewer say little

_CODES = {"cmn": "zh", "yue": "zh", "zho": "zh", "chi": "zh", "jpn": "ja", "kor": "ko",
          "tha": "th", "lao": "lo", "khm": "km", "mya": "my", "bur": "my"}  # fmt: skip
_CJK = {"zh", "ja"}
_NO_SPACES = {"th", "lo", "km", "my"}  # Thai, Lao, Khmer, Burmese


def score_corpus(
    hypotheses: Sequence[str],
    references: Sequence[str] | Sequence[Sequence[str]],
    *,
    lowercase: bool = False,
    target_language: str | None = None,
    metrics: Sequence[MetricName] = METRICS,
    bootstrap: int = 1000,
    seed: int | None = None,
    name: str = "the translations",
    reference_names: Sequence[str] = (),
) -> Scores:
    """The scores of `hypotheses` (plain text, not tokenised) against one list of references or several.

    `lowercase` lets BLEU and chrF disregard case (TER always does, as in sacreBLEU).
    `target_language` ("de", "zh-CN") chooses how text is cut into words. `bootstrap` is the number of
    resamples, 0 for no interval. `seed` stands in for SACREBLEU_SEED. `name` and `reference_names`
    are what errors call the lists, such as file names. A blank line in one of several references means
    that there is none for that line. Raises DataError where the numbers of lines differ or there is
    nothing to score.
    """
    columns = _checked({name: hypotheses}, references, reference_names)
    measures, notes = _measures(metrics, lowercase, target_language)
    if bootstrap < 0:
        raise ConfigError(f"bootstrap = {bootstrap}", hint="0 is for no interval, 1000 is usual")
    resamples = _affordable(bootstrap, len(hypotheses))
    if resamples < bootstrap:
        notes.append(_fewer(bootstrap, resamples, len(hypotheses)))
    if resamples == 1 or len(hypotheses) == 1:
        resamples = 0  # one of either has no spread
    found: dict[MetricName, Score] = {}
    with _seeded(seed):
        for metric, measure in measures.items():
            result = measure.corpus_score(
                list(hypotheses),
                cast(list[list[str]], columns),  # None is meant: sacreBLEU's type forgets it
                n_bootstrap=max(resamples, 1),
            )
            found[metric] = Score(
                name=result.name,
                value=float(result.score),
                signature=str(measure.get_signature()),
                # sacreBLEU shows these two only as text.
                mean=float(result._mean) if resamples else None,
                half_width=float(result._ci) if resamples else None,
                higher_is_better=metric != "ter",
                detail=_parts(result) if metric == "bleu" else "",
            )
    return Scores(
        by_metric=found,
        lines=len(hypotheses),
        references=len(columns),
        resamples=resamples,
        notes=(*notes, *_remarks({name: hypotheses}, columns)),
    )


def compare(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str] | Sequence[Sequence[str]],
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
    """Whether systems, by name, differ from `baseline` (or the first) by more than chance.

    `test` is "bs", paired bootstrap resampling, or "ar", paired approximate randomisation; `samples`
    how often (1,000 and 10,000). Other options are as in `score_corpus`. Raises DataError as it does,
    ConfigError for fewer than two systems or an unknown baseline.

    The p-values are sacreBLEU's but for two cases in which its strict ">" calls chance impossible:
    systems with equal scores get 1, and a randomisation test of systems that differ on k lines at
    least 2^(1-k), as swapping none of the k or all of them is as far apart as what was observed.
    """
    from sacrebleu.significance import PairedTest, Result

    if len(systems) < 2:
        raise ConfigError("a comparison needs two systems or more", hint="name a baseline and a system")
    if test not in TESTS:
        raise ConfigError(f"test = {test!r}", hint="bs: paired bootstrap; ar: approximate randomisation")
    first = next(iter(systems)) if baseline is None else baseline
    if first not in systems:
        raise ConfigError(f"baseline {first!r} is none of the systems", hint="one of: " + ", ".join(systems))
    if samples is not None and samples < 1:
        raise ConfigError(f"samples = {samples}", hint="it must be at least 1")
    columns = _checked(systems, references, reference_names)
    ordered = {first: list(systems[first])} | {name: list(lines) for name, lines in systems.items()}
    lines = len(ordered[first])
    measures, notes = _measures(metrics, lowercase, target_language)
    wanted = samples or _SAMPLES[test]
    # A randomisation holds 8 bytes a line, a ninth of what a bootstrap does.
    draws = max(1, min(wanted, _MOST_DRAWS * (9 if test == "ar" else 1) // lines))
    if draws < wanted:
        notes.append(_fewer(wanted, draws, lines))
    resamples = draws if test == "bs" else _affordable(_SAMPLES["bs"], lines)

    with _seeded(seed):
        signatures, results = PairedTest(
            list(ordered.items()),
            {str(metric): measure for metric, measure in measures.items()},
            cast(list[list[str]], columns),  # None is meant: sacreBLEU's type forgets it
            test_type=test,
            n_samples=draws,
            # A bootstrap gives the intervals too; a randomisation needs one beside it.
            n_ar_confidence=resamples if test == "ar" and resamples else -1,
        )()

    scores: dict[str, dict[MetricName, Score]] = {name: {} for name in ordered}
    differences = []
    for metric, (title, signature) in zip(measures, signatures.items(), strict=True):
        base = cast(Result, results[title][0])
        for name, result in zip(ordered, cast(list[Result], results[title]), strict=True):
            scores[name][metric] = Score(
                name=title,
                value=float(result.score),
                signature=str(signature),
                mean=None if result.mean is None else float(result.mean),
                half_width=None if result.ci is None else float(result.ci),
                higher_is_better=metric != "ter",
            )
            if result.p_value is None:  # the baseline
                continue
            change = float(result.score) - float(base.score)
            differences.append(
                Difference(
                    system=name,
                    metric=metric,
                    difference=change,
                    p_value=_honest(float(result.p_value), change, test, ordered[name], ordered[first]),
                    better=change < 0 if metric == "ter" else change > 0,
                )
            )
    notes += _remarks(ordered, columns)
    return Comparison(
        baseline=first,
        test=test,
        scores={
            name: Scores(
                by_metric=by_metric,
                lines=lines,
                references=len(columns),
                resamples=resamples,
                notes=tuple(notes),
            )
            for name, by_metric in scores.items()
        },
        differences=tuple(differences),
    )


def _honest(p: float, change: float, test: Test, system: Sequence[str], baseline: Sequence[str]) -> float:
    """The p-value, where sacreBLEU's strict ">" would call impossible what chance must bring."""
    if change == 0:
        return 1.0
    if test == "ar":
        differing = sum(a != b for a, b in zip(system, baseline, strict=True))
        return max(p, 2.0 ** (1 - differing))
    return p


def _checked(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str] | Sequence[Sequence[str]],
    names: Sequence[str],
) -> list[list[str | None]]:
    """The references as one list a column, None where a column has none; all of the same length."""
    if isinstance(references, str) or any(isinstance(lines, str) for lines in systems.values()):
        raise DataError("one text was given where a list of lines is needed", hint="text.splitlines()")
    single = not references or isinstance(references[0], str)
    columns: list[list[str]] = [list(column) for column in ([references] if single else references)]  # type: ignore[arg-type]
    if len(names) != len(columns):
        names = [
            f"reference {n}" if len(columns) > 1 else "the reference" for n in range(1, len(columns) + 1)
        ]
    for name, column in zip(names, columns, strict=True):
        if not any(line.strip() for line in column):
            raise DataError(
                f"{name}: {'only blank lines' if column else 'no lines'}, so nothing to compare with",
                hint="give the reference translations, one a line",
            )
        for system, lines in systems.items():
            if len(lines) != len(column):
                raise DataError(
                    f"{system}: {count(len(lines), 'line')}, but {name}: {count(len(column), 'line')}",
                    hint="line n of one must be the translation of line n of the other",
                )
    # A line needs one reference at least; an empty one if all are.
    return [
        [
            line if line.strip() or not any(other[n].strip() for other in columns) else None
            for n, line in enumerate(column)
        ]
        for column in columns
    ]


def _measures(
    metrics: Sequence[MetricName], lowercase: bool, language: str | None
) -> tuple[dict[MetricName, Metric], list[str]]:
    """sacreBLEU's metrics for a language, and what to know about them."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF
    from sacrebleu.metrics.ter import TER

    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown or not metrics:
        raise ConfigError(f"metrics = {list(metrics)!r}", hint="choose from: " + ", ".join(METRICS))
    code = (language or "").replace("_", "-").split("-")[0].lower()
    code = _CODES.get(code, code)
    measures: dict[MetricName, Metric] = {}
    notes: list[str] = []
    for metric in metrics:
        match metric:
            case "bleu":
                tokenizer, remark = _bleu_tokenizer(code)
                notes += [remark] if remark else []
                # force: the remark on tokenised text is ours (_remarks); sacreBLEU would log it.
                measures[metric] = BLEU(lowercase=lowercase, tokenize=tokenizer, force=True)
            case "chrf":
                measures[metric] = _with_equal_types(CHRF(lowercase=lowercase))
            case "ter":
                # Without spaces a sentence would be one word: these two options part the characters.
                measures[metric] = TER(normalized=code in _CJK, asian_support=code in _CJK)
                if code in _NO_SPACES:
                    notes.append("TER counts what stands between spaces, which in this language is no word")
    return measures, notes


def _with_equal_types(measure: Metric) -> Metric:
    """`measure`, made to give numbers of one type for all resamples.

    sacreBLEU's chrF of a resample is numpy's float32, but Python's 0.0 where nothing matches, and of
    the two together it cannot take the mean.
    """
    compute = measure._compute_score_from_stats

    def computed(stats: Any) -> Any:
        result = compute(stats)
        if hasattr(stats, "dtype"):  # a resample
            result.score = stats.dtype.type(result.score)
        return result

    measure._compute_score_from_stats = computed  # type: ignore[method-assign]
    return measure


def _bleu_tokenizer(code: str) -> tuple[str, str]:
    """sacreBLEU's tokenizer for a language, and a remark where it is not the usual one."""
    if code == "zh":
        return "zh", ""
    if code in _NO_SPACES:
        return "char", "BLEU is of characters: the language does not part its words"
    if code in {"ja", "ko"}:
        from sacrebleu.metrics.bleu import BLEU

        try:
            BLEU(tokenize=f"{code}-mecab")
            return f"{code}-mecab", ""
        except (RuntimeError, ImportError, AssertionError):
            # Not installed, or another dictionary than the one the signature would name.
            return "char", (
                f"BLEU is of characters, not comparable with BLEU of words: pip install 'sacrebleu[{code}]' "
                "brings the usual tokenizer"
            )
    return "13a", ""


def _remarks(systems: Mapping[str, Sequence[str]], columns: Sequence[Sequence[str | None]]) -> list[str]:
    """What looks wrong in the text itself."""
    notes = []
    for name, lines in systems.items():
        empty = sum(not line.strip() for line in lines)
        expected = sum(not any((column[n] or "").strip() for column in columns) for n in range(len(lines)))
        if empty > expected:
            notes.append(f"{name}: {count(empty, 'line')} of {len(lines):,} empty")
        tokenised = sum(line.endswith(" .") for line in lines)
        if tokenised >= max(3, len(lines) // 10):
            notes.append(
                f"{name}: {count(tokenised, 'line')} end in ' .': scores are of text before tokenisation"
            )
    return notes


def _parts(result: Any) -> str:
    """What BLEU is made of: sacreBLEU's verbose part."""
    precisions = "/".join(f"{precision:.1f}" for precision in result.precisions)
    return f"{precisions}, brevity penalty {result.bp:.3f}, length ratio {result.ratio:.3f}"


@contextmanager
def _seeded(seed: int | None) -> Iterator[None]:
    """sacreBLEU reads its seed from the environment only. Raises ConfigError if it is no seed."""
    before = os.environ.get(SEED_VARIABLE)
    value = str(seed) if seed is not None else before or "12345"
    # Zero would leave half of a paired test unseeded.
    if value.lower() != "none" and not (value.isdecimal() and int(value) > 0):
        where = SEED_VARIABLE if seed is None else "seed"
        raise ConfigError(f"{where} = {value}", hint="a whole number above 0 is needed")
    os.environ[SEED_VARIABLE] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[SEED_VARIABLE]
        else:
            os.environ[SEED_VARIABLE] = before


def _affordable(resamples: int, lines: int) -> int:
    """As many resamples of so many lines as memory holds, or none if too few to say anything."""
    most = _MOST_DRAWS // max(lines, 1)
    return resamples if resamples <= most else most if most >= _FEWEST_SAMPLES else 0


def _fewer(wanted: int, got: int, lines: int) -> str:
    return f"{got:,} samples, not {wanted:,}: {lines:,} lines would not fit into memory"
