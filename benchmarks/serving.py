"""Measure `dragoman serve`: its behaviour under load, and its speed compared with LibreTranslate.

    python benchmarks/serving.py load --model runs/en-de [--text test.en] [--clients 64] [--seconds 600]
    python benchmarks/serving.py speed --model runs/en-de --text train.en
        [--libretranslate http://127.0.0.1:5055] [--pid PID] [--seconds 10] [--turns 3]
    python benchmarks/serving.py overload --model runs/en-de --text train.en
        [--loads 0.5 1 2 5 10] [--timeouts 3 15] [--sizes 1 100] [--seconds 15]
    python benchmarks/serving.py page --model runs/en-de --text train.en [--texts 20]

`load` starts a server with a small cache and requests each text alone. Then it runs a mix of clients: most
use all three families of routes and compare each answer with the one given alone; others read slowly,
disconnect early, or send invalid bodies.

`speed` starts a server without a cache. Each client sends its next request when it has the answer to the last
one, and no sentence occurs twice in a turn. Servers take turns. For LibreTranslate, give the address of a
running server, and its process id to measure its memory and processor time. `--words` adds a word to the
command line of `dragoman serve`, such as `--words=--dtype=int8`.

`overload` sends requests at a rate that is a multiple of the capacity, whatever is answered. It counts what
is answered before the deadline of the server (`--timeout`), and what is refused. The capacity is measured
before and after each row, with a server that has no such deadline: sentences a second of clients that wait
for their answers. The table says which part of it was answered; below the capacity, of what was offered.

`page` opens the page in Chromium and types one sentence after the other. It measures the time until the
translation appears, including the pause in which the page waits for another key.

Prints tables. `load` exits with 1 if an answer was lost or wrong, if memory grew in the second half, or if
the server did not become idle or did not exit with 0. `CPU ms` is the processor time per sentence.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from dragoman.base.tables import aligned
from dragoman.text import toy

_PATIENCE = 60.0  # seconds for an answer; a server that takes longer has lost the request
_GROWTH = 1.05, 8.0  # memory may grow in the second half of the time by this factor and these MB
_WARM_UP = 30.0  # seconds in which a new server's caches fill, so that its memory may grow
_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"


# ---- the server ------------------------------------------------------------------------------------------


@dataclass
class Server:
    """A `dragoman serve` that runs."""

    process: subprocess.Popen[bytes]
    url: str
    log: IO[bytes]

    def end(self) -> int:
        """Ask it to end, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def failures(self) -> list[str]:
        """The lines of its log that tell of an error."""
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").splitlines()
        return [line for line in lines if "failure" in line or "Traceback" in line]


@contextmanager
def serving(model: Path, *words: str) -> Iterator[Server]:
    """A server on a free port of the loopback, ready."""
    with tempfile.TemporaryFile() as log:
        command = [
            sys.executable,
            "-m",
            "dragoman",
            "serve",
            str(model),
            "--port",
            "0",
            "--rate",
            "0",
            *words,
        ]
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield Server(process, asyncio.run(_ready(process, log)), log)
        finally:
            process.kill()
            process.wait()


async def _ready(process: subprocess.Popen[bytes], log: IO[bytes]) -> str:
    until, found = time.monotonic() + 120, None
    while process.poll() is None and time.monotonic() < until:
        text = Path(f"/proc/self/fd/{log.fileno()}").read_text("utf-8")
        if found := re.search(r"http://[\d.:]+", text):
            with suppress(OSError):  # it says its address before it listens
                async with Connection(found[0]) as one:
                    if (await one.get("/ready")).status == 200:
                        return found[0]
        await asyncio.sleep(0.2)
    raise SystemExit(f"the server did not start:\n{Path(f'/proc/self/fd/{log.fileno()}').read_text('utf-8')}")


def resident(pid: int) -> float:
    """The resident memory of a process in MB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text("utf-8"))
    return int(found[1]) / 1024 if found else 0.0


def worked(pid: int) -> float:
    """The seconds that a process has had of the processors."""
    times = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return sum(map(int, times[11:13])) / os.sysconf("SC_CLK_TCK")


# ---- HTTP ------------------------------------------------------------------------------------------------


class Reply(NamedTuple):
    """An answer of HTTP."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Connection:
    """HTTP/1.1 with one server. A client library would take more of the processor than what is measured."""

    def __init__(self, url: str, *, receives: int | None = None) -> None:
        """`receives` are the bytes that the client's system takes ahead of its reader."""
        parts = urlsplit(url)
        self._at, self._receives = (parts.hostname or "", parts.port or 80), receives
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leave."""
        if self.writer is not None:
            self.writer.transport.abort()
        self.reader = self.writer = None

    async def get(self, path: str) -> Reply:
        return await self.ask(f"GET {path}", b"")

    async def post(self, path: str, body: Any, kind: str = _JSON) -> Reply:
        """Ask with JSON, or with a form."""
        text = json.dumps(body) if kind == _JSON else urlencode(body, doseq=True)
        return await self.ask(f"POST {path}", text.encode(), f"Content-Type: {kind}\r\n")

    async def ask(self, what: str, body: bytes, head: str = "", *, pause: float = 0.0) -> Reply:
        """Send a request and read its answer. `pause` are the seconds between a few bytes of it."""
        await self.send(f"{what} HTTP/1.1\r\nHost: localhost\r\n{head}", body)
        return await asyncio.wait_for(self.read(pause), _PATIENCE)

    async def send(self, head: str, body: bytes, size: int | None = None) -> None:
        """Send a request. `size` is a length that is not that of the body."""
        length = len(body) if size is None else size
        await self.write(f"{head}Content-Length: {length}\r\n\r\n".encode() + body)

    async def write(self, data: bytes) -> None:
        """Send bytes, on a new connection if there is none."""
        if self.writer is None:
            here = socket.socket(proto=socket.IPPROTO_TCP)
            here.setblocking(False)
            if self._receives:
                here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._receives)
            await asyncio.get_running_loop().sock_connect(here, self._at)
            self.reader, self.writer = await asyncio.open_connection(sock=here, limit=2**20)
        self.writer.write(data)
        await self.writer.drain()

    async def read(self, pause: float = 0.0) -> Reply:
        """Read an answer."""
        assert self.reader is not None
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        size, body = headers.get("content-length"), b""
        left = int(size or 0)
        while pause and left:
            part = await self.reader.readexactly(min(left, 64))
            left, body = left - len(part), body + part
            await asyncio.sleep(pause)
        body += await (self.reader.readexactly(left) if size else self.reader.read())
        if headers.get("connection") == "close":
            self.close()
        return Reply(int(lines[0].split()[1]), headers, body)


# ---- questions -------------------------------------------------------------------------------------------


class Question(NamedTuple):
    """A text, and what changes its translation."""

    text: str
    markup: str = "text"


def questions(sentences: Sequence[str]) -> list[Question]:
    """Sentences, pairs of sentences, marked-up sentences, and texts that are hardly any."""
    joined = [Question(" ".join(pair)) for pair in zip(sentences[::3], sentences[1::3], strict=False)]
    marked = [Question(re.sub(r"^(\S+) (.*)", r"<p>\1 <b>\2</b></p>", one), "html") for one in sentences[::4]]
    return [
        *map(Question, dict.fromkeys(sentences)),
        *joined,
        *marked,
        Question(""),
        Question(" \n"),
        Question("?"),
    ]


class Asked(NamedTuple):
    """A request and where its answers are."""

    path: str
    body: dict[str, Any]
    kind: str
    texts_of: Callable[[Any], list[str]]


def libretranslate(texts: Sequence[str], markup: str, pair: tuple[str, str], kind: str = _JSON) -> Asked:
    body = {
        "q": texts if len(texts) > 1 else texts[0],
        "source": pair[0],
        "target": pair[1],
        "format": markup,
    }

    def texts_of(got: Any) -> list[str]:
        text = got["translatedText"]
        return [text] if isinstance(text, str) else text

    return Asked("/translate", body, kind, texts_of)


def deepl(texts: Sequence[str], markup: str, pair: tuple[str, str], kind: str = _JSON) -> Asked:
    body = {"text": texts, "target_lang": pair[1].upper()}
    if markup != "text":
        body["tag_handling"] = markup
    return Asked("/v2/translate", body, kind, lambda got: [one["text"] for one in got["translations"]])


def native(texts: Sequence[str], markup: str, pair: tuple[str, str], kind: str = _JSON) -> Asked:
    body = {"texts": texts, "source": pair[0], "target": pair[1], "markup": markup}
    return Asked("/v1/translate", body, _JSON, lambda got: [one["text"] for one in got["results"]])


_FAMILIES = libretranslate, deepl, native


# ---- the clients of `load` -------------------------------------------------------------------------------


@dataclass
class Tally:
    """What happened to the requests."""

    asked: int = 0
    lost: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    refused: int = 0
    left: int = 0
    hostile: Counter[str] = field(default_factory=Counter)
    slow: int = 0
    texts: int = 0
    seconds: list[float] = field(default_factory=list)


@dataclass(frozen=True)
class Crowd:
    """What all clients share."""

    url: str
    pair: tuple[str, str]
    alone: Mapping[Question, str]
    until: float
    tally: Tally

    def draw(self, dice: random.Random, most: int) -> tuple[list[Question], Asked]:
        """A request of one or several texts, on one of the routes."""
        first = dice.choice(list(self.alone))
        several = [
            first,
            *(one for one in dice.choices(list(self.alone), k=most) if one.markup == first.markup),
        ]
        chosen = several if dice.random() < 0.5 else [first]
        family, kind = dice.choice(_FAMILIES), dice.choice((_JSON, _JSON, _FORM))
        return chosen, family([one.text for one in chosen], first.markup, self.pair, kind)


def check(crowd: Crowd, chosen: Sequence[Question], asked: Asked, reply: Reply) -> bool:
    """Count what a request came to. Return whether it was answered."""
    tally = crowd.tally
    if reply.status in (429, 503) and "retry-after" in reply.headers:
        tally.refused += 1
        return False
    if reply.status != 200:
        tally.lost.append(f"{asked.path}: {reply.status} {reply.body[:200]!r}")
        return False
    for question, text in zip(chosen, asked.texts_of(json.loads(reply.body)), strict=True):
        if text != crowd.alone[question]:
            tally.wrong.append(f"{asked.path}: {question}: {text!r}, alone {crowd.alone[question]!r}")
    return True


async def normal(crowd: Crowd, dice: random.Random) -> None:
    """Asks, reads, and asks again, sometimes on a new connection."""
    async with Connection(crowd.url) as connection:
        while time.monotonic() < crowd.until:
            chosen, asked = crowd.draw(dice, 16)
            crowd.tally.asked += 1
            began = time.perf_counter()
            try:
                reply = await connection.post(asked.path, asked.body, asked.kind)
            except (OSError, EOFError, TimeoutError) as error:
                crowd.tally.lost.append(f"{asked.path}: {error!r}")
                connection.close()
                continue
            if check(crowd, chosen, asked, reply):
                crowd.tally.seconds.append(time.perf_counter() - began)
                crowd.tally.texts += len(chosen)
            else:
                await asyncio.sleep(min(float(reply.headers.get("retry-after", 1)), 2.0))
            if dice.random() < 0.1:
                connection.close()


async def slow(crowd: Crowd, dice: random.Random) -> None:
    """Takes its answers in small bites."""
    while time.monotonic() < crowd.until:
        chosen, asked = crowd.draw(dice, 48)
        crowd.tally.asked += 1
        async with Connection(crowd.url, receives=2048) as connection:
            try:
                head = f"Content-Type: {_JSON}\r\nConnection: close\r\n"
                body = json.dumps(asked.body).encode()
                reply = await connection.ask(f"POST {asked.path}", body, head, pause=0.02)
            except (OSError, EOFError, TimeoutError) as error:
                crowd.tally.lost.append(f"slow {asked.path}: {error!r}")
                continue
        crowd.tally.slow += check(crowd, chosen, asked, reply)


async def leaver(crowd: Crowd, dice: random.Random) -> None:
    """Asks for much, with texts that nobody else has, and leaves before the answer or in the middle of it."""
    while time.monotonic() < crowd.until:
        _, asked = crowd.draw(dice, 1)
        texts = [f"{dice.choice(list(crowd.alone)).text} {dice.random()}" for _ in range(40)]
        asked = dice.choice(_FAMILIES)(texts, "text", crowd.pair)
        async with Connection(crowd.url) as connection:
            await connection.send(
                f"POST {asked.path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {_JSON}\r\n",
                json.dumps(asked.body).encode(),
            )
            await asyncio.sleep(dice.random() ** 3)
        crowd.tally.left += 1


def hostile_bodies(dice: random.Random, pair: tuple[str, str]) -> dict[str, tuple[bytes, str, int | None]]:
    """Bodies that are no requests: the bytes, the type that they claim, and a false length."""
    whole = json.dumps({"q": "A dog.", "source": pair[0], "target": pair[1]}).encode()
    odd = dice.choice([5, None, True, {"a": []}, [[]], [1], 1e308, [None]])
    return {
        "not JSON": (b"{q: 'A dog.'", _JSON, None),
        "wrong types": (
            json.dumps({"q": odd, "text": odd, "texts": odd, "target": odd}).encode(),
            _JSON,
            None,
        ),
        "huge": (b'{"q": "' + b"a" * 2**21 + b'"}', _JSON, None),
        "deep": (b"[" * 200_000, _JSON, None),
        "half": (whole[:20], _JSON, len(whole)),
        "length too small": (whole, _JSON, 10),
        "negative length": (whole, _JSON, -1),
        "binary": (
            dice.randbytes(5_000),
            dice.choice((_JSON, _FORM, "multipart/form-data; boundary=x")),
            None,
        ),
        "no type": (dice.randbytes(50), "x/\x80", None),
    }


async def hostile(crowd: Crowd, dice: random.Random) -> None:
    """Sends what is no request. It must get a 4xx, or no answer at all."""
    while time.monotonic() < crowd.until:
        name, (body, kind, size) = dice.choice(list(hostile_bodies(dice, crowd.pair).items()))
        path = dice.choice(("/translate", "/v2/translate", "/v1/translate", "/detect", "/translate_file"))
        async with Connection(crowd.url) as connection:
            try:
                head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
                await connection.send(head, body, size)
                status = str(
                    (await asyncio.wait_for(connection.read(), 2 if name == "half" else _PATIENCE)).status
                )
            except (OSError, EOFError):
                status = "closed"
            except TimeoutError:
                status = "left" if name == "half" else "lost"
        crowd.tally.hostile[status] += 1
        if not re.fullmatch("4..|closed|left", status):
            crowd.tally.lost.append(f"hostile, {name}, {path}: {status}")
        await asyncio.sleep(0.05)


_CLIENTS: tuple[Callable[[Crowd, random.Random], Awaitable[None]], ...] = (
    *(normal,) * 5,
    slow,
    leaver,
    hostile,
)


# ---- load ------------------------------------------------------------------------------------------------


async def loaded(
    server: Server, model: Path, sentences: Sequence[str], clients: int, seconds: float
) -> list[str]:
    """Put load on a server. Returns what went wrong."""
    config = json.loads((model / "config.json").read_text("utf-8"))
    pair = config["source_language"], config["target_language"]
    alone = await alone_answers(server.url, questions(sentences), pair)
    began = time.monotonic()
    tally, memory = Tally(), list[float]()
    crowd = Crowd(server.url, pair, alone, began + seconds, tally)
    tasks = [
        asyncio.create_task(_CLIENTS[number % len(_CLIENTS)](crowd, random.Random(number)))
        for number in range(clients)
    ]
    while time.monotonic() < crowd.until:
        memory.append(resident(server.process.pid))
        await asyncio.sleep(seconds / 200)
    await asyncio.gather(*tasks)
    took = time.monotonic() - began
    idle = await _idle(server.url)
    return _report(tally, memory, took, idle)


async def alone_answers(url: str, asked: Sequence[Question], pair: tuple[str, str]) -> dict[Question, str]:
    """The answer to each question when nobody else asks anything."""
    answers = {}
    async with Connection(url) as connection:
        for question in asked:
            one = libretranslate([question.text], question.markup, pair)
            reply = await connection.post(one.path, one.body)
            answers[question] = one.texts_of(json.loads(reply.body))[0]
    return answers


async def _idle(url: str) -> bool:
    """Whether nothing is left to do soon after all clients have gone."""
    async with Connection(url) as connection:
        for _ in range(100):
            text = (await connection.get("/metrics")).body.decode()
            left = dict(
                re.findall(r"^dragoman_(requests_in_flight|queue_characters) (\S+)", text, re.MULTILINE)
            )
            # This request itself is in flight.
            if float(left["requests_in_flight"]) == 1 and float(left["queue_characters"]) == 0:
                return True
            await asyncio.sleep(0.1)
    return False


def _report(tally: Tally, memory: Sequence[float], took: float, idle: bool) -> list[str]:
    early, half, last = (memory[int(len(memory) * part)] for part in (0.1, 0.5, 0.99))
    statuses = " ".join(f"{status}: {count}" for status, count in sorted(tally.hostile.items()))
    rows = [
        ["requests", f"{tally.asked:,}"],
        ["lost", f"{len(tally.lost)}"],
        ["other than alone", f"{len(tally.wrong)}"],
        ["refused with Retry-After", f"{tally.refused:,}"],
        ["slow readers served", f"{tally.slow:,}"],
        ["left in the middle", f"{tally.left:,}"],
        ["hostile", statuses],
        ["texts/s", f"{tally.texts / took:,.0f}"],
        ["p50, p99", f"{_ms(tally.seconds, 0.5)}, {_ms(tally.seconds, 0.99)}"],
        ["MB at 10 %, 50 %, 100 %", f"{early:.0f}, {half:.0f}, {last:.0f}"],
        ["idle afterwards", "yes" if idle else "no"],
    ]
    print("\n".join(aligned(rows)))
    wrong = [*tally.lost[:5], *tally.wrong[:5]]
    factor, more = _GROWTH
    if took > _WARM_UP and last > half * factor + more:
        wrong.append(f"memory still grows: from {half:.0f} to {last:.0f} MB")
    if not idle:
        wrong.append("the server is not idle")
    if not tally.texts:
        wrong.append("nothing was translated")
    return wrong


def _ms(seconds: Sequence[float], part: float) -> str:
    return f"{sorted(seconds)[int(part * len(seconds))] * 1000:.0f} ms" if seconds else "-"


def load(options: argparse.Namespace) -> None:
    with serving(options.model, "--cache", "1", *options.words) as server:
        work = loaded(
            server, options.model, _sentences(options.text, options.texts), options.clients, options.seconds
        )
        wrong = asyncio.run(work)
        if code := server.end():
            wrong.append(f"the server ended with {code}")
        wrong += server.failures()[:5]
    if wrong:
        raise SystemExit("\n".join(wrong))


# ---- speed -----------------------------------------------------------------------------------------------


class Turn(NamedTuple):
    """What one server did in one turn."""

    rate: float  # sentences a second
    seconds: list[float]  # of each request
    work: float  # seconds of the processors for a sentence
    memory: float


async def turn(
    url: str,
    pid: int | None,
    pair: tuple[str, str],
    texts: Iterator[str],
    clients: int,
    size: int,
    seconds: float,
) -> Turn:
    """Let clients ask for some time, each for `size` sentences at a time."""
    began, before, times = time.perf_counter(), worked(pid) if pid else 0.0, list[float]()

    async def client() -> None:
        async with Connection(url) as connection:
            while (start := time.perf_counter()) - began < seconds:
                chosen = list(islice(texts, size))
                if len(chosen) < size:
                    raise SystemExit("--text has too few lines for a turn")
                asked = libretranslate(chosen, "text", pair)
                reply = await connection.post(asked.path, asked.body)
                if reply.status != 200 or len(asked.texts_of(json.loads(reply.body))) != size:
                    raise SystemExit(f"{url}: {reply.status} {reply.body[:200]!r}")
                times.append(time.perf_counter() - start)

    await asyncio.gather(*(client() for _ in range(clients)))
    count, took = len(times) * size, time.perf_counter() - began
    work, memory = ((worked(pid) - before) / count, resident(pid)) if pid else (0.0, 0.0)
    return Turn(count / took, times, work, memory)


def speed(options: argparse.Namespace) -> None:
    config = json.loads((options.model / "config.json").read_text("utf-8"))
    pair = config["source_language"], config["target_language"]
    sentences = _sentences(options.text, None)
    table = [["clients", "a request", "server", "sentences/s", "least, most", "p50", "p99", "CPU ms", "MB"]]
    with serving(options.model, "--cache", "0", *options.words) as ours:
        servers: dict[str, tuple[str, int | None]] = {"dragoman": (ours.url, ours.process.pid)}
        if options.libretranslate:
            servers["LibreTranslate"] = options.libretranslate, options.pid
        for url, pid in servers.values():
            asyncio.run(turn(url, pid, pair, iter(sentences), 4, 1, 2))
        for size in options.sizes:
            for clients in options.clients:
                turns: dict[str, list[Turn]] = {name: [] for name in servers}
                for _ in range(options.turns):
                    for name, (url, pid) in servers.items():
                        work = turn(url, pid, pair, iter(sentences), clients, size, options.seconds)
                        turns[name].append(asyncio.run(work))
                table += [_row(clients, size, name, done) for name, done in turns.items()]
        ours.end()
    print("\n".join(aligned(table, right={0, 1, *range(3, 9)})))


def _row(clients: int, size: int, name: str, turns: Sequence[Turn]) -> list[str]:
    rates, times = [one.rate for one in turns], [each for one in turns for each in one.seconds]
    least_most = f"{min(rates):,.0f}, {max(rates):,.0f}"
    rate, work = statistics.median(rates), statistics.median(one.work for one in turns) * 1000
    memory = max(one.memory for one in turns)
    head = [str(clients), str(size), name, f"{rate:,.0f}", least_most, _ms(times, 0.5), _ms(times, 0.99)]
    return [*head, *([f"{work:.1f}", f"{memory:,.0f}"] if memory else ["-", "-"])]


class Flood(NamedTuple):
    """What became of the requests of a row."""

    answered: list[float]  # seconds of each
    refused: list[float]
    late: int
    other: list[str]  # what went wrong


async def flood(
    url: str, pair: tuple[str, str], texts: Iterator[str], size: int, rate: float, seconds: float
) -> Flood:
    """Send requests of `size` sentences, `rate` of them a second, each on a connection of its own."""
    found = Flood([], [], 0, [])
    late = 0

    async def one(chosen: list[str]) -> None:
        nonlocal late
        asked, began = libretranslate(chosen, "text", pair), time.perf_counter()
        async with Connection(url) as connection:
            try:
                reply = await connection.post(asked.path, asked.body)
            except (OSError, EOFError, TimeoutError) as error:
                found.other.append(repr(error))
                return
        took = time.perf_counter() - began
        if reply.status == 200:
            found.answered.append(took)
        elif reply.status == 429 and "retry-after" in reply.headers:
            found.refused.append(took)
        elif reply.status == 504 and "retry-after" in reply.headers:
            late += 1
        else:
            found.other.append(f"{reply.status} {reply.body[:80]!r}")

    tasks, began = [], time.perf_counter()
    for number in range(max(1, int(rate * seconds))):
        await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
        tasks.append(asyncio.create_task(one(list(islice(texts, size)))))
    await asyncio.gather(*tasks)
    return found._replace(late=late)


def overload(options: argparse.Namespace) -> None:
    config = json.loads((options.model / "config.json").read_text("utf-8"))
    pair = config["source_language"], config["target_language"]
    sentences = _sentences(options.text, None)
    head = ["timeout", "a request", "load", "offered", "answered", "of capacity", "refused", "late"]
    table = [[*head, "longest wait", "p99 of a refusal"]]
    wrong: list[str] = []
    asked = itertools.cycle(sentences)

    def capacity(url: str, size: int) -> float:
        return asyncio.run(turn(url, None, pair, asked, max(2, 64 // size), size, options.seconds / 3)).rate

    for timeout in options.timeouts:
        words = ["--cache", "0", *options.words]
        with (
            serving(options.model, *words, "--timeout", "600") as patient,
            serving(options.model, *words, "--timeout", str(timeout)) as ours,
        ):
            for size in options.sizes:
                before = capacity(patient.url, size)
                for load_ in options.loads:
                    rate = before * load_ / size
                    began = time.perf_counter()
                    found = asyncio.run(flood(ours.url, pair, asked, size, rate, options.seconds))
                    # The last answers come after the last request: that time counts, too.
                    took = max(options.seconds, time.perf_counter() - began)
                    after = capacity(patient.url, size)
                    offered = size * max(1, int(rate * options.seconds))
                    done = size * len(found.answered)
                    part = done / min(offered, (before + after) / 2 * took)
                    before = after
                    table.append(
                        [f"{timeout:g} s", str(size), f"{load_:g}", f"{offered:,}", f"{done:,}"]
                        + [f"{part:.0%}", f"{size * len(found.refused):,}", f"{size * found.late:,}"]
                        + [f"{max(found.answered, default=0):.1f} s", _ms(found.refused, 0.99)]
                    )
                    print("\t".join(table[-1]), file=sys.stderr, flush=True)
                    wrong += found.other[:3]
            ours.end()
            patient.end()
    print("\n".join(aligned(table, right=set(range(10)))))
    if wrong:
        raise SystemExit("\n".join(wrong))


def page(options: argparse.Namespace) -> None:
    from playwright.sync_api import sync_playwright

    script = """(text) => new Promise((done) => {
        const [source, target] = ["source", "target"].map((side) => document.getElementById(`${side}-text`));
        const [before, began] = [target.value, performance.now()];
        source.value = text;
        source.dispatchEvent(new InputEvent("input", { bubbles: true }));
        const look = () => {
            if (target.value && target.value !== before) done(performance.now() - began);
            else setTimeout(look, 1);
        };
        look();
    })"""
    with serving(options.model, *options.words) as ours, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        tab = browser.new_page()
        tab.goto(ours.url)
        tab.wait_for_load_state("networkidle")
        times = []
        for text in _sentences(options.text, options.texts):
            times.append(tab.evaluate(script, text))
            tab.wait_for_timeout(300)
        browser.close()
        ours.end()
    print(f"{len(times)} sentences: median {statistics.median(times):.0f} ms, most {max(times):.0f} ms")


# ---- command line ----------------------------------------------------------------------------------------


def _sentences(path: Path | None, most: int | None) -> list[str]:
    """Different lines of a file, or of the corpus that is part of the package."""
    lines = path.read_text("utf-8").splitlines() if path else [one for one, _ in toy.pairs(count=1000)]
    return list(dict.fromkeys(line for line in lines if line.strip()))[:most]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(required=True)
    first = commands.add_parser("load")
    first.add_argument("--clients", type=int, default=64)
    first.add_argument("--seconds", type=float, default=60)
    first.add_argument("--texts", type=int, default=400, help="lines of the text that are used")
    first.set_defaults(call=load)
    second = commands.add_parser("speed")
    second.add_argument("--libretranslate", metavar="URL")
    second.add_argument("--pid", type=int, help="of LibreTranslate")
    second.add_argument("--clients", type=int, nargs="+", default=[1, 4, 16])
    second.add_argument("--sizes", type=int, nargs="+", default=[1, 16], help="sentences a request")
    second.add_argument("--seconds", type=float, default=10, help="of a turn")
    second.add_argument("--turns", type=int, default=3)
    second.set_defaults(call=speed)
    fourth = commands.add_parser("overload")
    fourth.add_argument("--loads", type=float, nargs="+", default=[0.5, 1, 2, 5, 10])
    fourth.add_argument("--timeouts", type=float, nargs="+", default=[3, 15], metavar="SECONDS")
    fourth.add_argument("--sizes", type=int, nargs="+", default=[1, 100], help="sentences a request")
    fourth.add_argument("--seconds", type=float, default=15, help="of a row")
    fourth.set_defaults(call=overload)
    third = commands.add_parser("page")
    third.add_argument("--texts", type=int, default=20, help="lines of the text that are used")
    third.set_defaults(call=page)
    for command in (first, second, third, fourth):
        command.add_argument("--model", type=Path, required=True)
        command.add_argument("--text", type=Path, help="sentences, one a line")
        command.add_argument(
            "--words", action="append", default=[], help="a word for the command line of our server"
        )
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
