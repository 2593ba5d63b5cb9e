"""Which pairs are left out of training, and why."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Annotated, Any

from dragoman.base.options import Option, Options
from dragoman.text.seen import Seen

EMPTY_SOURCE = "empty source"
EMPTY_TARGET = "empty target"
TOO_LONG = "too long"
RATIO = "length ratio"
DUPLICATE = "duplicate"
_REASONS = (EMPTY_SOURCE, EMPTY_TARGET, TOO_LONG, RATIO, DUPLICATE)


_EXAMPLES = 3  # line numbers shown for each reason
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
    """The number of pairs set aside for one reason, and the first few line numbers."""

    count: int = 0
    lines: list[int] = field(default_factory=list)


class FilterReport:
    """Counts of the pairs read and set aside. As text: a line for the total, then one for each reason."""

    def __init__(self) -> None:
        self.read = 0
        self.set_aside = {reason: SetAside() for reason in _REASONS}

    @property
    def kept(self) -> int:
        """The number of pairs that were read and not set aside."""
        return self.read - sum(aside.count for aside in self.set_aside.values())

    def __str__(self) -> str:
        dropped = self.read - self.kept
        lines = [f"{self.read:,} pairs read, {self.kept:,} kept, {dropped:,} set aside"]
        for reason, aside in self.set_aside.items():
            if aside.count:
                numbers = ", ".join(f"{number:,}" for number in aside.lines)
                more = ", ..." if aside.count > len(aside.lines) else ""
                word = "line" if aside.count == 1 else "lines"
                lines.append(f"  {reason}: {aside.count:,} ({word} {numbers}{more})")
        return "\n".join(lines)

    def to_table(self) -> dict[str, Any]:
        """Return the same as plain values; reasons without pairs are left out."""
        reasons = {name: dataclasses.asdict(aside) for name, aside in self.set_aside.items() if aside.count}
        return {"read": self.read, "kept": self.kept, "set_aside": reasons}


class Filter:
    """Checks pairs and counts those to set aside in `report`."""

    def __init__(self, config: FilterConfig) -> None:
        self.config = config
        self.report = FilterReport()
        self._seen = Seen()

    def check(
        self, number: int, source: str, target: str, source_length: int, target_length: int
    ) -> str | None:
        """Return why to set the pair on line `number` aside, or None to keep it. Lengths are in tokens."""
        self.report.read += 1
        reason = self._reason(source, target, source_length, target_length)
        if reason is not None:
            aside = self.report.set_aside[reason]
            aside.count += 1
            if len(aside.lines) < _EXAMPLES:
                aside.lines.append(number)
        return reason

    def _reason(self, source: str, target: str, source_length: int, target_length: int) -> str | None:
        if not source.strip():
            return EMPTY_SOURCE
        if not target.strip():
            return EMPTY_TARGET
        shorter, longer = sorted((source_length, target_length))
        if longer > self.config.max_length:
            return TOO_LONG
        if longer > _SHORT and longer > self.config.max_ratio * max(shorter, 1):
            return RATIO
        # Check this last, so that only pairs that pass every other check count as seen.
        if self.config.drop_duplicates and not self._seen.add(f"{source}\0{target}"):
            return DUPLICATE
        return None
