"""The table of routes: the input and output of a route, and the steps before and after its handler."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive

from dragoman.base.errors import DragomanError
from dragoman.serving.http.bodies import MULTIPART, Budget, read_request
from dragoman.serving.http.errors import NO_KEY, WRONG_KEY, Family, Refusal, family_of, refusal_of, refused
from dragoman.serving.http.fields import KEYS, Fields, Sent, read
from dragoman.serving.http.guard import address_of_client
from dragoman.serving.http.jobs import FileStore, Jobs
from dragoman.serving.http.logs import log, place_of
from dragoman.serving.http.metrics import ServerMetrics
from dragoman.serving.http.settings import Key, Settings, key_in
from dragoman.serving.http.usage import Usage
from dragoman.serving.service.ask import Answer, Ask
from dragoman.serving.service.inspection import Inspector
from dragoman.serving.service.service import Service

T = TypeVar("T")

Body = Literal["json", "form", "multipart"]
Plain = dict[str, Any] | list[Any]  # an answer as JSON has it

_BODIES_AT_ONCE = 128 * 2**20  # bytes of all requests, or one of the largest
_LOOK = 0.02  # seconds between looks at whether all are done


@dataclass
class ServerState:
    """The state that all requests share."""

    service: Service
    settings: Settings
    metrics: ServerMetrics = field(default_factory=ServerMetrics)
    files: FileStore = field(default_factory=FileStore)
    budget: Budget = field(default_factory=lambda: Budget(_BODIES_AT_ONCE))
    usage: Usage = field(default_factory=Usage)
    load: Callable[[], tuple[Service, Settings]] | None = None  # both anew, for `reload`
    jobs: Jobs = field(init=False)
    how: Inspector = field(init=False)
    endpoints: Sequence[Endpoint] = ()
    in_flight: int = 0  # requests
    draining: bool = False
    _held: Counter[int] = field(default_factory=Counter)  # calls and documents, by the `id` of their service
    _retiring: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        limits = self.service.limits  # one of the largest has to fit
        self.budget.most = max(self.budget.most, limits.body_bytes + limits.file_bytes)
        self.jobs = Jobs(self.files, self.metrics)
        self.how = Inspector(self.service.models)
        self.metrics.shows_ready(lambda: self.ready)

    async def reload(self) -> None:
        """Load keys and models anew, and use them for new requests once they are ready.

        Accepted requests keep the old models. If something cannot be loaded, everything stays as it was.
        """
        if self.load is None or self.draining:
            return
        log(logging.INFO, "reloading")
        loaded: Service | None = None
        try:
            service, settings = await asyncio.to_thread(self.load)
            loaded = service
            await service.start()
        except Exception as error:
            # What is wrong with files of the operator is no text of a client.
            why = str(error) if isinstance(error, DragomanError) else place_of(error)
            log(logging.ERROR, "not reloaded: keys and models stay as they were", error=why)
            if loaded is not None:
                await loaded.drain(0)
            return
        retiring = asyncio.create_task(self._retire(self.service, self.how))
        self._retiring.add(retiring)
        retiring.add_done_callback(self._retiring.discard)
        self.service, self.settings, self.how = service, settings, Inspector(service.models)
        log(logging.INFO, "reloaded")

    async def _retire(self, old: Service, how: Inspector) -> None:
        """Let accepted requests finish with an old service, and end it."""
        seconds = max(old.limits.drain_seconds, old.limits.file_seconds if self.jobs.unfinished else 0)
        end = time.monotonic() + seconds
        # Work between two places in the queue, such as the reading of a document, needs the service, too.
        while self._held[id(old)] and time.monotonic() < end:
            await asyncio.sleep(_LOOK)
        how.close()
        await old.drain(max(0.0, end - time.monotonic()))

    @contextmanager
    def holding(self, service: Service) -> Iterator[None]:
        """Keep a service in use during the block, although another may be loaded meanwhile."""
        self._held[id(service)] += 1
        try:
            yield
        finally:
            self._held[id(service)] -= 1

    @property
    def idle(self) -> bool:
        """Whether no work is in progress, and no document waits to be fetched."""
        return self.in_flight == 0 and self.jobs.unfinished == 0 and self.jobs.fetched

    @property
    def ready(self) -> bool:
        """Whether the server translates now."""
        return self.service.ready and not self.draining


@dataclass(frozen=True)
class Call:
    """A request that was read and let in."""

    state: ServerState
    service: Service  # also if another is loaded meanwhile
    request: Request
    values: Mapping[str, Any]  # of the fields of its endpoint
    client: str  # a name for the share of its key or address
    family: Family
    key: Key | None  # None without keys, or without a right one on a route that needs none
    deadline: float  # a time of `time.monotonic`

    async def translate(self, texts: Sequence[str], ask: Ask) -> list[Answer]:
        """Return the answers of the service. Raises what `Service.translate` raises."""
        with self.using(sum(map(len, texts))):
            return await self.service.translate(texts, ask, client=self.client, deadline=self.deadline)

    @contextmanager
    def using(self, characters: int = 0) -> Iterator[Callable[[int], None]]:
        """Count characters as used by the client, unless the block fails. Raises Refusal beyond its quota.

        Yields a function that counts more.
        """
        used = 0

        def use(more: int) -> None:
            nonlocal used
            self.use(more)
            used += more

        use(characters)
        try:
            yield use
        except BaseException:
            self.state.usage.add(self.client, -used)
            raise

    def use(self, characters: int) -> None:
        """Count characters as used by the client. Raises Refusal beyond its quota."""
        for span, most in self.quota.items():
            if characters > most:  # later is no better
                raise Refusal(
                    413, f"{characters:,} characters exceed the quota of this key: {most:,} a {span}"
                )
        over = self.state.usage.exceeded(self.client, characters, self.quota)
        if over is not None:
            span, left = over
            text = f"Quota exceeded: {self.quota[span]:,} characters a {span} for this key"
            deepl = self.family == "deepl" and span != "minute"
            raise Refusal(456 if deepl else 429, text, retry_after=left)
        self.state.usage.add(self.client, characters)

    @property
    def quota(self) -> Mapping[str, int]:
        """The quota of the key of the client."""
        return {} if self.key is None else self.key.quota

    def __getitem__(self, name: str) -> Any:
        """The value of a field."""
        return self.values[name]


@dataclass(frozen=True)
class Endpoint:
    """A route, its handler, and its description in /openapi.json."""

    route: str  # method and path, such as "POST /translate"
    answer: Callable[[Call], Awaitable[Response | Plain]]
    summary: str
    _: KW_ONLY
    fields: Fields = field(default_factory=dict)
    bodies: tuple[Body, ...] = ()
    returns: Any = str  # the shape of the answer: see `schema_of`
    content: str = "application/json"
    refuses: tuple[int, ...] = ()  # statuses of errors besides the usual ones of such routes
    locked: bool = True  # needs a key, if the server has keys
    works: bool = False  # needs the models

    def __post_init__(self) -> None:
        if self.fields:
            object.__setattr__(self, "fields", {**self.fields, **KEYS})

    @property
    def method(self) -> str:
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        return self.route.partition(" ")[2]

    @property
    def family(self) -> Family:
        """The protocol that its errors have the form of."""
        return family_of(self.path)

    @property
    def statuses(self) -> tuple[int, ...]:
        """The statuses of its errors."""
        found = {*self.refuses}
        if self.locked:
            found.add(401 if self.family == "native" else 403)
        if self.fields:
            found.add(400)
        if self.bodies:
            found |= {400, 413, 415}
        if "{" in self.path:
            found.add(404)
        if self.works:
            found |= {429, 503, 504} | ({456} if self.family == "deepl" else set())
        return tuple(sorted(found))

    @property
    def closed(self) -> bool:
        """Whether fields of other names are refused: by our own routes."""
        return self.family == "native" and bool(self.bodies)


async def serve(endpoint: Endpoint, state: ServerState, request: Request) -> Response:
    """Read a request, check its key, and answer it, or say why not."""
    facts = request.scope.setdefault("facts", {})
    facts["route"] = endpoint.path
    try:
        return await _unless_left(request.receive, lambda read: _answer(endpoint, state, request, read))
    except ClientDisconnect:
        return refused(Refusal(499, "the client disconnected"), endpoint.family)
    except Exception as error:  # the client gets an answer to any error, without details
        return refused(refusal_of(error, endpoint.path), endpoint.family)


async def _answer(
    endpoint: Endpoint, state: ServerState, request: Request, has_read: Callable[[], None]
) -> Response:
    limits, settings = state.service.limits, state.settings
    deadline = time.monotonic() + limits.seconds
    if endpoint.works and not state.ready:
        why = "the server is shutting down" if state.draining else "the models are being loaded"
        raise Refusal(503, f"{why}: try again later", retry_after=2)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    uploads = endpoint.bodies == ("multipart",) and kind == MULTIPART
    most = limits.body_bytes + (limits.file_bytes if uploads else 0)
    sent, held = await read_request(request, most=most, budget=state.budget, deadline=deadline)
    has_read()
    try:
        address = address_of_client(request, settings)
        key = _let_in(endpoint, state, request, sent)
        client = f"address {address}" if key is None else f"key {key.name}"
        request.scope["facts"]["client"] = client
        values = read(endpoint.fields, sent, limits, closed=endpoint.closed)
        del sent  # JSON takes thirty times its bytes
        service = state.service
        with state.holding(service):
            answer = await endpoint.answer(
                Call(state, service, request, values, client, endpoint.family, key, deadline)
            )
        return answer if isinstance(answer, Response) else JSONResponse(answer)
    finally:
        state.budget.give_back(held)


def _let_in(endpoint: Endpoint, state: ServerState, request: Request, sent: Sent) -> Key | None:
    """Check the key and return it; None if the server has no keys, or none came and none is needed."""
    read(KEYS, sent, state.service.limits)  # raise Refusal if it is not text
    keys = state.settings.keys
    if keys is None:
        return None
    key = key_in(request.headers, sent.values)
    known = None if key is None else keys.find(key)
    if known is None and endpoint.locked:
        status = 401 if endpoint.family == "native" else 403
        raise Refusal(status, NO_KEY if key is None else WRONG_KEY)
    if known is not None and known.only and endpoint.locked and endpoint.path != f"/{known.only}":
        raise Refusal(403, f"this key is for /{known.only} only")
    return known


async def _unless_left(receive: Receive, answer: Callable[[Callable[[], None]], Coroutine[Any, Any, T]]) -> T:
    """Answer, but stop when the client leaves. `answer` says when it has read the body."""
    read = asyncio.Event()

    async def left() -> None:
        await read.wait()
        while (await receive())["type"] != "http.disconnect":
            pass

    work, gone = asyncio.ensure_future(answer(read.set)), asyncio.ensure_future(left())
    try:
        await asyncio.wait({work, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ClientDisconnect
        return work.result()
    finally:
        for task in (work, gone):
            task.cancel()
        await asyncio.wait({work, gone})
