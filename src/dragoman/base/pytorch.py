"""PyTorch is optional. The extra `train` installs it."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from dragoman.base.errors import ConfigError


def has_pytorch() -> bool:
    """Whether PyTorch is installed. Does not import it."""
    try:
        return "torch" in sys.modules or find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


def require_pytorch(what: str) -> None:
    """Raise ConfigError, which says that `what` needs PyTorch, if it is not installed."""
    if not has_pytorch():
        raise _error(what)


def missing_pytorch(error: Exception, what: str) -> ConfigError | None:
    """Return the error of `require_pytorch` if `error` is a failed import of PyTorch."""
    return _error(what) if isinstance(error, ModuleNotFoundError) and error.name == "torch" else None


def _error(what: str) -> ConfigError:
    return ConfigError(f"{what} needs PyTorch", hint="pip install 'dragoman[train]'")
