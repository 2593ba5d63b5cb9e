"""The use of each client, and the quotas of keys: characters of a minute, a day and a month (UTC)."""

from __future__ import annotations

import calendar
import json
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from pathlib import Path

from dragoman.base.errors import DataError
from dragoman.base.files import write_whole

SPANS = {"minute": 16, "day": 10, "month": 7}  # characters of 2026-01-31T23:59 that name it
_CLIENTS = 10_000  # whose use is remembered


class Usage:
    """Counts characters by client, in the running minute, day and month, and since the start ("all").

    The client that was silent for longest is forgotten. With a file, the counts of keys outlast the server.
    """

    def __init__(self, path: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        """Raises DataError for a file that is not one of counts."""
        self._path, self._clock = path, clock
        self._counts: OrderedDict[str, dict[str, tuple[str, int]]] = OrderedDict()
        if path is not None and path.exists():
            try:
                table = json.loads(path.read_text("utf-8"))
                for client, counts in table.items():
                    found = {span: (str(name), int(count)) for span, (name, count) in counts.items()}
                    self._counts[client] = found
            except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
                hint = "name another file, or delete it to begin again"
                raise DataError(f"{path}: not a file of counts", hint=hint) from error

    def of(self, client: str) -> dict[str, int]:
        """The characters of a client in each running span."""
        kept, names = self._counts.get(client, {}), self._names()
        return {span: kept[span][1] if kept.get(span, (None, 0))[0] == name else 0 for span, name in names}

    def add(self, client: str, characters: int) -> None:
        """Count characters; a negative number gives them back."""
        used, names = self.of(client), self._names()
        self._counts[client] = {span: (name, max(0, used[span] + characters)) for span, name in names}
        self._counts.move_to_end(client)
        if len(self._counts) > _CLIENTS:
            self._counts.popitem(last=False)

    def exceeded(self, client: str, characters: int, quota: Mapping[str, int]) -> tuple[str, float] | None:
        """The longest span whose quota these characters would exceed, and the seconds until it ends."""
        used = self.of(client)
        over = [span for span in SPANS if span in quota and used[span] + characters > quota[span]]
        return (over[-1], self._left(over[-1])) if over else None

    def save(self) -> None:
        """Write the counts of keys. Raises OSError."""
        if self._path is not None:
            keys = {one: counts for one, counts in self._counts.items() if one.startswith("key ")}
            kept = {
                one: {span: counts[span] for span in SPANS if span in counts} for one, counts in keys.items()
            }
            write_whole(self._path, json.dumps(kept))

    def _names(self) -> list[tuple[str, str]]:
        now = time.strftime("%Y-%m-%dT%H:%M", time.gmtime(self._clock()))
        return [("all", ""), *((span, now[:length]) for span, length in SPANS.items())]

    def _left(self, span: str) -> float:
        now = self._clock()
        if span != "month":
            length = 60 if span == "minute" else 86_400
            return length - now % length
        year, month = time.gmtime(now)[:2]
        return calendar.timegm((year + month // 12, month % 12 + 1, 1, 0, 0, 0)) - now
