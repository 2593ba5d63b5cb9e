"""`dragoman bench`: its commands became scripts of the source checkout, and say so."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.base.errors import ConfigError
from dragoman.cli.options import Commands

bench = Commands(help="Scripts of a source checkout measure speed. These have moved.", no_args_is_help=True)

_MOVED = {
    "complexity": "benchmarks/complexity.py",
    "cost": "benchmarks/cost.py",
    "goodput": "benchmarks/goodput.py",
    "peers": "benchmarks/peers/install.py",
    "quality": "benchmarks/time_to_quality.py",
    "train": "benchmarks/training_speed.py",
    "translate": "benchmarks/translation_speed.py",
}


def _moved(name: str, script: str) -> Callable[[], None]:
    """A command that says where `bench NAME` moved to."""

    def command() -> None:
        raise ConfigError(
            f"bench {name} moved to {script}", hint=f"in a checkout of the source: python {script} --help"
        )

    return command


for _name, _script in _MOVED.items():
    bench.command(
        _name,
        short_help=_script,
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )(_moved(_name, _script))
