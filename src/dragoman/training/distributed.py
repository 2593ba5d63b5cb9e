"""Several processes train one model: each computes gradients on its own batches, and they are summed.

Started by `torchrun`, which sets RANK, WORLD_SIZE and LOCAL_RANK; without it there is one process.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from dragoman.base.errors import Elsewhere, TrainingError

T = TypeVar("T")

# How long a process waits for the others: the leader may be tokenising tens of millions of lines.
# Where one ends, torchrun ends the others at once.
_PATIENCE = timedelta(days=1)


@dataclass(frozen=True)
class World:
    """The place of this process among those that train together."""

    rank: int
    size: int
    device: torch.device

    @property
    def leads(self) -> bool:
        """Whether this is the process that writes files and reports."""
        return self.rank == 0

    def sum(self, values: Tensor) -> Tensor:
        """`values` summed over all processes, in place."""
        if self.size > 1:
            with self._reaching_others():
                dist.all_reduce(values)
        return values

    def greatest(self, values: Tensor) -> Tensor:
        """The greatest of `values` among all processes, in place."""
        if self.size > 1:
            with self._reaching_others():
                dist.all_reduce(values, dist.ReduceOp.MAX)
        return values

    def sum_gradients(self, parameters: Iterable[torch.nn.Parameter]) -> None:
        """Sums the gradients over all processes, in one message for each kind of number."""
        if self.size == 1:
            return
        # A rank whose batches were empty has no gradients, and adds zeros.
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
        values = [value]
        with self._reaching_others():
            dist.broadcast_object_list(values, src=0)
        return values[0]

    def lead(self, work: Callable[[], T]) -> T:
        """What `work`, done by the leader alone, gives, on every process.

        Where it fails, the leader raises what it raises, and the others Elsewhere.
        """
        if self.size == 1:
            return work()
        made: tuple[T] | None = None
        if self.leads:
            try:
                made = (work(),)
            except Exception:
                with contextlib.suppress(TrainingError):  # the first error is the one to tell
                    self.share(made)
                raise
        made = self.share(made)
        if made is None:
            raise Elsewhere("the first process of this run says what went wrong")
        return made[0]

    def wait(self) -> None:
        """Returns when every process has come here."""
        if self.size > 1:
            with self._reaching_others():
                dist.barrier()

    @contextmanager
    def _reaching_others(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise TrainingError(
                f"process {self.rank}: the other processes of this run ended, or cannot be reached",
                hint="see what they say; repeat the command to go on from the last checkpoint",
            ) from error


def join() -> World:
    """Joins the processes `torchrun` started, or stands alone."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    rank = int(os.environ.get("RANK", "0"))
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0"))) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if size > 1 and not dist.is_initialized():
        dist.init_process_group("nccl" if cuda else "gloo", timeout=_PATIENCE)
    return World(rank, size, device)


def leave() -> None:
    """Ends what `join` began."""
    if dist.is_initialized():
        dist.destroy_process_group()
