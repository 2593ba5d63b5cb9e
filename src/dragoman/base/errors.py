"""Errors a user can meet. Each says what is wrong and where, and carries a hint that says what to do."""

from __future__ import annotations


class DragomanError(Exception):
    """Anything that goes wrong in a way we foresaw.

    The message says what and where; `hint` says what to do about it.
    `exit_code` is what the command line exits with.
    """

    exit_code = 1

    def __init__(self, what: str, *, hint: str = "") -> None:
        super().__init__(what)
        self.hint = hint


class TrainingError(DragomanError):
    """Training cannot go on: a loss that is not finite, a full disk."""


class Elsewhere(TrainingError):
    """What another process of the same run has met, and tells."""


class ConfigError(DragomanError):
    """An option or a configuration file that makes no sense."""

    exit_code = 2


class DataError(DragomanError):
    """Text that cannot be read or used."""

    exit_code = 3


class ModelError(DragomanError):
    """A model folder that is missing, damaged, or does not fit the request."""

    exit_code = 4


class QualityError(DragomanError):
    """A quality gate asked for by the user was not passed."""

    exit_code = 5


class Interrupted(DragomanError):
    """Stopped by a signal after saving; `exit_code` is 128 + the signal's number."""

    def __init__(self, what: str, *, signal: int, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.exit_code = 128 + signal
