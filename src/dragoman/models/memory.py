"""What passes from an encoder to a decoder.

B batch, S source length, E model width.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Memory:
    """What the encoder leaves for the decoder."""

    states_BSE: Tensor
    visible_BS: Tensor  # bool, True where a source token stands

    def select(self, rows_B: Tensor) -> Memory:
        """The memory of those sentences, in that order."""
        return Memory(self.states_BSE.index_select(0, rows_B), self.visible_BS.index_select(0, rows_B))
