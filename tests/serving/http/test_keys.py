"""Keys: a file of digests, compared in constant time."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest
from tests.serving.standin import keys_file

from dragoman.base.errors import ConfigError, DataError
from dragoman.serving.http.settings import Keys, key_in


def test_a_key_is_known_by_its_digest(tmp_path: Path) -> None:
    path = keys_file(tmp_path, weblate="secret", anna="other")
    keys = Keys.read(path)

    assert [getattr(keys.find(one), "name", None) for one in ("secret", "other")] == ["weblate", "anna"]
    assert [keys.find(one) for one in ("Secret", "", "secret ", "\ud800")] == [None] * 4
    assert "secret" not in path.read_text()


def test_a_line_of_sha256sum_is_a_key(tmp_path: Path) -> None:
    digest = hashlib.sha256(b"secret").hexdigest()
    (tmp_path / "keys").write_text(f"{digest.upper()}  -\n")

    assert Keys.read(tmp_path / "keys").keys[0].name == digest[:8]


def test_every_key_is_compared_in_constant_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = Keys.read(keys_file(tmp_path, a="1", b="2", c="3"))
    compared = []

    def watched(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return compare(one, other)

    compare = hmac.compare_digest
    monkeypatch.setattr("dragoman.serving.http.settings.hmac.compare_digest", watched)
    for key in ("1", "3", "no key"):
        compared.clear()
        keys.find(key)
        assert compared == [(32, 32)] * 3  # also behind the one that fits


def test_a_key_may_have_quotas_or_be_for_one_route(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(
        f"{'a' * 64}  the web site  minute=1_000 month=20000\n{'b' * 64}  only=metrics\n{'c' * 64} day=5 x\n"
    )
    site, metrics, other = Keys.read(tmp_path / "keys").keys

    assert (site.name, site.quota, site.only) == ("the web site", {"minute": 1000, "month": 20000}, "")
    assert (metrics.name, metrics.quota, metrics.only) == ("bbbbbbbb", {}, "metrics")
    assert (other.name, other.quota) == ("day=5 x", {})  # what stands before a word is part of the name


def test_a_key_may_stand_twice_if_nothing_differs(tmp_path: Path) -> None:
    (tmp_path / "keys").write_text(f"{'a' * 64} site day=5\n{'a' * 64} site day=5\n")
    (key,) = Keys.read(tmp_path / "keys").keys
    assert (key.name, key.quota) == ("site", {"day": 5})


def test_keys_of_one_name_have_one_quota(tmp_path: Path) -> None:
    """They share its use. A key for the metrics uses none."""
    lines = ("site day=5", "site day=5", "site only=metrics", "day=5", "day=6")
    (tmp_path / "keys").write_text(
        "".join(f"{n}".ljust(64, "0") + f" {line}\n" for n, line in enumerate(lines))
    )
    assert [key.quota for key in Keys.read(tmp_path / "keys").keys] == [
        *[{"day": 5}] * 2,
        {},
        {"day": 5},
        {"day": 6},
    ]


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("a" * 64 + " a monthly=5", DataError, "keys:1: monthly=5"),
        ("a" * 64 + " a month=many", DataError, "keys:1: month=many"),
        ("a" * 64 + " a month=-5", DataError, "keys:1: month=-5"),
        ("a" * 64 + " a day=1_", DataError, "keys:1: day=1_"),
        ("a" * 64 + " a day=1__0", DataError, "keys:1: day=1__0"),
        ("a" * 64 + " a day=" + "9" * 5000, DataError, "keys:1: day=9"),
        ("a" * 64 + " a day=5 day=10", DataError, "keys:1: day twice"),
        ("a" * 64 + " a day=5\n\n" + "A" * 64 + " b day=6", DataError, "keys:3: the key of line 1"),
        ("a" * 64 + " a\n" + "a" * 64 + " only=metrics", DataError, "keys:2: the key of line 1"),
        ("a" * 64 + " a day=5\n" + "b" * 64 + " a", DataError, "keys:2: another quota than line 1"),
        ("a" * 64 + " a only=metric", DataError, "keys:1: only=metric"),
        ("secret\n", DataError, "keys:1: not the SHA-256 digest"),
        ("# only\n\n", ConfigError, "no keys"),
        ("a" * 63, DataError, "keys:1"),
        ("a" * 64 + "\nplain", DataError, "keys:2"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, error: type[Exception], message: str) -> None:
    (tmp_path / "keys").write_text(text)
    with pytest.raises(error, match=message) as refused:
        Keys.read(tmp_path / "keys")
    assert "secret" not in str(refused.value)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        Keys.read(tmp_path / "none")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="not UTF-8"):
        Keys.read(tmp_path / "binary")


@pytest.mark.parametrize(
    ("headers", "values"),
    [
        ({"authorization": "Bearer K"}, {}),
        ({"authorization": "bearer  K "}, {}),
        ({"authorization": "DeepL-Auth-Key K"}, {}),
        ({}, {"api_key": "K"}),
        ({}, {"auth_key": "K"}),
        ({"authorization": "Basic eDp5"}, {"api_key": "K"}),
        ({"authorization": "Bearer "}, {"api_key": "K"}),
        ({"authorization": "Bearer K"}, {"api_key": "other"}),
    ],
)
def test_where_a_key_may_be(headers: dict[str, str], values: dict[str, str]) -> None:
    assert key_in(headers, values) == "K"


def test_no_key() -> None:
    assert key_in({}, {"api_key": ""}) is None
    assert key_in({"authorization": "K"}, {"api_key": 5}) is None
