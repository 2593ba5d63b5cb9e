"""Filter pairs out of training, and count the reasons."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from dragoman.base.options import Option, Options
from dragoman.text.blank import is_blank

EMPTY_SOURCE = "empty source"
EMPTY_TARGET = "empty target"
TOO_LONG = "too long"
RATIO = "length ratio"
DUPLICATE = "duplicate"
REASONS = (EMPTY_SOURCE, EMPTY_TARGET, TOO_LONG, RATIO, DUPLICATE)


_EXAMPLES = 3  # lines named for each reason
_SHORT = 20  # tokens; no ratio is checked up to here, since "Hi!" may have eight tokens in another language


@dataclass(frozen=True, kw_only=True)
class FilterConfig(Options, section="data.filter"):
    """Which training pairs to leave out."""

    max_length: Annotated[int, Option("Longest sentence, in tokens, on either side.", at_least=1)] = 256
    max_ratio: Annotated[
        float,
        Option(
            f"Largest ratio of the longer side's tokens to the shorter's, if the longer has over {_SHORT}. "
            "inf allows any.",
            at_least=1,
            infinite=True,
        ),
    ] = 9.0
    drop_duplicates: Annotated[bool, Option("Keep only the first of equal pairs.")] = True


@dataclass
class SetAside:
    """The number of pairs set aside for one reason, and where the first few are."""

    count: int = 0
    lines: list[int | str] = field(default_factory=list)


class FilterReport:
    """Counts of the pairs read and set aside. As text: a line for the total, then one for each reason."""

    def __init__(self) -> None:
        self.read = 0
        self.set_aside = {reason: SetAside() for reason in REASONS}

    def keep(self, pairs: int) -> None:
        """Count pairs that were kept."""
        self.read += pairs

    def leave_out(self, reason: str, line: int | str) -> None:
        """Count a pair that was set aside. `line` is its number, or file and number."""
        self.read += 1
        aside = self.set_aside[reason]
        aside.count += 1
        if len(aside.lines) < _EXAMPLES:
            aside.lines.append(line)

    @property
    def kept(self) -> int:
        """The number of pairs that were read and not set aside."""
        return self.read - sum(aside.count for aside in self.set_aside.values())

    def __str__(self) -> str:
        dropped = self.read - self.kept
        lines = [f"{self.read:,} pairs read, {self.kept:,} kept, {dropped:,} set aside"]
        for reason, aside in self.set_aside.items():
            if aside.count:
                numbers = ", ".join(n if isinstance(n, str) else f"{n:,}" for n in aside.lines)
                more = ", ..." if aside.count > len(aside.lines) else ""
                word = "line" if aside.count == 1 else "lines"
                lines.append(f"  {reason}: {aside.count:,} ({word} {numbers}{more})")
        return "\n".join(lines)


def reason_to_leave_out(
    config: FilterConfig, source: str, target: str, source_length: int, target_length: int
) -> str | None:
    """Return why to set a pair aside, or None. Lengths are in tokens. Duplicates are not looked for."""
    if is_blank(source):
        return EMPTY_SOURCE
    if is_blank(target):
        return EMPTY_TARGET
    shorter, longer = sorted((source_length, target_length))
    if longer > config.max_length:
        return TOO_LONG
    if longer > _SHORT and longer > config.max_ratio * max(shorter, 1):
        return RATIO
    return None
