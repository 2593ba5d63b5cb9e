"""Lists of layers with a type, and a linear layer of several matrices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Generic, Self, TypeVar, overload

from torch import Tensor, nn

Layer = TypeVar("Layer", bound=nn.Module)


class Layers(nn.ModuleList, Generic[Layer]):
    """Layers of one type, from the input to the output: `nn.ModuleList` for a type checker."""

    if TYPE_CHECKING:

        def __init__(self, layers: Iterable[Layer]) -> None: ...
        def __iter__(self) -> Iterator[Layer]: ...
        @overload
        def __getitem__(self, index: slice) -> Self: ...
        @overload
        def __getitem__(self, index: int) -> Layer: ...
        def __getitem__(self, index: int | slice) -> Layer | Self: ...


class Blocks(nn.Linear):
    """Several matrices as one, of `sizes` outputs each, so that all or some of them take one product."""

    def __init__(self, width: int, sizes: Sequence[int], *, bias: bool) -> None:
        super().__init__(width, sum(sizes), bias=bias)
        self.sizes, self.starts, self.biased = tuple(sizes), (0, *accumulate(sizes)), bias

    def forward(self, x: Tensor, first: int = 0, last: int | None = None) -> Tensor:
        """The outputs of blocks `first` to `last` - 1 side by side, of all by default."""
        rows = slice(self.starts[first], None if last is None else self.starts[last])
        return nn.functional.linear(x, self.weight[rows], self.bias[rows] if self.biased else None)


def by_shared_head(x_BHTX: Tensor, y_BKXY: Tensor) -> Tensor:
    """out_BHTY = x y; each of K heads of y serves H / K heads of x (Ainslie et al. 2023, section 2.2)."""
    if x_BHTX.shape[1] == y_BKXY.shape[1]:
        return x_BHTX @ y_BKXY
    grouped = x_BHTX.reshape(*y_BKXY.shape[:2], -1, x_BHTX.shape[-1])  # (B, K, H / K * T, X)
    return (grouped @ y_BKXY).view(*x_BHTX.shape[:3], -1)
