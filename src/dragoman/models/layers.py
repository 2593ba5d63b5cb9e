"""`nn.ModuleList` with the type of its items, so that a type checker knows the layers of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Generic, Self, TypeVar, overload

from torch import nn

Layer = TypeVar("Layer", bound=nn.Module)


class Layers(nn.ModuleList, Generic[Layer]):
    """Layers of one type, from the input to the output."""

    if TYPE_CHECKING:

        def __init__(self, layers: Iterable[Layer]) -> None: ...
        def __iter__(self) -> Iterator[Layer]: ...
        @overload
        def __getitem__(self, index: slice) -> Self: ...
        @overload
        def __getitem__(self, index: int) -> Layer: ...
        def __getitem__(self, index: int | slice) -> Layer | Self: ...
