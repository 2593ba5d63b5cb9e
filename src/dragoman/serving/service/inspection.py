"""Inspects sentences with the models of a server, as they are and with interventions. No HTTP here.

One run at a time, in a thread of its own. The first run imports torch, and loads the PyTorch model beside the
one that translates.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dragoman.base.errors import ConfigError, DataError
from dragoman.base.languages import canonical
from dragoman.base.pytorch import has_pytorch
from dragoman.decoding.options import Decoding
from dragoman.models.shapes import Architecture, RecurrentConfig, SSRUConfig, TransformerConfig
from dragoman.serving.service.errors import Late, NoPyTorch, NotReady, Overloaded, TooLong, UnknownLanguage
from dragoman.translator import Translator
from dragoman.translator.lines import addressed

if TYPE_CHECKING:
    from dragoman.folder.bundle import Bundle

Translators = Mapping[tuple[str, str], Translator]  # by source and target language

SECONDS = 30.0
_LOADING = 120.0  # seconds that the first run of a model gets in addition
_TEXT = 500  # characters
_TOKENS = 200  # of the source: the attention of all heads grows with their square
_BEAM = 10
_WAITING = 8  # runs, the one under way included
_OPTIONS = ("beam", "length_penalty")
FIELDS = ("text", "source", "target", "interventions", "options")


class How:
    """Inspects sentences with the models of a server. It knows nothing of HTTP."""

    def __init__(self, translators: Translators, *, seconds: float = SECONDS) -> None:
        """`seconds`: after which a run is given up, the time in the queue included."""
        self._translators, self.seconds = translators, seconds
        self._bundles: dict[tuple[str, str], Bundle] = {}  # filled by the thread
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="how")
        self._waiting = 0
        self._closed = False

    def about(self) -> dict[str, Any]:
        """What can be inspected, and changed. Loads nothing. Raises NoPyTorch."""
        _need_pytorch()
        models = [
            {"source": source, "target": target, **_about(_config_of(translator))}
            for (source, target), translator in self._translators.items()
        ]
        return {"models": models, "limits": {"characters": _TEXT, "beam": _BEAM}}

    async def answer(self, table: object) -> dict[str, Any]:
        """Return the data of the report for a request, a JSON value.

        Raises NoPyTorch, ConfigError and DataError for what cannot be inspected (UnknownLanguage, TooLong),
        Overloaded if others wait, Late after the deadline.
        """
        _need_pytorch()
        wish = _wish(table)
        if wish.pair not in self._translators:
            raise UnknownLanguage(f"no model from {wish.source} to {wish.target}", language=wish.target)
        if self._waiting >= _WAITING:
            raise Overloaded("others are inspecting", retry_after=self.seconds / 2)
        seconds = self.seconds + (0 if wish.pair in self._bundles else _LOADING)
        deadline = time.monotonic() + seconds
        self._waiting += 1
        work = self._thread.submit(self._run, wish, deadline)
        loop = asyncio.get_running_loop()
        work.add_done_callback(lambda _: _in(loop, self._done))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(work), seconds)
        except TimeoutError:
            raise _late() from None

    def close(self) -> None:
        """Stop the run that is under way, and begin no other."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _done(self) -> None:
        self._waiting -= 1

    def _run(self, wish: _Wish, deadline: float) -> dict[str, Any]:
        from dragoman.inspection import Intervention, contrast, inspect
        from dragoman.inspection.report import data_of

        def in_time() -> None:
            if self._closed:
                raise NotReady("the server is shutting down")
            if time.monotonic() > deadline:
                raise _late()

        in_time()
        intervention = Intervention.from_table(wish.interventions)
        bundle, translator = self._bundle(wish.pair), self._translators[wish.pair]
        languages = translator.tokenizer.languages
        to = next((one for one in languages if canonical(one) == wish.target), None)
        text = addressed(" ".join(wish.text.split()), to)
        _check_length(bundle, text)
        in_time()
        decoding = Decoding(**wish.options)
        how = decoding.beam_search(bundle.generation)
        options: dict[str, Any] = {
            "beam": replace(how, size=min(how.size, _BEAM)),
            "name": f"{wish.source} to {wish.target}",
            "every_step": in_time,
        }
        if intervention == Intervention():
            return data_of([inspect(bundle, text, **options)])
        both = contrast(bundle, text, intervention, **options)
        return data_of([both.untouched, both.changed], both.difference())

    def _bundle(self, pair: tuple[str, str]) -> Bundle:
        """The PyTorch model of a pair. It is a twin: hooks must not see what the server translates."""
        from dragoman.inspection.intervening import twin

        if pair not in self._bundles:
            bundle = self._translators[pair].bundle
            self._bundles[pair] = replace(bundle, model=twin(bundle.model))
        return self._bundles[pair]


def _need_pytorch() -> None:
    if not has_pytorch():
        raise NoPyTorch("this server has no PyTorch", hint="install it: pip install 'dragoman[train]'")


# What is asked


@dataclass(frozen=True)
class _Wish:
    """A request whose fields have the right types."""

    text: str
    source: str
    target: str
    interventions: Mapping[str, Any]
    options: Mapping[str, Any]

    @property
    def pair(self) -> tuple[str, str]:
        return self.source, self.target


def _wish(table: object) -> _Wish:
    if not isinstance(table, dict) or not set(table) <= set(FIELDS):
        raise ConfigError("not a request", hint=f"an object with {', '.join(FIELDS)}")
    for name in ("text", "source", "target"):
        if not isinstance(table.get(name), str):
            raise ConfigError(f"{name} is missing or not text", hint="give text, source and target")
    for name in ("interventions", "options"):
        if table.get(name) is None:
            table[name] = {}
        if not isinstance(table[name], dict):
            raise ConfigError(f"{name} is not an object", hint="leave it out, or see docs/how-to/inspect.md")
    if not set(table["options"]) <= set(_OPTIONS):
        raise ConfigError("an unknown option", hint=f"options are {', '.join(_OPTIONS)}")
    beam = table["options"].get("beam")
    if type(beam) is int and beam > _BEAM:
        raise ConfigError(f"a beam of {beam}", hint=f"at most {_BEAM} here")
    if len(table["text"]) > _TEXT:
        raise TooLong(f"{len(table['text']):,} characters", hint=f"at most {_TEXT} can be inspected")
    if not table["text"].strip():
        raise DataError("the text is empty", hint="give a sentence")
    return _Wish(**table)


def _check_length(bundle: Bundle, text: str) -> None:
    tokens = len(bundle.tokenizer.encode_source([text])[0])
    if tokens > _TOKENS:
        raise TooLong(f"the text has {tokens} tokens", hint=f"at most {_TOKENS} can be inspected here")


def _config_of(translator: Translator) -> Architecture:
    """The shape of a model, without loading it again."""
    engine: Any = translator.engine
    config: Architecture = engine.model.config if hasattr(engine, "model") else engine.config
    return config


def _about(config: Architecture) -> dict[str, Any]:
    """What of a model an intervention can change: the layers and heads of each attention, and positions."""
    heads: dict[str, tuple[int, int]] = {}
    if isinstance(config, TransformerConfig | SSRUConfig):
        heads["encoder"] = (config.encoder_layers, config.heads)
        if isinstance(config, TransformerConfig):
            heads["decoder"] = (config.decoder_layers, config.heads)
        heads["cross"] = (config.decoder_layers, config.heads)
    kind = "none" if isinstance(config, RecurrentConfig) else config.positions
    shift = kind not in ("none", "relative", "t5", "alibi", "rotary")
    about = {"architecture": config.architecture, "heads": heads}
    return about | {"shift": shift, "no_positions": kind != "none"}


def _late() -> Late:
    return Late("the deadline passed", hint="try a shorter text")


def _in(loop: asyncio.AbstractEventLoop, action: Callable[[], None]) -> None:
    """Call `action` in the thread of the loop, unless that is closed."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(action)
