"""Exit codes are part of the command line's contract."""

import signal

import pytest

from dragoman.base import errors


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.DragomanError, 1),
        (errors.TrainingError, 1),
        (errors.ConfigError, 2),
        (errors.DataError, 3),
        (errors.ModelError, 4),
        (errors.QualityError, 5),
    ],
)
def test_each_error_has_the_exit_code_of_the_interface(kind: type[errors.DragomanError], code: int) -> None:
    error = kind("a.tsv:3: empty", hint="fill it")

    assert isinstance(error, errors.DragomanError)
    assert (error.exit_code, str(error), error.hint) == (code, "a.tsv:3: empty", "fill it")


def test_every_error_is_one_of_the_foreseen() -> None:
    """A new error class must be added to the table above."""
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type)}

    assert {kind.__name__ for kind in kinds} == {
        "DragomanError",
        "TrainingError",
        "Elsewhere",
        "ConfigError",
        "DataError",
        "ModelError",
        "QualityError",
        "Interrupted",
    }


def test_an_interruption_exits_as_the_shell_expects() -> None:
    assert errors.Interrupted("stopped at step 7", signal=signal.SIGINT).exit_code == 130
    assert errors.Interrupted("stopped at step 7", signal=signal.SIGTERM).exit_code == 143


def test_a_message_that_quotes_a_whole_file_is_shortened() -> None:
    message = str(errors.ModelError("config.json: " + "x" * 100_000 + " cannot be used"))

    assert len(message) < 5000
    assert message.startswith("config.json: xxx")
    assert message.endswith("x cannot be used")


def test_a_hint_is_optional() -> None:
    assert errors.DataError("a.tsv: empty").hint == ""
