"""Translate odd input, one item per line, and count loops, inventions and copies.

    python benchmarks/documents/odd.py --model runs/en-de --text test.en --count 5000

The lines are words of TEXT, also in capitals and repeated, numbers, URLs, emoji, punctuation, words of other
scripts and random letters. Prints counts for plain lines and with `--protect`.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from dragoman import Translator
from dragoman.documents.segment import text_of
from dragoman.documents.translate import translate_lines
from dragoman.text.checks.loops import is_invention, loops

EMOJI = "😀 🎉 ❤️ 👍🏽 🇩🇪 ✓ →".split()
OTHER = "你好 世界 привет мир γειά שלום مرحبا こんにちは สวัสดี नमस्ते".split()


def odd_lines(words: list[str], count: int) -> list[str]:
    """The same lines for the same words."""
    draw = random.Random(1)
    word = lambda: draw.choice(words)  # noqa: E731
    kinds = [
        word,
        lambda: word().upper(),
        lambda: word().capitalize() + draw.choice("!?."),
        lambda: " ".join([word()] * draw.randint(2, 6)),
        lambda: str(draw.randint(0, 10**6)),
        lambda: f"{draw.randint(1, 99)}.{draw.randint(0, 99)} %",
        lambda: f"https://{word().lower()}.example/{draw.randint(1, 99)}",
        lambda: draw.choice(EMOJI),
        lambda: f"{word()} {draw.choice(EMOJI)}",
        lambda: draw.choice(OTHER),
        lambda: "".join(draw.choices("bcdfghjklmnpqrstvwxz", k=draw.randint(2, 12))),
        lambda: draw.choice("?!.,;-…") * draw.randint(1, 8),
    ]
    return [draw.choice(kinds)() for _ in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--count", type=int, default=5000)
    options = parser.parse_args()
    words = sorted({word for word in options.text.read_text(encoding="utf-8").split() if word.isalpha()})
    lines = odd_lines(words, options.count)
    translator = Translator.load(options.model)
    show("lines", lines, (one.text for one in translator.translate(lines)))
    results = list(translate_lines(translator, lines))
    show("--protect", lines, (text_of(one.content) for one in results))
    print(f"{'--protect':10} marked {sum(bool(one.doubts) for one in results):>6,}")


def show(name: str, lines: list[str], translations: Iterable[str]) -> None:
    counts: Counter[str] = Counter()
    for line, text in zip(lines, translations, strict=True):
        counts["loops"] += loops(text, line) > 0
        counts["far too long"] += is_invention(text, line)
        counts["copied"] += text == line
        counts["empty"] += not text
    print(
        f"{name:10} "
        + ", ".join(f"{what} {counts[what]:,}" for what in ("loops", "far too long", "copied", "empty"))
    )


if __name__ == "__main__":
    main()
