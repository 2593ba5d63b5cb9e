"""Errors for users. Each message says what is wrong and where; each hint says what to do."""

from __future__ import annotations

_LONGEST = 4000  # characters of a message


class DragomanError(Exception):
    """Base class of all expected errors.

    The message says what is wrong and where; `hint` says what to do. The command line exits with
    `exit_code`.
    """

    exit_code = 1

    def __init__(self, what: str, *, hint: str = "") -> None:
        if len(what) > _LONGEST:  # it quotes a damaged file
            what = f"{what[: _LONGEST // 2]} [...] {what[-_LONGEST // 2 :]}"
        super().__init__(what)
        self.hint = hint
        if hint:
            self.add_note(f"hint: {hint}")  # for tracebacks; the command line prints `hint` itself


class TrainingError(DragomanError):
    """Training cannot continue, for example because the loss is not finite or the disk is full."""


class Elsewhere(TrainingError):
    """An error in another process of the same run, reported by that process."""


class ConfigError(DragomanError):
    """An invalid option or configuration file."""

    exit_code = 2


class DataError(DragomanError):
    """Text that cannot be read or used."""

    exit_code = 3


class ModelError(DragomanError):
    """A model folder that is missing, damaged or unsuitable for the request."""

    exit_code = 4


class QualityError(DragomanError):
    """The quality is below what the user required."""

    exit_code = 5


class Interrupted(DragomanError):
    """Stopped by a signal, after saving. `exit_code` is 128 + the number of the signal."""

    def __init__(self, what: str, *, signal: int, hint: str = "") -> None:
        super().__init__(what, hint=hint)
        self.exit_code = 128 + signal


def out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on a CPU or on a GPU.

    PyTorch's allocator of the CPU raises a plain RuntimeError, and so do C++ and oneDNN behind it. oneDNN
    only says that it could not create something.
    """
    if type(error).__name__ in ("MemoryError", "OutOfMemoryError"):
        return True
    return isinstance(error, RuntimeError) and any(words in str(error) for words in _NO_MEMORY)


_NO_MEMORY = (
    *("can't allocate memory", "not enough memory", "bad_alloc"),
    *("could not create a primitive", "could not create a memory"),
)
