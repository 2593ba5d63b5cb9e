"""Fields arrive in every way that clients send them, and nothing else is let in."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request

from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.fields import Budget, Fields, read_fields

FORM = "application/x-www-form-urlencoded"


def request_of(
    body: bytes | list[bytes] = b"", *, kind: str = "", query: str = "", method: str = "POST", **headers: str
) -> Request:
    chunks = body if isinstance(body, list) else [body]
    messages = [
        {"type": "http.request", "body": chunk, "more_body": number < len(chunks)}
        for number, chunk in enumerate(chunks, 1)
    ]
    left = iter(messages)

    async def receive() -> dict[str, Any]:
        return next(left, {"type": "http.disconnect"})

    named = {"content-type": kind, **headers} if kind else headers
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in named.items()]
    scope = {"type": "http", "method": method, "query_string": query.encode(), "headers": raw}
    return Request(scope, receive)


def fields_of(*args: Any, most: int = 1000, budget: Budget | None = None, **options: Any) -> Fields:
    reading = read_fields(
        request_of(*args, **options),
        most=most,
        budget=budget or Budget(10**6),
        deadline=time.monotonic() + 5,
    )
    return asyncio.run(reading)[0]


SAME = {"q": "Grüße & mehr", "source": "en"}


@pytest.mark.parametrize(
    "sent",
    [
        {"body": json.dumps(SAME).encode(), "kind": "application/json"},
        {"body": json.dumps(SAME).encode(), "kind": "application/json; charset=utf-8"},
        {"body": json.dumps(SAME, ensure_ascii=False).encode("utf-8-sig"), "kind": "application/json"},
        {"body": json.dumps(SAME).encode()},
        {"body": b"q=Gr%C3%BC%C3%9Fe+%26+mehr&source=en", "kind": FORM},
        {"body": "q=Grüße+%26+mehr&source=en".encode(), "kind": FORM},
        {"query": "q=Gr%C3%BC%C3%9Fe%20%26%20mehr&source=en"},
        {"body": b"q=Gr%C3%BC%C3%9Fe+%26+mehr&source=en", "kind": FORM, "method": "GET"},
        {"body": b"source=en", "kind": FORM, "query": "q=Gr%C3%BC%C3%9Fe+%26+mehr"},
        {"body": b"source=en", "kind": FORM, "query": "q=Gr%C3%BC%C3%9Fe+%26+mehr&source=de"},
        {
            "body": (
                b'--B\r\nContent-Disposition: form-data; name="q"\r\n\r\nGr\xc3\xbc\xc3\x9fe & mehr\r\n'
                b'--B\r\nContent-Disposition: form-data; name="source"\r\n\r\nen\r\n--B--\r\n'
            ),
            "kind": "multipart/form-data; boundary=B",
        },
    ],
)
def test_fields_are_the_same_however_they_come(sent: dict[str, Any]) -> None:
    assert dict(fields_of(**sent).values) == SAME


@pytest.mark.parametrize(
    ("sent", "several"),
    [
        ({"body": b'{"q": ["a", "b"]}', "kind": "application/json"}, ["a", "b"]),
        ({"body": b"q=a&q=b", "kind": FORM}, ["a", "b"]),
        ({"body": b"q[]=a&q[]=b", "kind": FORM}, ["a", "b"]),
        ({"body": b"q%5B0%5D=a&q%5B1%5D=b", "kind": FORM}, ["a", "b"]),
        ({"query": "q=a&q=b"}, ["a", "b"]),
        ({"body": b"q[]=a", "kind": FORM}, ["a"]),
        ({"body": b'{"q": []}', "kind": "application/json"}, []),
        ({"body": b"q=&q=", "kind": FORM}, ["", ""]),
    ],
)
def test_lists_stay_lists(sent: dict[str, Any], several: list[str]) -> None:
    assert fields_of(**sent).texts("q") == (several, True)


def test_one_text_is_no_list() -> None:
    assert fields_of(b"q=a", kind=FORM).texts("q") == (["a"], False)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[1]", "application/json", 400),
        (b'"q"', "application/json", 400),
        (b'{"q": NaN}', "application/json", 400),
        (b'{"q": "\xff"}', "application/json", 400),
        (b"[" * 900, "application/json", 400),
        (b'{"n": ' + b"9" * 900 + b"}", "application/json", 200),
        (b"q=%FF", FORM, 400),
        (b"&".join(b"q=%d" % n for n in range(1100))[:999], FORM, 200),
        (b"x", "multipart/form-data", 400),
        (b"x", "multipart/form-data; boundary=B", 400),
        (b"text", "text/plain", 415),
        (b"<q/>", "application/xml", 415),
        (b"q=a", "application/x-www-form-urlencoded; charset=utf-8", 200),
    ],
)
def test_broken_bodies_are_refused(body: bytes, kind: str, status: int) -> None:
    if status == 200:
        assert fields_of(body, kind=kind).values
        return
    with pytest.raises(Refusal) as refusal:
        fields_of(body, kind=kind)
    assert refusal.value.status == status


def test_a_form_has_at_most_a_thousand_fields() -> None:
    body = b"&".join(b"a=1" for _ in range(1001))
    with pytest.raises(Refusal, match="more than 1000 fields"):
        fields_of(body, kind=FORM, most=10**5)


def test_compressed_bodies_are_refused() -> None:
    with pytest.raises(Refusal) as refusal:
        fields_of(b"x", kind=FORM, content_encoding="gzip")
    assert refusal.value.status == 415


@pytest.mark.parametrize("value", ["5", 5.5, True, [1], {}, -1, 11, 10**30])
def test_whole_numbers(value: Any) -> None:
    fields = Fields({"n": value})
    with pytest.raises(Refusal, match="n must be a whole number from 0 to 10"):
        fields.whole("n", 0, least=0, most=10)


def test_numbers_are_spelled_out_in_forms() -> None:
    fields = Fields({"n": "5", "x": "0.5", "f": "True"}, frozenset("nxf"))

    assert fields.whole("n", 0, least=0, most=10) == 5
    assert fields.number("x", least=0, most=1) == 0.5
    assert fields.flag("f", default=False) is True
    assert fields.whole("other", 7, least=0, most=10) == 7


@pytest.mark.parametrize("value", ["nan", "inf", "", "x", "1e999"])
def test_spelled_numbers_are_finite(value: str) -> None:
    with pytest.raises(Refusal, match="x must be a number"):
        Fields({"x": value}, frozenset("x")).number("x", least=0, most=1)


@pytest.mark.parametrize("value", [5, True, ["a", 1], [None], [["a"]], {"a": "b"}])
def test_texts_are_text(value: Any) -> None:
    with pytest.raises(Refusal, match="q must be text") as refusal:
        Fields({"q": value}).texts("q")
    assert refusal.value.field == "q"


def test_half_a_surrogate_pair_is_no_text() -> None:
    with pytest.raises(Refusal, match="surrogate"):
        fields_of(b'{"q": "\\ud800"}', kind="application/json").texts("q")


def test_fields_in_a_field_are_named_in_full() -> None:
    options = Fields({"options": {"beam": "x", "baem": 1}}).section("options")
    with pytest.raises(Refusal, match=r"options\.beam must be"):
        options.whole("beam", 1, least=1, most=9)
    with pytest.raises(Refusal, match=r"options\.baem: unknown field"):
        options.only(["beam"])
    with pytest.raises(Refusal, match="options must be an object"):
        Fields({"options": [1]}).section("options")


# Bounds while reading


def test_a_body_is_not_read_beyond_its_bound() -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield b"x" * 100

    source = endless()
    request = request_of()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": next(source), "more_body": True}

    request = Request({**request.scope, "headers": [(b"content-type", b"application/json")]}, receive)
    budget = Budget(10**6)
    with pytest.raises(Refusal) as refusal:
        asyncio.run(read_fields(request, most=1000, budget=budget, deadline=time.monotonic() + 5))

    assert refusal.value.status == 413
    assert taken == 11
    assert budget.held == 0


def test_a_body_that_is_declared_too_long_is_not_read_at_all() -> None:
    async def receive() -> dict[str, Any]:
        raise AssertionError("read")

    scope = {**request_of().scope, "headers": [(b"content-length", b"1001")]}
    with pytest.raises(Refusal) as refusal:
        asyncio.run(
            read_fields(Request(scope, receive), most=1000, budget=Budget(10), deadline=time.monotonic() + 5)
        )
    assert refusal.value.status == 413


def test_a_body_that_does_not_come_is_given_up() -> None:
    async def receive() -> dict[str, Any]:
        await asyncio.sleep(60)
        return {}

    with pytest.raises(Refusal) as refusal:
        asyncio.run(
            read_fields(
                Request(request_of().scope, receive),
                most=10,
                budget=Budget(10),
                deadline=time.monotonic() + 0.05,
            )
        )
    assert refusal.value.status == 408


def test_all_bodies_together_are_bounded() -> None:
    budget = Budget(10, held=8)
    with pytest.raises(Refusal) as refusal:
        fields_of(b"q=a&r=b", kind=FORM, budget=budget)

    assert (refusal.value.status, refusal.value.retry_after) == (429, 1)
    assert budget.held == 8


def test_a_client_that_leaves_while_it_sends_leaves_nothing_behind() -> None:
    budget = Budget(1000)
    messages = iter([{"type": "http.request", "body": b"q=", "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> dict[str, Any]:
        return next(messages)

    scope = {**request_of().scope, "headers": [(b"content-type", FORM.encode())]}
    with pytest.raises(ClientDisconnect):
        asyncio.run(
            read_fields(Request(scope, receive), most=1000, budget=budget, deadline=time.monotonic() + 5)
        )
    assert budget.held == 0


def test_files_are_read_with_their_names() -> None:
    body = (
        b'--B\r\nContent-Disposition: form-data; name="file"; filename="../../etc/a.txt"\r\n\r\nHello\r\n'
        b'--B\r\nContent-Disposition: form-data; name="target"\r\n\r\nde\r\n--B--\r\n'
    )
    fields = fields_of(body, kind="multipart/form-data; boundary=B")

    assert (fields.file("file").name, fields.file("file").data) == ("../../etc/a.txt", b"Hello")
    assert fields.needed("target") == "de"
    with pytest.raises(Refusal, match="no file"):
        fields.file("other")
