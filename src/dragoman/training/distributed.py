"""Several processes that train one model: each computes gradients on its batches, and they are summed.

`torchrun` starts them and sets RANK, WORLD_SIZE and LOCAL_RANK. Without it there is one process. Torch is
imported only when it is needed, so that a single process can check a run before that slow import.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from dragoman.base.errors import Elsewhere, TrainingError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

T = TypeVar("T")

# How long a process waits for the others. The leader may have to tokenise tens of millions of lines.
# If one process ends, torchrun ends the others at once.
_PATIENCE = timedelta(days=1)


@dataclass(frozen=True)
class World:
    """The place of this process among those that train together."""

    rank: int
    size: int
    chosen: torch.device | None = None  # by default a GPU of its own, or the CPU

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
        if self.size > 1:
            import torch.distributed as dist

            with self._reaching_others():
                dist.all_reduce(values)
        return values

    def greatest(self, values: Tensor) -> Tensor:
        """The maximum of `values` over all processes, in place."""
        if self.size > 1:
            import torch.distributed as dist

            with self._reaching_others():
                dist.all_reduce(values, dist.ReduceOp.MAX)
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

    def share(self, value: T) -> T:
        """The leader's `value`, on every process."""
        if self.size == 1:
            return value
        import torch.distributed as dist

        values = [value]
        with self._reaching_others():
            dist.broadcast_object_list(values, src=0)
        return values[0]

    def lead(self, work: Callable[[], T]) -> T:
        """Do `work` on the leader alone and return its result on every process.

        If it fails, the leader raises the error and the other processes raise Elsewhere.
        """
        if self.size == 1:
            return work()
        result: tuple[T] | None = None
        if self.leads:
            try:
                result = (work(),)
            except Exception:
                with contextlib.suppress(TrainingError):  # the first error is the one to report
                    self.share(result)
                raise
        result = self.share(result)
        if result is None:
            raise Elsewhere("the first process of this run reports what went wrong")
        return result[0]

    def leader_first(self, work: Callable[[], T]) -> T:
        """Do `work` on the leader, then on the other processes; return each one's own result.

        If it fails on the leader, the other processes raise Elsewhere without trying.
        """
        results: list[T] = []
        self.lead(lambda: results.append(work()))
        return results[0] if self.leads else work()

    @contextmanager
    def _reaching_others(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise TrainingError(
                f"process {self.rank}: the other processes of this run ended or cannot be reached",
                hint="read their messages; repeat the command to resume from the last checkpoint",
            ) from error


@contextmanager
def joined() -> Iterator[World]:
    """Join the processes that `torchrun` started, and leave them at the end of the block."""
    world = join()
    try:
        yield world
    finally:
        if world.size > 1:
            leave()


def join() -> World:
    """Join the processes that `torchrun` started; without it, this process is alone."""
    world = World(int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1")))
    if world.size > 1:
        import torch.distributed as dist

        if not dist.is_initialized():
            backend = "nccl" if world.device.type == "cuda" else "gloo"
            dist.init_process_group(backend, timeout=_PATIENCE)
    return world


def leave() -> None:
    """End what `join` began."""
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()
