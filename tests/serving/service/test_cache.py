from __future__ import annotations

from dataclasses import dataclass

from dragoman.serving.service.cache import Cache, size_of


def test_what_was_used_last_is_kept() -> None:
    entry = size_of("a") + size_of("x" * 100)
    cache: Cache[str, str] = Cache(3 * entry)
    for key in "abc":
        cache.put(key, key * 100)
    assert cache.get("a") == "a" * 100

    cache.put("d", "d" * 100)

    assert [key for key in "abcd" if cache.get(key)] == ["a", "c", "d"]
    assert cache.bytes == 3 * entry


def test_bytes_are_bounded_whatever_comes() -> None:
    cache: Cache[int, str] = Cache(10_000)
    for number in range(2000):
        cache.put(number % 300, "x" * (number * 37 % 3000))
        assert cache.bytes <= 10_000
    assert cache.bytes == sum(
        size_of(key) + size_of(cache.get(key)) for key in range(300) if cache.get(key) is not None
    )


def test_what_is_larger_than_the_cache_is_not_kept() -> None:
    cache: Cache[str, str] = Cache(1000)
    cache.put("a", "x")
    cache.put("b", "x" * 1000)
    cache.put("a", "y" * 1000)  # nor is the older value

    assert len(cache) == cache.bytes == 0
    nothing: Cache[str, str] = Cache(0)
    nothing.put("a", "b")
    assert nothing.get("a") is None


def test_sizes_count_what_is_inside() -> None:
    @dataclass
    class Pair:
        one: str
        other: tuple[str, ...]

    assert size_of(Pair("x" * 5000, ("y" * 3000, "z" * 3000))) > 11_000
    assert size_of(frozenset(["x" * 5000])) > 5000
