"""The counts of a server, for Prometheus. No address, key or text is a label."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from dragoman.serving.service.admission import Count, Counting
from dragoman.version import __version__

CONTENT_TYPE = CONTENT_TYPE_LATEST

_SECONDS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_METHODS = frozenset(("GET", "HEAD", "POST", "OPTIONS", "PUT", "PATCH", "DELETE"))


class ServerMetrics(Counting):
    """The counts of a server, each in a registry of its own."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        Gauge("dragoman_info", "The version.", ["version"], registry=registry).labels(__version__).set(1)
        self._ready = Gauge("dragoman_ready", "1 if the server translates.", registry=registry)
        self._in_flight = Gauge("dragoman_requests_in_flight", "Requests now.", registry=registry)
        labels = ["route", "method", "status"]
        self._requests = Counter("dragoman_requests", "Requests answered.", labels, registry=registry)
        self._seconds = Histogram(
            "dragoman_request_seconds", "Time of a request.", ["route"], buckets=_SECONDS, registry=registry
        )
        self._queue = Gauge(
            "dragoman_queue_characters", "Characters that wait or are translated.", registry=registry
        )
        self._took = Histogram(
            "dragoman_translation_seconds",
            "Time to translate the texts of a request.",
            ["source", "target"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._counts = {
            name: Counter(f"dragoman_{name}", f"Count: {name.replace('_', ' ')}.", registry=registry)
            for name in get_args(Count)
        }

    def shows_ready(self, ready: Callable[[], bool]) -> None:
        """Ask `ready` whenever the metrics are read."""
        self._ready.set_function(lambda: float(ready()))

    def began(self) -> None:
        self._in_flight.inc()

    def ended(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request ended. `route` is the path of the table of routes, not the client's path."""
        self._in_flight.dec()
        self._requests.labels(route, method if method in _METHODS else "other", str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def count(self, what: Count, amount: int = 1) -> None:
        self._counts[what].inc(amount)

    def took(self, pair: tuple[str, str], seconds: float) -> None:
        self._took.labels(*pair).observe(seconds)

    def queued(self, characters: int) -> None:
        self._queue.set(characters)

    def text(self) -> bytes:
        """The counts in the format of Prometheus."""
        return generate_latest(self.registry)
