"""What happens to every request before and after its handler."""

from __future__ import annotations

import weakref
from typing import Any

import httpx
import pytest
from tests.serving.standin import Running, running

from dragoman.serving.apis import endpoints
from dragoman.serving.service.limits import Limits

ONE = {"source": "en", "target": "de"}


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 413),
        ("application/x-www-form-urlencoded", 413),
        ("", 413),
        ("multipart/form-data+json", 413),
        ("Multipart/Form-Data; boundary=B", 200),
    ],
)
def test_only_a_form_with_a_file_may_be_as_large_as_a_file(kind: str, status: int) -> None:
    """JSON takes thirty times its bytes, and the key is only known once it is read."""
    part = '--B\r\nContent-Disposition: form-data; name="{}"{}\r\n\r\n{}\r\n'
    body = "".join(part.format(name, "", value) for name, value in ONE.items())
    body += part.format("file", '; filename="a.txt"', "a" * 800) + "--B--\r\n"
    with running(limits=Limits(file_bytes=1000, body_bytes=500)) as server, server.client() as client:
        answer = client.post("/translate_file", content=body, headers={"Content-Type": kind})
        assert answer.status_code == status


def test_the_largest_file_that_is_allowed_has_room() -> None:
    with running(limits=Limits(file_bytes=300 << 20)) as server:
        assert server.state.budget.most >= 300 << 20


def test_what_was_read_is_let_go_before_the_translation(
    server: Running, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, translating = endpoints.read_request, server.standin.translate
    seen: list[weakref.ref[Any]] = []
    left: list[Any] = []

    async def read(*words: Any, **named: Any) -> Any:
        sent, held = await reading(*words, **named)
        seen.append(weakref.ref(sent))
        return sent, held

    async def translate(*words: Any, **named: Any) -> Any:
        left.append(seen[0]())
        return await translating(*words, **named)

    monkeypatch.setattr(endpoints, "read_request", read)
    monkeypatch.setattr(server.standin, "translate", translate)
    assert client.post("/translate", json={"q": "a", **ONE}).json() == {"translatedText": "A"}
    assert left == [None]
