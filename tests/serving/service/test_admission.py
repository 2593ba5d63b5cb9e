from __future__ import annotations

import pytest

from dragoman.serving.service.admission import Admission, Counting
from dragoman.serving.service.limits import Limits, Overloaded


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def admission(**limits: float) -> tuple[Admission, Clock]:
    clock = Clock()
    return Admission(Limits(**limits), Counting(), clock), clock  # type: ignore[arg-type]


def test_the_queue_is_bounded() -> None:
    queue, _ = admission(queue_characters=100)
    first = queue.enter("a", 60)
    with pytest.raises(Overloaded, match="queue") as error:
        queue.enter("b", 41)
    assert 1 <= error.value.retry_after <= 60
    queue.enter("b", 40)
    assert queue.characters == 100

    first.leave()

    assert queue.characters == 40
    queue.enter("b", 60)


def test_a_request_larger_than_the_queue_enters_when_it_is_empty() -> None:
    queue, _ = admission(queue_characters=10)
    place = queue.enter("a", 1000)
    with pytest.raises(Overloaded):
        queue.enter("b", 1)
    place.leave()
    queue.enter("b", 1)


def test_a_place_is_free_when_all_have_left() -> None:
    queue, _ = admission(queue_characters=100)
    place = queue.enter("a", 60)
    place.hold()
    place.leave()
    assert (queue.characters, queue.places) == (60, 1)
    place.leave()
    assert (queue.characters, queue.places) == (0, 0)


def test_a_client_gets_its_burst_then_its_rate() -> None:
    queue, clock = admission(client_rate=10, client_burst=100)
    queue.enter("a", 90)
    with pytest.raises(Overloaded, match="one client") as error:
        queue.enter("a", 40)
    assert error.value.retry_after == 3.0
    queue.enter("b", 100)  # others are not concerned

    clock.now = 2.9
    with pytest.raises(Overloaded):
        queue.enter("a", 40)
    clock.now = 3.0
    queue.enter("a", 40)


def test_a_refused_request_costs_nothing() -> None:
    queue, _ = admission(client_rate=10, client_burst=100, queue_characters=50)
    queue.enter("b", 50)
    for _ in range(5):
        with pytest.raises(Overloaded, match="queue"):
            queue.enter("a", 90)
    queue._limits = Limits(client_rate=10, client_burst=100)
    queue.enter("a", 100)


def test_more_than_a_burst_is_paid_later() -> None:
    queue, clock = admission(client_rate=10, client_burst=100)
    queue.enter("a", 300)
    clock.now = 29.9
    with pytest.raises(Overloaded) as error:
        queue.enter("a", 100)
    assert error.value.retry_after == pytest.approx(1.0)
    clock.now = 30.0
    queue.enter("a", 100)


def test_no_rate_sets_no_bound() -> None:
    queue, _ = admission(client_rate=0, client_burst=1, queue_characters=10**9)
    for _ in range(50):
        queue.enter("a", 10_000)


def test_clients_are_remembered_within_bounds() -> None:
    queue, _ = admission(client_rate=1, client_burst=10, clients=3)
    for client in "abcd":
        queue.enter(client, 10)
    assert list(queue._buckets) == ["b", "c", "d"]
    with pytest.raises(Overloaded):
        queue.enter("b", 10)


def test_the_wait_follows_the_speed() -> None:
    queue, clock = admission(queue_characters=1000)
    place = queue.enter("a", 1000)
    clock.now = 10.0  # 100 characters a second
    place.leave()
    queue.enter("a", 1000)
    with pytest.raises(Overloaded) as error:
        queue.enter("b", 500)
    assert error.value.retry_after == pytest.approx(5.0)


def test_who_was_away_gets_no_more_than_a_burst() -> None:
    queue, clock = admission(client_rate=10, client_burst=100)
    queue.enter("a", 10)
    clock.now = 1000.0
    queue.enter("a", 100)
    with pytest.raises(Overloaded):
        queue.enter("a", 10)
