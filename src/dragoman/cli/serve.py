"""`dragoman serve` and `dragoman studio`: a translation server with a page, and a page of training runs."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from dragoman.base.errors import ConfigError, DataError
from dragoman.cli.options import Configured as Configured  # of the table of commands
from dragoman.cli.options import Flag, Flags, NumberType, Quiet, argument, from_file
from dragoman.cli.outcome import tell, waiting, warn
from dragoman.serving.service.limits import Limits

if TYPE_CHECKING:
    from socket import socket as Socket

    from dragoman.serving.apis.endpoints import ServerState
    from dragoman.serving.http.logs import LogFormat
    from dragoman.serving.http.settings import Settings
    from dragoman.serving.service.service import ModelSpec, ServedModel, Service


_EXTRA = ("starlette", "uvicorn", "prometheus_client", "python_multipart", "py3langid")
_MEGABYTE = 2**20
_SHOWN, _LISTED = 100, 12  # pairs, and languages of a model, that are listed

Several = list[str] | None
FromFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Take options from this file (TOML), by their names: port = 5001.",
        callback=from_file,
        is_eager=True,
    ),
]
AllowHost = Annotated[Several, Flag("A host name of this server. Repeat it for more.", metavar="NAME")]


def serve(
    models: Annotated[
        list[str],
        argument(
            "MODEL...", "Model folders, each NAME=FOLDER or FOLDER. Several serve more pairs of languages."
        ),
    ],
    *,
    host: Annotated[str, Flag("Listen here. 0.0.0.0 is every address.", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, Flag("0 is any free port.", flag="--port -p")] = 5000,
    keys: Annotated[
        Path | None, Flag("Serve only clients with a key. Each line is the SHA-256 digest of one.")
    ] = None,
    usage: Annotated[
        Path | None, Flag("Keep here what each key has used, so that its quotas outlast a restart.")
    ] = None,
    allow_open: Annotated[bool, Flag("Serve everybody who reaches --host, without keys.")] = False,
    allow_host: AllowHost = None,
    cors_origin: Annotated[
        Several, Flag("Allow requests from pages of this site. Repeat it for more.", metavar="URL")
    ] = None,
    trusted_proxy: Annotated[
        Several,
        Flag("Trust X-Forwarded-For of this proxy or network. Repeat it for more.", metavar="ADDRESS"),
    ] = None,
    memory: Annotated[
        list[Path] | None,
        Flag(
            "Use this translation memory, and keep corrections in it. It is created if missing. "
            "Repeat it for other pairs.",
            metavar="FILE",
        ),
    ] = None,
    terms: Annotated[
        Several,
        Flag(
            "A list of terms that requests may choose by its name. Repeat it for more.",
            metavar="[MODEL:][NAME=]FILE",
        ),
    ] = None,
    adapter: Annotated[
        Several,
        Flag(
            "An adapter that requests may choose by its name. Repeat it for more.",
            metavar="[MODEL:][NAME=]FOLDER",
        ),
    ] = None,
    compat_title: Annotated[bool, Flag('Say "LibreTranslate" in /spec: some clients insist on it.')] = False,
    suggestions: Annotated[bool, Flag("Let clients put suggestions into --memory by /suggest.")] = False,
    limits: Annotated[
        Limits,
        Flags(
            section="Limits",
            characters=Flag(flag="--max-characters"),
            texts=Flag(flag="--max-texts"),
            seconds=Flag(flag="--timeout", metavar="SECONDS"),
            client_rate=Flag(flag="--rate"),
        ),
    ],
    max_file: Annotated[
        int | None, Flag("Largest document. [default: 10]", metavar="MB", at_least=1, section="Limits")
    ] = None,
    cache: Annotated[
        int | None,
        Flag(
            "Translations that are kept; 0 keeps none. [default: 64]",
            metavar="MB",
            at_least=0,
            section="Limits",
        ),
    ] = None,
    engine: Annotated[
        Literal["auto", "native", "pytorch"] | None,
        Flag("Engine to translate with. [default: $DRAGOMAN_ENGINE, else auto]", section="Models"),
    ] = None,
    dtype: NumberType = None,
    threads: Annotated[int | None, Flag("Threads. [default: the number of cores]", at_least=1)] = None,
    log: Annotated[Literal["plain", "json"], Flag("How the log is written.")] = "plain",
    check: Annotated[bool, Flag("Load the models, say what would be served, and end.")] = False,
    config: FromFile = None,
    quiet: Quiet = False,
) -> None:
    """Serve models to clients of LibreTranslate and DeepL, to your own programs, and on a page.

    Existing clients need only the address: http://127.0.0.1:5000. Only this machine can reach it,
    unless --host says otherwise. Ctrl-C and SIGTERM end the server when accepted work is done. SIGHUP
    loads keys and models anew. DRAGOMAN_SERVE_PORT=5001 in the environment is --port 5001, and so on.

    \b
      dragoman serve runs/en-de
      dragoman serve runs/en-de runs/de-en --memory app.tm
      dragoman serve runs/en-de --host 0.0.0.0 --keys keys.txt --allow-host translate.example.com
      dragoman serve runs/en-de --check
    """
    _require_extra()
    from dragoman.serving.apis.endpoints import ServerState
    from dragoman.serving.http.metrics import ServerMetrics
    from dragoman.serving.http.server import ignoring_hangup, listen
    from dragoman.serving.http.settings import Keys, Settings, names_of, origins_of, proxies_of
    from dragoman.serving.http.usage import Usage
    from dragoman.serving.service.service import Service

    settings = Settings(
        host=host,
        port=port,
        keys=None if keys is None else Keys.read(keys),
        allow_open=allow_open,
        names=names_of(allow_host or []),
        origins=origins_of(cors_origin or []),
        proxies=proxies_of(trusted_proxy or []),
        compat_title=compat_title,
        suggestions=suggestions,
    )
    sizes = {"file_bytes": max_file, "cache_bytes": cache}
    limits = replace(limits, **{name: size * _MEGABYTE for name, size in sizes.items() if size is not None})
    specs = model_specs(models, terms or [], adapter or [])
    if threads is not None:
        os.environ["OMP_NUM_THREADS"] = str(threads)  # both engines read it when they start
    if suggestions and not memory:
        raise ConfigError("--suggestions without --memory", hint="name a memory to keep them: --memory FILE")
    metrics, used = ServerMetrics(), Usage(usage)
    used.save()  # so that a place that cannot be written shows now

    def load() -> tuple[Service, Settings]:
        new = settings if keys is None else replace(settings, keys=Keys.read(keys))
        files = memory or []
        return Service.open(specs, limits, memories=files, engine=engine, dtype=dtype, counting=metrics), new

    with (
        nullcontext() if check else ignoring_hangup(),
        nullcontext() if check else listen(host, port) as socket,
    ):
        with waiting("loading", shown=not quiet):
            service, settings = load()
        if socket is None:
            _say_served(service, settings, memory or [])
        else:
            state = ServerState(service, settings, metrics, usage=used, load=load)
            _run(state, socket, log=log, quiet=quiet)


def _run(state: ServerState, socket: Socket, *, log: LogFormat, quiet: bool) -> None:
    from dragoman.serving.app import server_of
    from dragoman.serving.http.logs import logging_to

    gc.set_threshold(700, 10, 10)  # Python's own: a server must not keep the garbage of many requests
    socket.listen()  # so that who reads the address can connect at once
    if not quiet:
        if _who(state.settings) == "for everybody":
            warn("no keys are set: everybody who reaches this address can translate")
        served = state.service.pairs
        pairs = [f"{source}-{target}" for source, target in islice(served, 8)]
        more = f" and {len(served) - 8:,} more pairs" if len(served) > 8 else ""
        tell(f"Serving {', '.join(pairs)}{more} at {_address(state.settings.host, socket)}")
    with logging_to(sys.stderr, log, quiet=quiet):
        server_of(state).run([socket])


def _address(host: str, socket: Socket) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{socket.getsockname()[1]}"


def _say_served(service: Service, settings: Settings, memories: Sequence[Path]) -> None:
    """Say what would be served, and end the service."""
    import asyncio

    for model in service.models:
        extras = [f"adapter {name}" for name in model.adapters] + [f"terms {name}" for name in model.terms]
        also = f" ({', '.join(extras)})" if extras else ""
        print(f"model {model.name}: {_pairs_of(model)}, {model.engine} engine{also}")
    for source, target in islice(service.pairs, _SHOWN):
        route = service.pairs.find(source, target)
        through = f" through {', '.join(route.pivots)}" if route.pivots else ""
        print(f"pair {source} to {target}{through}")
    if len(service.pairs) > _SHOWN:
        print(f"and {len(service.pairs) - _SHOWN:,} more pairs")
    for path in memories:
        print(f"memory {path}")
    print(f"address http://{settings.host}:{settings.port}, {_who(settings)}")
    if (resident := _resident()) is not None:
        print(f"resident memory {resident / _MEGABYTE:,.0f} MB")
    asyncio.run(service.drain(0))


def _pairs_of(model: ServedModel) -> str:
    """The pairs of a model, such as "de, fr to en"; of a model of many languages their numbers."""

    def listed(codes: Sequence[str]) -> str:
        return ", ".join(codes) if len(codes) <= _LISTED else f"{len(codes)} languages"

    return "; ".join(f"{listed(leg.sources)} to {listed(leg.targets)}" for leg in model.legs)


def _require_extra() -> None:
    """Raise ConfigError, before anything slow, if a package of the extra is missing."""
    from importlib.util import find_spec

    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        raise ConfigError(f"serving needs {', '.join(missing)}", hint="pip install 'dragoman[serve]'")


def _who(settings: Settings) -> str:
    from dragoman.serving.http.settings import is_loopback

    if settings.keys is not None:
        count = len(settings.keys.keys)
        return f"for {count} key{'' if count == 1 else 's'}"
    return "for this machine" if is_loopback(settings.host) else "for everybody"


def _resident() -> int | None:
    """Bytes of memory that this process holds now; None if the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def model_specs(models: Sequence[str], terms: Sequence[str], adapters: Sequence[str]) -> list[ModelSpec]:
    """The offer to serve. Raises ConfigError or DataError for faults that show before a model is loaded."""
    from dragoman.serving.service.models import ModelSpec, check_model_names

    found = [name_and_path(model, suffix=True) for model in models]
    names = [name for name, _ in found]
    check_model_names(names)
    lists, folders = _by_model("--terms", terms, names), _by_model("--adapter", adapters, names)
    return [
        ModelSpec(folder=path, name=name, terms=lists.get(name, {}), adapters=folders.get(name, {}))
        for name, path in found
    ]


def name_and_path(text: str, *, suffix: bool = False) -> tuple[str, Path]:
    """NAME=PATH, or a path, whose last part is the name, with or without its suffix."""
    name, equals, path = text.partition("=")
    if equals and name and path and "/" not in name:
        return name, Path(path)
    place = Path(text).absolute()
    return (place.name if suffix else place.stem) or text, Path(text)


def _by_model(option: str, texts: Sequence[str], models: Sequence[str]) -> dict[str, dict[str, Path]]:
    """The files of an option by their names, by the names of their models."""
    found: dict[str, dict[str, Path]] = {}
    for text in texts:
        model, colon, rest = text.partition(":")
        if not colon or model not in models:
            model, rest = models[0], text
            if len(models) > 1:
                raise ConfigError(
                    f"{option} {text}: for which model?", hint=f"write {option} {models[0]}:{text}"
                )
        name, path = name_and_path(rest)
        if not path.exists():
            raise DataError(f"{path}: no such file", hint="check the path")
        if name in found.setdefault(model, {}):
            raise ConfigError(f"{option}: the name {name} twice", hint=f"write {option} NAME={path}")
        found[model][name] = path
    return found


def studio(
    runs: Annotated[list[Path], argument("RUN", "Training folders, or their metrics.jsonl.")],
    host: Annotated[str, Flag("Address to serve on.", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[int, Flag("Port; 0 takes a free one.")] = 8090,
    allow_open: Annotated[bool, Flag("Serve on an address that other machines reach.")] = False,
    allow_host: AllowHost = None,
    quiet: Quiet = False,
) -> None:
    """Watch training runs on a page: loss, BLEU, translations, attention, recipes.

    It reads metrics.jsonl and training.toml, so a run may be on another machine, and its folder a copy that
    is synchronised. Attention also needs the checkpoints and PyTorch. It never changes a run. Ctrl-C ends it.

    \b
      dragoman studio runs/en-de
      dragoman studio runs/en-de runs/wider
    """
    # One thread for attention: on the machine that trains, the others are taken.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        from dragoman.serving.http.server import listen
        from dragoman.serving.http.settings import is_loopback
        from dragoman.serving.studio.app import Studio, server_of
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise ConfigError(
            "the studio needs Starlette and uvicorn", hint="pip install 'dragoman[serve]'"
        ) from error
    if not is_loopback(host) and not allow_open:
        raise ConfigError(
            f"--host {host}: other machines could read the runs",
            hint="use ssh -L to reach 127.0.0.1 from elsewhere, or add --allow-open",
        )
    served = Studio(runs, host=host, names=allow_host or ())
    with listen(host, port) as door:
        door.listen()  # so that who reads the address can connect at once
        tell(f"{_address(host, door)}/  (Ctrl-C ends it)", quiet=quiet)
        server_of(served).run(sockets=[door])
