from __future__ import annotations

import heapq
import random

import pytest

from dragoman.serving.service.admission import Admission, Counting, Pace, QueuePlace
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


def test_the_number_of_places_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step looks at all of them."""
    monkeypatch.setattr("dragoman.serving.service.admission._PLACES", 3)
    queue, _ = admission()
    places = [queue.enter("a", 1) for _ in range(3)]
    for speed in (0.0, 1000.0):
        queue.pace.speed = speed
        with pytest.raises(Overloaded, match="the queue is full") as error:
            queue.enter("b", 1)
        assert error.value.retry_after == 1
    places[1].leave()
    queue.enter("b", 1)


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
    clock.now = 10.0
    place.did(1000)  # 100 characters a second
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


# ---- what is taken in is done in time ----------------------------------------------------------------------


class Machine:
    """Does work of an admission at a speed of its own, in its order, in pieces of 100 characters.

    The clock moves only here.
    """

    def __init__(self, speed: float, seconds: float, *, known: float | None = None) -> None:
        self.queue, self.clock = admission(seconds=seconds, client_rate=0, queue_characters=10**9)
        self.queue.pace = Pace(self.clock, int(speed / 5))
        self.queue.pace.speed = speed if known is None else known
        self.speed, self.seconds = speed, seconds
        self.work: list[tuple[float, int, float, float, QueuePlace]] = []
        self.waited: list[float] = []  # of each request that was done
        self.done = self.refused = self.late = 0.0  # characters

    def arrive(self, characters: int) -> None:
        try:
            place = self.queue.enter("a", characters)
        except Overloaded:
            self.refused += characters
        else:
            heapq.heappush(self.work, (place.order, id(place), characters, self.clock.now, place))

    def run(self, until: float) -> None:
        while self.work and self.clock.now < until:
            order, number, left, came, place = heapq.heappop(self.work)
            piece = min(left, 100)
            self.clock.now += piece / self.speed
            place.did(piece)
            if left > piece:
                heapq.heappush(self.work, (order, number, left - piece, came, place))
                continue
            place.leave()
            self.waited.append(self.clock.now - came)
            if self.waited[-1] <= self.seconds:
                self.done += place.characters
            else:
                self.late += place.characters
        self.clock.now = max(self.clock.now, until)


def sizes(kind: str, dice: random.Random) -> int:
    if kind == "mixed":
        return dice.choice((60, 60, 60, 120, 600))
    return {"short": 60, "long": 600}[kind]


@pytest.mark.parametrize("seconds", [2.0, 6.0])
@pytest.mark.parametrize("load", [0.5, 1, 2, 5, 10])
@pytest.mark.parametrize("kind", ["short", "long", "mixed"])
def test_a_busy_server_works_at_its_capacity_and_is_never_late(
    seconds: float, load: float, kind: str
) -> None:
    dice, machine = random.Random(load), Machine(1000.0, seconds)
    length, offered, arrives = 15.0, 0, 0.0
    while machine.clock.now < length:
        size = sizes(kind, dice)
        arrives += dice.uniform(0.5, 1.5) * size / (1000 * load)
        machine.run(arrives)
        offered += size
        machine.arrive(size)
    took = machine.clock.now
    machine.run(took + 2 * seconds)

    assert machine.late == 0
    assert max(machine.waited) <= seconds
    assert machine.done + machine.refused == offered
    # What may be left at the end is part of the capacity, too.
    assert machine.done >= 0.9 * min(offered, 1000 * took)
    if load == 0.5:
        assert machine.refused <= 0.02 * offered


@pytest.mark.parametrize("count", [20, 40, 60, 120])
def test_a_crowd_at_one_moment_is_served_in_part(count: int) -> None:
    """100 texts of 60 characters each, for 3 s: a third of a second's work and more."""
    machine = Machine(15_000.0, 3.0)
    for _ in range(count):
        machine.arrive(6000)
    machine.run(10)

    assert machine.late == 0
    assert 5 * 6000 <= machine.done <= 3 * 15_000


@pytest.mark.parametrize("known", [1_000.0, 100_000.0])
def test_a_wrong_speed_is_soon_right(known: float) -> None:
    """Taken for ten times slower or faster, as after other programs began or ended."""
    machine, arrives = Machine(10_000.0, 5.0, known=known), 0.0
    while arrives < 60:
        arrives += 0.3
        machine.run(arrives)
        machine.arrive(6000)
        if arrives < 10:
            machine.late = machine.done = 0

    assert machine.queue.pace.speed == pytest.approx(10_000, rel=0.1)
    assert machine.late == 0
    assert machine.done >= 0.9 * 10_000 * 50


def test_a_short_request_goes_before_a_long_one_but_not_for_ever() -> None:
    queue, clock = admission(seconds=30)
    queue.pace.speed = 1000.0
    long, short = queue.enter("a", 2000), queue.enter("b", 50)
    assert short.order < long.order
    clock.now = 17.0
    assert queue.enter("c", 50).order > long.order


def test_what_is_urgent_is_not_made_late_by_a_newcomer() -> None:
    queue, clock = admission(seconds=10)
    queue.pace.speed = 1000.0
    long = queue.enter("a", 6900)  # of the 7000 that are planned for
    with pytest.raises(Overloaded, match="in time") as error:
        queue.enter("b", 200)  # it would go first
    assert error.value.retry_after == 1
    clock.now = 1.0
    long.did(1000)
    queue.enter("b", 50)
    with pytest.raises(Overloaded):
        queue.enter("c", 60)


def test_a_request_has_a_deadline_of_its_own() -> None:
    queue, _ = admission(seconds=10)
    queue.pace.speed = 1000.0
    queue.enter("a", 4000, deadline=100.0)  # no more than `seconds` count
    with pytest.raises(Overloaded, match="in time"):
        queue.enter("b", 2000, deadline=1.0)
    queue.enter("b", 2000, deadline=10.0)
