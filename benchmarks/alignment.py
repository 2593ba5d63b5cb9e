"""Measure which attention aligns words best: AER by layer, head and step, compared with IBM Model 1.

    dragoman demo -o runs/demo
    python benchmarks/alignment.py runs/demo

The text is the demo's test text, the gold alignments come from its grammar, and Model 1 learns from the
demo's training text. `--text FOLDER` names the same text for another model that was trained on it.

Prints the alignment error rate in percent (Och and Ney 2003). Each target token is linked to the source token
with the largest weight, at the step that predicts it and at the step that reads it. For Model 1, `->` links
each target token by p(target | source), `<-` each source token by p(source | target), and `both` has the
links of both.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from gold import gold_alignment
from numpy.typing import NDArray

from dragoman import Alignment, Translation, Translator
from dragoman.base.tables import aligned
from dragoman.evaluation.alignment import score_alignments
from dragoman.models.shapes import TransformerOptions
from dragoman.text.lexicon.lexicon import IdPairs, learn
from dragoman.text.lexicon.pharaoh import Gold
from dragoman.translation.search.alignment import links_of

_WIDTH = 400  # translations of a token that Model 1 keeps


def by_attention(
    translator: Translator, english: list[str], german: list[str], gold: list[Gold]
) -> list[list[str]]:
    """Return a row for each layer and each of its heads."""
    config = translator.bundle.model.config
    if not isinstance(config, TransformerOptions):
        raise SystemExit(f"{config.architecture}: only Transformers have heads to compare")
    rows = []
    for layer in range(1, config.decoder_layers + 1):
        for which in (f"{layer}", *(f"{layer}.{head}" for head in range(1, config.heads + 1))):
            scored = translator.score(english, german, attention=which, alignment=True)
            predicting, reading = (
                aer((words(one, reading=step) for one in scored), gold) for step in (False, True)
            )
            rows.append([which, predicting, reading])
    return rows


def by_model_1(
    translator: Translator, text: Path, english: list[str], german: list[str], gold: list[Gold]
) -> list[list[str]]:
    """Return a row for each direction of IBM Model 1 and for the links that both have."""
    tokenizer = translator.tokenizer
    sides = [
        tokenizer.encode_source(lines(text / "train.en")),
        tokenizer.encode_target(lines(text / "train.de")),
    ]
    sizes = [tokenizer.source_size, tokenizer.target_size]
    p_VW, p_WV = table(*sides, *sizes), table(*sides[::-1], *sizes[::-1])
    found: dict[str, list[Alignment]] = {"->": [], "<-": [], "both": []}
    for source, target in zip(english, german, strict=True):
        s, t = tokenizer.encode_source([source])[0], tokenizer.encode_target([target])[0]
        forward = {(int(i), j) for j, i in enumerate(p_VW[np.ix_(s, t)].argmax(0))}
        backward = {(i, int(j)) for i, j in enumerate(p_WV[np.ix_(t, s)].argmax(0))}
        spans = tuple(tokenizer.spans(source, "source")), tuple(tokenizer.spans(target, "target"))
        for name, links in (("->", forward), ("<-", backward), ("both", forward & backward)):
            found[name].append(Alignment(source, target, *spans, tuple(sorted(links))))
    return [
        [f"IBM Model 1 {name}", aer((one.words() for one in each), gold), ""] for name, each in found.items()
    ]


def table(source: list[list[int]], target: list[list[int]], rows: int, columns: int) -> NDArray[np.float32]:
    """p(target token | source token) of Model 1, as a matrix."""
    text = IdPairs(len(source))
    for one, other in zip(source, target, strict=True):
        text.add(one, other)
    lexicon = learn(text, source_vocab=rows, target_vocab=columns, width=_WIDTH)
    p = np.zeros((rows, columns + 1), dtype=np.float32)  # the last column takes what fills up the rows
    np.put_along_axis(p, lexicon.candidates_VN.astype(np.int64) % (columns + 1), lexicon.probability_VN, 1)
    return p[:, :columns]


def aer(found: Iterable[Iterable[tuple[int, int]]], gold: list[Gold]) -> str:
    return f"{100 * score_alignments(found, gold).aer:.1f}"


def words(scored: Translation, *, reading: bool) -> tuple[tuple[int, int], ...]:
    """Return the links of words by the attention of a translation."""
    own = scored.alignment
    if own is None:
        return ()
    return replace(own, links=links_of(scored.attention, own.source, own.target, reading=reading)).words()


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--text", type=Path, help="the folder of train.en, train.de, test.en and test.de")
    options = parser.parse_args()
    text = options.text or options.model / "text"
    english, german = lines(text / "test.en"), lines(text / "test.de")
    gold = [gold_alignment(*pair) for pair in zip(english, german, strict=True)]
    translator = Translator.load(options.model)
    rows = by_attention(translator, english, german, gold)
    rows += by_model_1(translator, text, english, german, gold)
    print("\n".join(aligned([["attention", "predicting", "reading"], *rows], right=(1, 2))))


if __name__ == "__main__":
    main()
