"""A text has the same sentences as a line, in a document, by the server and by the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from dragoman.documents.segment import Segment
from dragoman.documents.translate import translate_segments
from dragoman.text.segmenter import segment_text
from dragoman.translation.exchange import Exchange
from dragoman.translation.lines import LineItem
from tests.serving.standin import running
from tests.serving.web.dictionary import service_of, translator

TEXTS = [
    "A dog runs. A cat sleeps.  A dog",
    "A dog runs.\r\n\r\nA cat sleeps.\u2028A dog runs fast.\x0cA cat runs.",
    "1. A dog runs. 2. A cat sleeps.",
    "Some words, " * 80 + "others.",
    "word" * 500 + " others.",
]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The sentences that a model is asked for."""
    requests, lines = Exchange.requests, set[str]()

    def watched(self: Exchange, items: Sequence[LineItem]) -> Iterator[Any]:
        lines.update(item.line for item in items)
        return requests(self, items)

    monkeypatch.setattr(Exchange, "requests", watched)
    return lines


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
@pytest.mark.parametrize("door", ["line", "document", "server", "page"])
def test_every_door_has_the_same_sentences(door: str, text: str, asked: set[str]) -> None:
    if door == "line":
        translator().translate(text)
    elif door == "document":
        translate_segments(translator(), [Segment((text,), where="")])
    else:
        route, more = ("words", {"text": text}) if door == "page" else ("translate", {"texts": [text]})
        with running(service_of()) as server, server.client() as client:
            asked.clear()  # of the sentence that warms the model
            answer = client.post(f"/v1/{route}", json={"source": "en", "target": "de", **more})
        assert answer.status_code == 200, answer.text
    assert asked == set(segment_text(text, "en", "de").sentences)
