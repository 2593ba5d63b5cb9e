"""Inspects sentences with the models of a server, as they are and with interventions. No HTTP here.

One run at a time, in a thread of its own. The first run imports torch, and loads a PyTorch model in addition
to the one that translates.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dragoman.base.errors import DataError
from dragoman.base.machine import has_pytorch
from dragoman.models.shapes import Architecture, RecurrentConfig, SSRUConfig, TransformerConfig
from dragoman.serving.service.ask import Route
from dragoman.serving.service.languages import Pairs
from dragoman.serving.service.limits import Late, NoPyTorch, NotReady, Overloaded, TooLong, UnknownLanguage
from dragoman.text.blank import is_blank
from dragoman.translation.search.options import Decoding
from dragoman.translation.translator import Translator

if TYPE_CHECKING:
    from dragoman.models.folder.bundle import Bundle
    from dragoman.serving.service.models import ServedModel

SECONDS = 30.0
_LOADING = 120.0  # seconds that the first run of a model gets in addition
_TEXT = 500  # characters
_TOKENS = 200  # of the source: the attention of all heads grows with their square
BEAM = 10
_WAITING = 8  # runs, the one under way included


@dataclass(frozen=True)
class Question:
    """A sentence to inspect. `interventions` are as in `Intervention.from_table`."""

    text: str
    source: str
    target: str
    interventions: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # beam, length_penalty
    model: str | None = None  # the name of a model of the pair; None: the first


class Inspector:
    """Inspects sentences with the models of a server. Independent of HTTP."""

    def __init__(self, models: Iterable[ServedModel], *, seconds: float = SECONDS) -> None:
        """`seconds`: after which a run is given up, queueing included."""
        self._models, self.seconds = {one.name: one for one in models}, seconds
        self._pairs = Pairs(leg for one in self._models.values() for leg in one.legs)
        self._bundles: dict[str, Bundle] = {}  # by the names of models; filled by the thread
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="how")
        self._runs: set[Future[dict[str, Any]]] = set()
        self._closed = False

    def about(self) -> dict[str, Any]:
        """The models, and their parts that can be changed. Loads nothing. Raises NoPyTorch."""
        _need_pytorch()
        models = [
            {"model": one.name, "sources": leg.sources, "targets": leg.targets} | _about(one.translator)
            for one in self._models.values()
            for leg in one.legs
        ]
        return {"models": models, "limits": {"characters": _TEXT, "beam": BEAM}}

    async def answer(self, question: Question) -> dict[str, Any]:
        """Return the data of the report, as plain values.

        Raises NoPyTorch, ConfigError and DataError for text that cannot be inspected (UnknownLanguage,
        TooLong), Overloaded if others wait, Late after the deadline.
        """
        _need_pytorch()
        if len(question.text) > _TEXT:
            raise TooLong(f"{len(question.text):,} characters", hint=f"at most {_TEXT} can be inspected")
        if is_blank(question.text):
            raise DataError("the text is empty", hint="give a sentence")
        (name,) = self._route(question).models
        if len(self._runs) >= _WAITING:
            raise Overloaded("others are inspecting", retry_after=self.seconds / 2)
        seconds = self.seconds + (0 if name in self._bundles else _LOADING)
        deadline = time.monotonic() + seconds
        work = self._thread.submit(self._run, question, deadline)
        self._runs.add(work)
        work.add_done_callback(self._runs.discard)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(work), seconds)
        except TimeoutError:
            raise _late() from None

    def close(self) -> None:
        """Stop the run that is under way, and begin no other."""
        self._closed = True
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _route(self, question: Question) -> Route:
        """The route through one model. Raises UnknownLanguage for a pair without a route."""
        route = self._pairs.find(question.source, question.target, model=question.model)
        if len(route.models) != 1:
            what = f"no model from {question.source} to {question.target}"
            raise UnknownLanguage(what, language=question.target)
        return route

    def _run(self, question: Question, deadline: float) -> dict[str, Any]:
        from dragoman.inspection import Intervention, contrast, inspect
        from dragoman.inspection.views.report import data_of

        def in_time() -> None:
            if self._closed:
                raise NotReady("the server is shutting down")
            if time.monotonic() > deadline:
                raise _late()

        in_time()
        intervention = Intervention.from_table(question.interventions)
        route = self._route(question)
        model = self._models[route.models[0]]
        tags = model.tags(pair := (route.source, route.target))
        bundle = replace(self._bundle(model), source_language=pair[0], target_language=pair[1])
        text, start = model.translator.addressed(" ".join(question.text.split()), *tags)
        tokens = len(bundle.tokenizer.encode_source([text])[0])
        if tokens > _TOKENS:
            raise TooLong(f"the text has {tokens} tokens", hint=f"at most {_TOKENS} can be inspected here")
        in_time()
        how = Decoding(**question.options).beam_search(bundle.generation)
        options: dict[str, Any] = {
            "start": start,
            "beam": replace(how, size=min(how.size, BEAM)),
            "name": f"{question.source} to {question.target}",
            "every_step": in_time,
        }
        if intervention == Intervention():
            return data_of([inspect(bundle, text, **options)])
        both = contrast(bundle, text, intervention, **options)
        return data_of([both.untouched, both.changed], both.difference())

    def _bundle(self, model: ServedModel) -> Bundle:
        """The PyTorch model. It is a twin: hooks must not see what the server translates."""
        from dragoman.inspection.intervening import twin

        if model.name not in self._bundles:
            bundle = model.translator.bundle
            self._bundles[model.name] = replace(bundle, model=twin(bundle.model))
        return self._bundles[model.name]


def _need_pytorch() -> None:
    if not has_pytorch():
        raise NoPyTorch("this server has no PyTorch", hint="install it: pip install 'dragoman[train]'")


def _about(translator: Translator) -> dict[str, Any]:
    """The parts that an intervention can change, without loading it again: layers, heads and positions."""
    engine: Any = getattr(translator.engine, "engine", translator.engine)  # within the one that is shared
    config: Architecture = engine.model.config if hasattr(engine, "model") else engine.config
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
