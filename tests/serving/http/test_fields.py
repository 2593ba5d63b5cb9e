"""Fields arrive in every way that clients send them, and nothing else is let in."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.requests import ClientDisconnect, Request

from dragoman.serving.http.bodies import Budget, read_request
from dragoman.serving.http.errors import Refusal
from dragoman.serving.http.fields import (
    Field,
    Sent,
    Several,
    choice,
    file,
    flag,
    number,
    read,
    required,
    schemas,
    section,
    sections,
    several,
    table,
    text,
    texts,
    whole,
    words,
)
from dragoman.serving.service.limits import Limits

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


def sent_of(*args: Any, most: int = 1000, budget: Budget | None = None, **options: Any) -> Sent:
    reading = read_request(
        request_of(*args, **options),
        most=most,
        budget=budget or Budget(10**6),
        deadline=time.monotonic() + 5,
    )
    return asyncio.run(reading)[0]


def value_of(field: Field, sent: Sent) -> Any:
    return read({"q": field}, sent, Limits())["q"]


SAME = {"q": "Grüße & mehr", "source": "en"}


@pytest.mark.parametrize(
    "given",
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
def test_fields_are_the_same_however_they_come(given: dict[str, Any]) -> None:
    assert dict(sent_of(**given).values) == SAME


@pytest.mark.parametrize(
    ("given", "listed"),
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
def test_lists_stay_lists(given: dict[str, Any], listed: list[str]) -> None:
    found = value_of(texts(), sent_of(**given))
    assert (found, type(found)) == (listed, Several)


def test_one_text_is_no_list() -> None:
    found = value_of(texts(), sent_of(b"q=a", kind=FORM))
    assert (found, type(found)) == (["a"], list)


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
        assert sent_of(body, kind=kind).values
        return
    with pytest.raises(Refusal) as refusal:
        sent_of(body, kind=kind)
    assert refusal.value.status == status


def test_a_form_has_at_most_a_thousand_fields() -> None:
    body = b"&".join(b"a=1" for _ in range(1001))
    with pytest.raises(Refusal, match="more than 1000 fields"):
        sent_of(body, kind=FORM, most=10**5)


def test_compressed_bodies_are_refused() -> None:
    with pytest.raises(Refusal) as refusal:
        sent_of(b"x", kind=FORM, content_encoding="gzip")
    assert refusal.value.status == 415


@pytest.mark.parametrize("value", ["5", 5.5, True, [1], {}, -1, 11, 10**30])
def test_whole_numbers(value: Any) -> None:
    with pytest.raises(Refusal, match="q must be a whole number from 0 to 10"):
        value_of(whole(0, least=0, most=10), Sent({"q": value}))


def test_a_bound_may_be_a_limit_of_the_server() -> None:
    fields = {"beam": whole(None, least=1, most=lambda limits: limits.beam)}
    assert read(fields, Sent({"beam": 5}), Limits(beam=5)) == {"beam": 5}
    with pytest.raises(Refusal, match="beam must be a whole number from 1 to 4"):
        read(fields, Sent({"beam": 5}), Limits(beam=4))
    number = {"type": "integer", "minimum": 1, "maximum": 4}
    assert schemas(fields, Limits(beam=4)) == {"beam": {"anyOf": [number, {"type": "null"}]}}


def test_numbers_are_spelled_out_in_forms() -> None:
    fields = {
        "n": whole(0, least=0, most=10),
        "x": number(least=0, most=1),
        "f": flag(default=False),
        "other": whole(7, least=0, most=10),
    }
    sent = Sent({"n": "5", "x": "0.5", "f": "True"}, frozenset("nxf"))

    assert read(fields, sent, Limits()) == {"n": 5, "x": 0.5, "f": True, "other": 7}


@pytest.mark.parametrize("value", ["nan", "inf", "", "x", "1e999"])
def test_spelled_numbers_are_finite(value: str) -> None:
    with pytest.raises(Refusal, match="q must be a number"):
        value_of(number(least=0, most=1), Sent({"q": value}, frozenset("q")))


@pytest.mark.parametrize("value", [5, True, ["a", 1], [None], [["a"]], {"a": "b"}])
def test_texts_are_text(value: Any) -> None:
    with pytest.raises(Refusal, match="q must be text") as refusal:
        value_of(texts(), Sent({"q": value}))
    assert refusal.value.field == "q"


@pytest.mark.parametrize("field", [text(), texts(), table()])
def test_half_a_surrogate_pair_is_no_text(field: Field) -> None:
    body = b'{"q": {"a": "\\ud800"}}' if field.schema == {"type": "object"} else b'{"q": "\\ud800"}'
    with pytest.raises(Refusal, match="surrogate"):
        value_of(field, sent_of(body, kind="application/json"))


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        (words(), "a, b ,,c", ("a", "b", "c")),
        (words(), ["a,b", "c"], ("a", "b", "c")),
        (choice(("0", "1"), loose=True), True, "1"),
        (choice(("a", "b")), "b", "b"),
        (flag(default=False, loose=True), 1, True),
        (flag(default=True, loose=True), "no", False),
        (several(("a", "b")), "b", ["b"]),
        (several(("a", "b")), ["b", "a"], ["b", "a"]),
        (table(), {"a": [1]}, {"a": [1]}),
        (whole(1, least=0, most=9), 3.0, 3),
    ],
)
def test_values_that_are_taken(field: Field, value: Any, expected: Any) -> None:
    assert value_of(field, Sent({"q": value})) == expected


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (choice(("a", "b")), "c", "Invalid request: q must be one of a, b"),
        (choice(("a", "b")), 3, "Invalid request: q must be text"),
        (choice(("a",), message="Value for '{name}' not supported: {choices}"), "c",
         "Value for 'q' not supported: a"),
        (several(("a", "b")), ["a", "c"], "Invalid request: q must be of a, b, not 'c'"),
        (flag(default=False), "true", "Invalid request: q must be true or false"),
        (flag(default=False, loose=True), 2, "Invalid request: q must be true or false"),
        (table(), [1], "Invalid request: q must be an object"),
        (text(required=True), "", "Invalid request: missing q parameter"),
        (text(required=True), None, "Invalid request: missing q parameter"),
        (texts(), None, "Invalid request: missing q parameter"),
        (file(), None, "Invalid request: no file in the request"),
        (sections({"a": text()}), [1], "Invalid request: q must be a list of objects"),
    ],
)  # fmt: skip
def test_values_that_are_refused(field: Field, value: Any, message: str) -> None:
    with pytest.raises(Refusal) as refusal:
        value_of(field, Sent({"q": value}))
    assert (refusal.value.text, refusal.value.field) == (message, "q")


def test_fields_in_a_field_are_named_in_full() -> None:
    options = section({"beam": whole(1, least=1, most=9)})
    assert value_of(options, Sent({})) == {"beam": 1}
    with pytest.raises(Refusal, match=r"q\.beam must be"):
        value_of(options, Sent({"q": {"beam": "x"}}))
    with pytest.raises(Refusal, match=r"q\.baem: unknown field; known are beam"):
        value_of(options, Sent({"q": {"baem": 1}}))
    with pytest.raises(Refusal, match="q must be an object"):
        value_of(options, Sent({"q": [1]}))
    with pytest.raises(Refusal, match=r"missing q\.a parameter"):
        value_of(sections({"a": text(required=True)}), Sent({"q": [{}]}))


def test_what_is_required_is_described() -> None:
    fields = {"a": text("An a.", required=True), "b": text(required=True, empty=True), "c": text()}
    assert required(fields) == ("a", "b")
    described = schemas(fields, Limits())
    assert described["a"] == {"type": "string", "minLength": 1, "description": "An a."}
    assert described["b"] == {"type": "string"}
    assert read(fields, Sent({"a": "x", "b": ""}), Limits()) == {"a": "x", "b": "", "c": None}


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
        asyncio.run(read_request(request, most=1000, budget=budget, deadline=time.monotonic() + 5))

    assert refusal.value.status == 413
    assert taken == 11
    assert budget.held == 0


def test_a_body_that_is_declared_too_long_is_not_read_at_all() -> None:
    async def receive() -> dict[str, Any]:
        raise AssertionError("read")

    scope = {**request_of().scope, "headers": [(b"content-length", b"1001")]}
    with pytest.raises(Refusal) as refusal:
        asyncio.run(
            read_request(Request(scope, receive), most=1000, budget=Budget(10), deadline=time.monotonic() + 5)
        )
    assert refusal.value.status == 413


def test_a_body_that_does_not_come_is_given_up() -> None:
    async def receive() -> dict[str, Any]:
        await asyncio.sleep(60)
        return {}

    with pytest.raises(Refusal) as refusal:
        asyncio.run(
            read_request(
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
        sent_of(b"q=a&r=b", kind=FORM, budget=budget)

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
            read_request(Request(scope, receive), most=1000, budget=budget, deadline=time.monotonic() + 5)
        )
    assert budget.held == 0


@pytest.mark.parametrize("codec", ["punycode", "idna", "undefined", "utf-16", "latin-1", "hex", "nothing"])
def test_no_client_chooses_how_a_form_is_decoded(codec: str) -> None:
    """RFC 7578 has no charset, and to decode punycode takes quadratic time."""
    body = (
        b'--B\r\nContent-Disposition: form-data; name="q"\r\n\r\nGr\xc3\xbc\xc3\x9fe\r\n'
        b'--B\r\nContent-Disposition: form-data; name="\xc3\xa4"; filename="\xc3\xa4"\r\n\r\na\r\n--B--\r\n'
    )
    sent = sent_of(body, kind=f"multipart/form-data; boundary=B; charset={codec}")
    assert sent.values == {"q": "Grüße"}
    assert {name: one.name for name, one in sent.files.items()} == {"ä": "ä"}


def test_files_are_read_with_their_names() -> None:
    body = (
        b'--B\r\nContent-Disposition: form-data; name="file"; filename="../../etc/a.txt"\r\n\r\nHello\r\n'
        b'--B\r\nContent-Disposition: form-data; name="target"\r\n\r\nde\r\n--B--\r\n'
    )
    sent = sent_of(body, kind="multipart/form-data; boundary=B")
    found = read({"file": file(), "target": text(required=True)}, sent, Limits())

    assert (found["file"].name, found["file"].data) == ("../../etc/a.txt", b"Hello")
    assert found["target"] == "de"
    with pytest.raises(Refusal, match="no file"):
        read({"other": file()}, sent, Limits())
