"""Several processes that train one model: each computes gradients on its batches, and they are summed.

`torchrun` starts them and sets RANK, WORLD_SIZE and LOCAL_RANK. Without it there is one process. Torch is
imported only when it is needed, so that a single process can check a run before that slow import.

Processes exchange tensors, and values as JSON. Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dragoman.base.errors import Elsewhere, Interrupted, TrainingError
from dragoman.training.processes.watchdog import RESUME, Watchdog, guilty, watchdog_of

if TYPE_CHECKING:
    import torch
    from torch import Tensor

T = TypeVar("T")

# How long a process waits for the others. The leader may have teachers translate tens of millions of lines.
# The watchdog notices a process that ends or stalls.
_PATIENCE = timedelta(days=30)
_START = 600.0  # seconds for all processes to start, once torchrun has brought them together


@dataclass(frozen=True)
class World:
    """The place of this process among those that train together."""

    rank: int
    size: int
    chosen: torch.device | None = None  # by default a GPU of its own, or the CPU
    watchdog: Watchdog | None = field(default=None, compare=False)

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes files and reports."""
        return self.rank == 0

    @cached_property
    def device(self) -> torch.device:
        """Where this process computes."""
        import torch

        if self.chosen is not None:
            return self.chosen
        if not torch.cuda.is_available():
            return torch.device("cpu")
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
        return device

    def sum(self, values: Tensor) -> Tensor:
        """`values` summed over all processes, in place."""
        return self._reduced(values, "SUM")

    def greatest(self, *numbers: int) -> list[int]:
        """The maximum of each of the numbers over all processes."""
        if self.size == 1:
            return [*numbers]
        import torch

        found: list[int] = self._reduced(torch.tensor(numbers, device=self.device), "MAX").tolist()
        return found

    def _reduced(self, values: Tensor, operation: Literal["SUM", "MAX"]) -> Tensor:
        if self.size > 1:
            import torch.distributed as dist

            with self._reaching_others():
                dist.all_reduce(values, getattr(dist.ReduceOp, operation))
        return values

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Sum the gradients over all processes, in one message for each dtype."""
        if self.size == 1:
            return
        import torch

        # A process whose batches were empty has no gradients and adds zeros.
        gradients = []
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            gradients.append(parameter.grad)
        for dtype in sorted({gradient.dtype for gradient in gradients}, key=str):
            same = [gradient for gradient in gradients if gradient.dtype == dtype]
            flat = self.sum(torch.cat([gradient.flatten() for gradient in same]))
            for gradient, part in zip(same, torch.split(flat, [g.numel() for g in same]), strict=True):
                gradient.copy_(part.view_as(gradient))

    def spread(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Give every process the leader's weights."""
        if self.size > 1:
            import torch.distributed as dist

            with self._reaching_others():
                for parameter in parameters:
                    dist.broadcast(parameter.data, src=0)

    def share(self, value: T) -> T:
        """The leader's `value`, on every process. It must be what JSON can hold; NaN is allowed."""
        if self.size == 1:
            return value
        import torch
        import torch.distributed as dist

        bytes_ = self._packed(value) if self.leads else torch.empty(0, dtype=torch.uint8, device=self.device)
        [length] = self.greatest(len(bytes_))
        if not self.leads:
            bytes_ = bytes_.new_empty(length)
        with self._reaching_others():
            dist.broadcast(bytes_, src=0)
        result: T = _unpacked(bytes_)
        return result

    def gather(self, value: T) -> list[T]:
        """The `value` of every process in the order of their ranks, on every process, as `share` does."""
        if self.size == 1:
            return [value]
        import torch
        import torch.distributed as dist

        bytes_ = self._packed(value)
        lengths = torch.zeros(self.size, dtype=torch.long, device=self.device)
        lengths[self.rank] = len(bytes_)
        self.sum(lengths)
        padded = bytes_.new_zeros(int(lengths.max()))
        padded[: len(bytes_)] = bytes_
        parts = [torch.empty_like(padded) for _ in range(self.size)]
        with self._reaching_others():
            dist.all_gather(parts, padded)
        return [_unpacked(part[:length]) for part, length in zip(parts, lengths.tolist(), strict=True)]

    def lead(self, work: Callable[[], T]) -> T:
        """Do `work` on the leader alone and return its result, which JSON can hold, on every process.

        If the work fails, the leader raises the error and the other processes raise Elsewhere.
        """
        if self.size == 1:
            return work()
        if self.leads:
            try:
                with contextlib.nullcontext() if self.watchdog is None else self.watchdog.alone():
                    result = work()
            except Exception:
                with contextlib.suppress(TrainingError):  # the first error is the one to report
                    self.share(None)
                raise
            self.share([result])
            return result
        shared: list[T] | None = self.share(None)
        if shared is None:
            raise Elsewhere("the first process of this run reports what went wrong")
        return shared[0]

    def leader_first(self, work: Callable[[], T]) -> T:
        """Do `work` on the leader, then on the other processes; return each one's own result.

        If it fails on the leader, the other processes raise Elsewhere without trying.
        """
        results: list[T] = []
        self.lead(lambda: results.append(work()))
        return results[0] if self.leads else work()

    def _packed(self, value: object) -> Tensor:
        import torch

        bytes_ = bytearray(json.dumps(value), encoding="ascii")
        return torch.frombuffer(bytes_, dtype=torch.uint8).to(self.device)

    def watch(self) -> None:
        """From now on, a process that stalls ends the run."""
        if self.watchdog is not None:
            self.watchdog.training()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Name the process that is lost, if the block fails for that. Other errors pass unchanged."""
        try:
            yield
        except RuntimeError as error:
            if self.watchdog is not None and (lost := self.watchdog.lost()):
                raise self._apart(lost) from error
            raise

    @contextmanager
    def _reaching_others(self) -> Iterator[None]:
        watchdog = self.watchdog
        if watchdog is not None:
            watchdog.arrive()
        try:
            yield
        except RuntimeError as error:
            lost = "" if watchdog is None else watchdog.lost()
            raise self._apart(lost or "the other processes ended or cannot be reached") from error
        finally:
            if watchdog is not None:
                watchdog.leave_exchange()

    def _apart(self, why: str) -> Apart:
        return Apart(f"process {self.rank} of this run ends: {why}", hint=RESUME)


class Apart(TrainingError):
    """This process cannot continue, because another one is lost."""


def _unpacked(bytes_: Tensor) -> Any:
    return json.loads(bytes_.cpu().numpy().tobytes())


@dataclass
class _Membership:
    """The world that this process has joined, and why it leaves: its own error, if any."""

    world: World
    reason: str | None = None  # of the innermost block, which knows the error as it was raised


_membership: ContextVar[_Membership | None] = ContextVar("_membership", default=None)


@contextmanager
def joined() -> Iterator[World]:
    """Join the processes that `torchrun` started, and leave them at the end of the block.

    A block within another has the same world, and the processes stay joined at its end.
    """
    outer = _membership.get()
    member = outer or _Membership(join())
    token = _membership.set(member)
    try:
        yield member.world
    except BaseException as error:
        if member.reason is None:
            member.reason = guilty(error, (Apart, Elsewhere, Interrupted))
        raise
    finally:
        _membership.reset(token)
        if outer is None and member.world.size > 1:
            leave(member.world, member.reason or "")


def join() -> World:
    """Join the processes that `torchrun` started; without it, this process is alone."""
    world = World(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))
    if world.size > 1:
        # PyTorch prints a trace for each request that the store of a lost process does not answer.
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
        import torch.distributed as dist
        from torch.distributed import PrefixStore, rendezvous  # type: ignore[attr-defined]  # public

        store, rank, size = next(rendezvous("env://"))
        if isinstance(store, PrefixStore):  # torchrun's, with a prefix that may differ between machines
            common = store.underlying_store
            name = agreed_round(PrefixStore("round", common), rank, size, patience=_START)
            store = PrefixStore(name, common)
        backend = "nccl" if world.device.type == "cuda" else "gloo"
        group = PrefixStore("group", store)
        dist.init_process_group(backend, store=group, rank=rank, world_size=size, timeout=_PATIENCE)
        world = World(rank, size, watchdog=watchdog_of(store, rank, size))
    return world


def leave(world: World, reason: str = "") -> None:
    """End what `join` began. `reason` is the error of this process, for the others."""
    import torch.distributed as dist

    if world.watchdog is not None:
        world.watchdog.close(reason)
    if dist.is_initialized():
        dist.destroy_process_group()


_PAUSE = 0.05  # seconds between two looks


def agreed_round(store: Any, rank: int, size: int, *, patience: float) -> str:
    """Return a name for this start that all of its processes get, and no earlier or later start.

    The agents of `torchrun` on several machines share one store for all starts, and tell their processes how
    often they were started. One agent may count a lost process and another only that a machine joined again,
    so their numbers differ. Processes that look for each other under different numbers would wait for ever.

    Each process puts down a new random word. The first one publishes the words of all; the others confirm
    a list that has their own; then the first one lets them go. Leftovers of earlier starts in the store have
    none of the new words. Raises TrainingError after `patience` seconds.
    """
    word, published, confirmed = secrets.token_hex(8), "", ""
    end = time.monotonic() + patience
    store.set(f"word/{rank}", word)
    while time.monotonic() < end:
        if rank == 0:
            every = [word, *(_read(store, f"word/{other}") for other in range(1, size))]
            if all(every) and " ".join(every) != published:
                published = " ".join(every)
                store.set("words", published)
            if published and all(_read(store, f"seen/{other}") == published for other in range(1, size)):
                store.set("go", published)
                return _name(published)
        else:
            words = _read(store, "words")
            if words != confirmed and words.split()[rank : rank + 1] == [word]:
                confirmed = words
                store.set(f"seen/{rank}", words)
            if confirmed and _read(store, "go") == confirmed:
                return _name(confirmed)
        time.sleep(_PAUSE)
    raise TrainingError(
        f"process {rank}: not all {size} processes have started within {patience:,.0f} seconds",
        hint="start torchrun with the same --rdzv-id on every machine",
    )


def _read(store: Any, key: str) -> str:
    return str(store.multi_get([key])[0].decode()) if store.check([key]) else ""


def _name(words: str) -> str:
    return hashlib.blake2b(words.encode(), digest_size=8).hexdigest()
