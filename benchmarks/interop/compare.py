"""Compares imported models with their originals in the other program, on real sentences.

    python benchmarks/interop/compare.py models imported --text test.en --reference test.de test.fr test.cs
    python benchmarks/interop/compare.py models imported hf-opus --text test.en --show

`models` holds what train.py wrote, `imported` what `dragoman import` makes of it: the script imports what
is missing there, without the import's own comparison. It prints one row per model:

    sentences   lines of the text, source tokens of which all must be equal
    cut         sentences with a translation at the length limit. They are left out of n-best and
                score: at the limit Marian drops the end token, Hugging Face adds it for free, and ours pays
                its price
    greedy      greedy translations that differ, and how many of them are ties
    n-best      the same for the lists of beam 4
    logits      largest difference of a logit, teacher-forced on the greedy translations (Hugging Face), or
                of a log-probability of a reference's token, which Marian prints with five decimals
    score       largest difference of a score, normalised for length by the other program's rule
    texts       greedy translations with equal tokens whose text differs, spaces at the ends apart

Two translations are a tie if the imported model scores both within 1e-5 of each other at the first place
where the lists differ: float32 cannot tell them apart, and either order is right. Marian mistranslates its
own pre-norm models, so for these only the probabilities are compared.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import huggingface
import marian
import torch
from material import Hypothesis, Text

from dragoman import Translator
from dragoman.translation.search.engine import Hypothesis as Ours
from dragoman.translation.search.engine import Request
from dragoman.translation.search.options import Beam

BEAM = 4
TIE = 1e-5
LONGEST = 100  # tokens of a translation by Hugging Face, whose own limit of 512 takes long to reach
LOGITS_OF = 100  # sentences whose logits are compared: each has as many as positions times vocabulary


@dataclass(frozen=True, kw_only=True)
class Other:
    """The original: what it reads and translates, and its probabilities."""

    lines: list[str]
    source: list[list[int]]  # the end included
    references: list[str]
    limit: Callable[[list[int]], int]  # of a translation's tokens, the end not counted
    translate: Callable[..., list[list[Hypothesis]]] | None  # takes the beam; None if no reference
    logits: Callable[[list[int], list[int]], torch.Tensor] | None = None
    targets: list[list[int]] | None = None  # the references' ids, the end included
    word_scores: Callable[[], list[list[float]]] | None = None  # of the references


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("models", type=Path)
    parser.add_argument("imported", type=Path)
    parser.add_argument("cases", nargs="*", help="default: all folders in models")
    parser.add_argument("--text", type=Path, required=True, help="source lines")
    parser.add_argument(
        "--reference", type=Path, nargs="+", required=True, help="translations, first the usual"
    )
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--show", action="store_true", help="print the first differences and translations")
    options = parser.parse_args()
    torch.set_num_threads(1)
    text = Text.read([options.text, *options.reference]).head(options.lines)
    names = options.cases or sorted(path.name for path in options.models.iterdir() if path.is_dir())
    print(f"{'model':26} sentences cut greedy (ties) n-best (ties)  logits   score texts  BLEU")
    for name in names:
        target = options.imported / name
        if not target.exists():
            arguments = ["import", "--no-verify", str(options.models / name), "-o", str(target)]
            subprocess.run([sys.executable, "-m", "dragoman", *arguments], check=True)
        print(f"{name:26} {row(options.models / name, target, text, options.show)}", flush=True)


def row(original: Path, imported: Path, text: Text, show: bool) -> str:
    peer = of_marian if (original / "model.npz").exists() else of_huggingface
    other, translator = peer(original, text), Translator.load(imported, device="cpu")
    source = translator.tokenizer.encode_source(other.lines)
    end = translator.tokenizer.end_id
    if wrong := [i for i, ids in enumerate(source) if [*ids, end] != other.source[i]]:
        shown = f"{other.lines[wrong[0]]!r}: {[*source[wrong[0]], end]} and {other.source[wrong[0]]}"
        return f"source tokens of {len(wrong)} lines differ: {shown}"
    count = f"{len(source):9}"
    if other.translate is None:
        return f"{count}   -      -      -      -      - {word_scores(translator, source, other):8.1e}"
    comparison = Comparison(translator, source, other, show=show)
    greedy, best = comparison.differing(1), comparison.differing(BEAM)
    closest = comparison.logits() if other.logits else word_scores(translator, source, other)
    return (
        f"{count} {len(comparison.cut):3} {greedy[0]:6} {greedy[1]:6} {best[0]:6} {best[1]:6} "
        f"{closest:8.1e} {max(greedy[2], best[2]):8.1e} {comparison.texts():5} {comparison.bleu():5.1f}"
    )


def word_scores(translator: Translator, source: list[list[int]], other: Other) -> float:
    """Return the largest difference of a log-probability, over all tokens of the references."""
    assert other.targets
    assert other.word_scores
    pairs = [(ids, target[:-1]) for ids, target in zip(source, other.targets, strict=True)]
    scored = dict(translator.engine.score(pairs, translator.generation))
    return max(
        abs(a - b)
        for i, theirs in enumerate(other.word_scores())
        for a, b in zip(scored[i].token_logp, theirs, strict=True)
    )


class Comparison:
    """Translations of both programs, by the width of the beam."""

    def __init__(self, translator: Translator, source: list[list[int]], other: Other, *, show: bool) -> None:
        self.translator, self.source, self.other, self.show = translator, source, other, show
        self.theirs: dict[int, list[list[Hypothesis]]] = {}
        self.ours: dict[int, list[list[Ours]]] = {}
        for beam in (1, BEAM):
            self.theirs[beam] = other.translate(beam=beam)
            requests = [
                Request(source=ids, how=self.how(beam), max_tokens=other.limit([*ids, 0])) for ids in source
            ]
            found = dict(translator.engine.search(requests))
            self.ours[beam] = [found[i] for i in range(len(source))]
        self.cut = {i for i in range(len(source)) if self.was_cut(i)}

    def was_cut(self, i: int) -> bool:
        limit = self.other.limit([*self.source[i], 0])
        return any(
            any(one.truncated for one in self.ours[beam][i])
            or any(len(without_end(one.tokens)) >= limit for one in self.theirs[beam][i])
            for beam in (1, BEAM)
        )

    def how(self, beam: int) -> Beam:
        return replace(self.translator.generation, size=beam, n_best=beam)

    def pieces(self, one: Ours) -> list[str]:
        """Return the pieces, spelled as the other program spells them."""
        ended = [] if one.truncated else [self.translator.tokenizer.end_id]
        return self.translator.tokenizer.target_pieces([*one.tokens, *ended])

    def differing(self, beam: int) -> tuple[int, int, float]:
        """Return how many lists differ, how many of these are ties, and the largest difference of a score."""
        different, ties, worst = 0, 0, 0.0
        for i, (ours, theirs) in enumerate(zip(self.ours[beam], self.theirs[beam], strict=True)):
            if not self.source[i] or (i in self.cut and beam > 1):
                continue  # ours does not search for a blank line
            same = 0
            for own, their in zip(ours, theirs, strict=False):
                if without_end(self.pieces(own)) != without_end(their.tokens):
                    break
                same += 1
                score = own.logp if beam == 1 and self.other.logits else own.score
                worst = worst if i in self.cut else max(worst, abs(score - their.score))
            if same == len(ours) == len(theirs):
                continue
            different += 1
            gap = self.gap(i, ours[same], theirs[same]) if same < min(len(ours), len(theirs)) else 1.0
            ties += gap < TIE
            if self.show and different <= 3:
                print(f"line {i + 1}, beam {beam}, place {same + 1}, gap {gap:.1e}: {self.other.lines[i]}")
                for one in ours:
                    print(f"    ours   {one.score:9.5f} {' '.join(self.pieces(one))}")
                for one in theirs:
                    print(f"    theirs {one.score:9.5f} {' '.join(one.tokens)}")
        return different, ties, worst

    def gap(self, i: int, own: Ours, their: Hypothesis) -> float:
        """Return how far apart the imported model scores the two."""
        source, pair = self.source[i], (own.tokens, self.ids(without_end(their.tokens)))
        scored = dict(self.translator.engine.score([(source, ids) for ids in pair], self.how(1)))
        return abs(scored[0].score - scored[1].score)

    def ids(self, tokens: list[str]) -> list[int]:
        if not hasattr(self, "_ids"):
            size = self.translator.tokenizer.target_size
            self._ids = {self.translator.tokenizer.target_pieces([i])[0]: i for i in range(size)}
        return [self._ids[token] for token in tokens]

    def logits(self) -> float:
        """Return the largest difference of a logit over some sentences."""
        assert self.other.logits
        model, tokenizer, worst = self.translator.bundle.model.eval(), self.translator.tokenizer, 0.0
        for source, (their,) in list(zip(self.other.source, self.theirs[1], strict=True))[:LOGITS_OF]:
            target = [*self.ids(without_end(their.tokens)), tokenizer.end_id]
            start = [tokenizer.start_id, *target[:-1]]
            with torch.no_grad():
                own_TV = model(torch.tensor([source]), torch.tensor([len(source)]), torch.tensor([start]))[0]
            worst = max(worst, (own_TV - self.other.logits(source, target)).abs().max().item())
        return worst

    def texts(self) -> int:
        """Return how many greedy translations with equal tokens have another text."""
        different = 0
        for (own,), (their,) in zip(self.ours[1], self.theirs[1], strict=True):
            if without_end(self.pieces(own)) == without_end(their.tokens):
                different += self.translator.tokenizer.decode(own.tokens) != their.text.strip()
        return different

    def bleu(self) -> float:
        """Return BLEU of the other program's greedy translations, to show that the model is a real one."""
        import sacrebleu

        texts = [each[0].text for each in self.theirs[1]]
        if self.show:
            print("\n".join(f"    {text}" for text in texts[:3]))
        return float(sacrebleu.corpus_bleu(texts, [self.other.references]).score)


def without_end(tokens: list[str]) -> list[str]:
    return tokens[:-1] if tokens and tokens[-1] == "</s>" else list(tokens)


def of_marian(folder: Path, text: Text) -> Other:
    decodes = not marian.is_pre_norm(folder)
    return Other(
        lines=text.source,
        source=[ids for _, ids in marian.tokens_of(folder, text.source)],
        references=text.target,
        limit=lambda ids: 3 * len(ids),  # --max-length-factor of pymarian decode
        translate=partial(marian.translate, folder, text.source) if decodes else None,
        targets=[ids for _, ids in marian.tokens_of(folder, text.target, "target")],
        word_scores=lambda: marian.word_scores(folder, text.source, text.target),
    )


def of_huggingface(folder: Path, text: Text) -> Other:
    model, tokenizer = huggingface.load(folder)
    lines, references = text.source, text.target
    tags = {f">>{name}<<": code for code, name in huggingface.LANGUAGES.items() if code in text.targets}
    if codes := [code for code in tokenizer.supported_language_codes if code in tags]:
        chosen = [codes[i % len(codes)] for i in range(len(lines))]
        lines = [f"{code} {line}" for code, line in zip(chosen, lines, strict=True)]
        references = [text.targets[tags[code]][i] for i, code in enumerate(chosen)]
    model.generation_config.max_length = LONGEST + 2  # it counts the start and the end
    return Other(
        lines=lines,
        source=tokenizer(lines).input_ids,
        references=references,
        limit=lambda ids: LONGEST,
        translate=partial(huggingface.translate, model, tokenizer, lines, batch=32),
        logits=partial(huggingface.logits, model),
    )


if __name__ == "__main__":
    main()
