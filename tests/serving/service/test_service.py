from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from tests.serving.engines import Several, Shift, ask, served, until
from tests.translation.bundles import PAIRS, TRAINED, several_bundle
from tests.translation.letters import LETTERS

from dragoman.base.errors import ConfigError, DataError, DragomanError
from dragoman.serving.service.ask import Ask, Route
from dragoman.serving.service.limits import Late, Limits, NotReady, Overloaded, TooLong, UnknownLanguage
from dragoman.serving.service.memories import Memories
from dragoman.serving.service.models import ModelSpec, ServedModel
from dragoman.serving.service.service import Service
from dragoman.text.checks.faults import Fault
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.native.build import unavailable
from dragoman.translation.search.engine import Hypothesis
from dragoman.translation.search.rules import Prefix
from dragoman.translation.translator import Translator

SAVED = Path(__file__).parents[2] / "saved" / "0.1" / "transformer"


class Counted:
    """Keeps counts in a dictionary."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.pairs: list[tuple[str, str]] = []
        self.queue = 0

    def count(self, what: str, amount: int = 1) -> None:
        self.counts[what] = self.counts.get(what, 0) + amount

    def took(self, pair: tuple[str, str], seconds: float) -> None:
        self.pairs.append(pair)

    def queued(self, characters: int) -> None:
        self.queue = characters


def run(service: Service, story: Coroutine[Any, Any, None]) -> None:
    """Start a service, let the story happen, and drain it."""

    async def whole() -> None:
        await service.start()
        try:
            await story
        finally:
            await service.drain(1)

    asyncio.run(asyncio.wait_for(whole(), 60))


def service_of(*models: ServedModel, **options: Any) -> Service:
    return Service(models, **options)


def test_texts_do_not_wait_for_files_that_are_read() -> None:
    gate = threading.Event()

    class Slow:
        def parse(self, data: bytes, languages: Any) -> Any:
            gate.wait(20)
            raise DataError("not a file")

    async def story() -> None:
        files = [
            asyncio.ensure_future(
                service.translate_document(
                    b"", cast(Any, Slow()), how, client="c", deadline=time.monotonic() + 20
                )
            )
            for how in [Ask(source="en", target="de")] * 8
        ]
        await asyncio.sleep(0.05)
        try:
            (answer,) = await asyncio.wait_for(ask(service, "abc"), 5)
            assert answer.text == "bcd"
        finally:
            gate.set()
            await asyncio.gather(*files, return_exceptions=True)

    service = service_of(served("m", Shift()))
    run(service, story())


# ---- one answer --------------------------------------------------------------------------------------------


def test_texts_keep_their_space_and_order() -> None:
    service = service_of(served("m", Shift()))

    async def story() -> None:
        answers = await ask(service, "  abc. def!\n\n", "", "hij", "12\n")
        assert [one.text for one in answers] == ["  bcd efg\n\n", "", "ija", "12\n"]
        assert [one.source for one in answers] == ["en"] * 4
        assert [one.confidence for one in answers] == [None] * 4

    run(service, story())


def test_an_empty_text_asks_no_model() -> None:
    engine = Shift()
    service = service_of(served("m", engine))

    async def story() -> None:
        asked = len(engine.asked)
        answers = await ask(service, "", " \n ", "42")
        marked = await ask(service, "", "<p></p>", markup="html")
        assert [one.text for one in answers + marked] == ["", " \n ", "42", "", "<p></p>"]
        assert len(engine.asked) == asked

    run(service, story())


@pytest.mark.parametrize(
    "text", ["%s", "a@b.example", "https://b.example/a?b=1", "$1,234.50", "12:30", "\u200b", "\u200e\u00ad"]
)
def test_what_is_not_language_stays_as_it_is(text: str) -> None:
    engine = Shift()
    service = service_of(served("m", engine))

    async def story() -> None:
        asked = len(engine.asked)
        for how in ("split", "lines", "one"):
            (answer,) = await ask(service, text, sentences=how)
            assert (answer.text, answer.lacking) == (text, False)
        assert len(engine.asked) == asked

    run(service, story())


def test_placeholders_are_kept() -> None:
    service = service_of(served("m", Shift()), limits=Limits(cache_bytes=0))

    async def story() -> None:
        answers = await ask(service, "abc %s. def https://a.example/b?c. d", "abc", "{x} e\n{y} hij")
        assert [one.text.count(name) for one, name in zip(answers, ("%s", "b", "{y}"), strict=True)] == [
            1
        ] * 3
        assert "https://a.example/b?c" in answers[0].text

    run(service, story())


def test_translations_that_lack_most_are_counted_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    class Short(Shift):
        def _answer(self, source: Sequence[int], more: int) -> Any:
            return super()._answer(source[:1], more)

    counted = Counted()
    service = service_of(served("m", Short()), counting=counted)

    async def story() -> None:
        answers = await ask(service, "abc", "abcdefghij" * 4, "<b>" + "abcdefghij " * 4 + "</b>")
        assert [one.lacking for one in answers] == [False, True, True]

    run(service, story())
    assert counted.counts["lacking"] == 2
    assert [one.getMessage() for one in caplog.records if one.levelname == "WARNING"] == [
        "2 of 3 translations lack most of the source"
    ]


def test_a_single_sentence_comes_with_its_tokens() -> None:
    service = service_of(served("m", Shift()))
    text = " abc. \n def!\n7"

    async def story() -> None:
        (answer,) = await ask(service, text)
        assert answer.text.split() == ["bcd", "efg", "7"]
        assert answer.translation is None
        (single,) = await ask(service, " abc.\n")
        assert single.translation is not None
        assert single.translation.tokens == ("b", "c", "d")

    run(service, story())


def test_alternatives_are_those_of_the_sentences() -> None:
    service = service_of(served("m", Shift()))

    async def story() -> None:
        (one,) = await ask(service, "abc", n_best=3)
        assert (one.text, one.alternatives) == ("bcd", ("cde", "def"))
        (two,) = await ask(service, "abc\nhhh", n_best=2)
        assert (two.text, two.alternatives) == ("bcd\niii", ("cde\njjj",))
        (three,) = await ask(service, "abc")
        assert three.alternatives == ()

    run(service, story())


def test_a_prefix_begins_the_first_sentence_alone() -> None:
    begun = list[bool]()

    class Prefixed(Shift):
        def search(self, requests: Any, **options: Any) -> Any:
            requests = list(requests)
            begun.extend(any(isinstance(rule, Prefix) for rule in one.rules) for one in requests)
            return super().search(requests, **options)

    service = service_of(served("m", Prefixed()))

    async def story() -> None:
        begun.clear()
        (answer,) = await ask(service, "abc. def.\n42 https://a.example/b?c. d", prefix="b")
        assert begun == [True] + [False] * (len(begun) - 1)
        assert len(begun) > 1
        assert "42 https://a.example/b?c." in answer.text

    run(service, story())


# ---- routes ------------------------------------------------------------------------------------------------


def test_a_pivot_is_used_and_named() -> None:
    first, second = Shift(1), Shift(3)
    service = service_of(served("one", first, "en", "de"), served("two", second, "de", "fr"))

    async def story() -> None:
        (answer,) = await ask(service, "abc. def.\n", target="FR", n_best=2)
        assert answer.text == "efg hij\n"
        assert (answer.route.pivots, answer.route.models) == (("de",), ("one", "two"))
        assert answer.alternatives == ("fgh ija\n",)
        assert answer.translation is None
        assert second.asked[-2:] == ["bcd", "efg"]
        (marked,) = await ask(service, "<i>abc</i>", target="fr", markup="html")
        assert marked.text == "<i>efg</i>"

    run(service, story())


def test_models_of_one_pair_are_chosen_by_name() -> None:
    service = service_of(served("small", Shift(1)), served("large", Shift(2)))

    async def story() -> None:
        assert (await ask(service, "abc"))[0].text == "bcd"
        assert (await ask(service, "abc", model="large"))[0].text == "cde"
        assert (await ask(service, "abc", model="small"))[0].text == "bcd"
        with pytest.raises(ConfigError, match="huge"):
            await ask(service, "abc", model="huge")

    run(service, story())


def test_a_model_of_several_languages_is_told_which() -> None:
    engine = Shift(1)
    service = service_of(served("m", engine, target="mul", tokenizer=Several()))

    async def story() -> None:
        assert service.pairs.targets_of("en") == ("de", "fr")
        await ask(service, "abc", target="DE-at")
        assert engine.asked[-1] == "deabc"  # of ">>deu<< abc"
        await ask(service, "abc", target="fr")
        assert engine.asked[-1] == "fabc"

    run(service, story())


def test_one_model_serves_its_pairs_and_pivots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("py3langid")
    translator = Translator.of(several_bundle(target_mark="target"))
    memories = Memories(
        {("fr", "en"): TranslationMemory.create(tmp_path / "m", source_language="fr", target_language="en")}
    )
    service = service_of(ServedModel("m", translator), memories=memories)
    how: Any = {"beam": 1, "max_extra_tokens": 50, "split": False}
    own: Any = {"beam": 1}
    monkeypatch.setattr(
        "dragoman.translation.search.risk.clearly_other", lambda text, expected: f"not {expected}"
    )

    async def story() -> None:
        texts = {}
        for source, target in TRAINED:
            (answer,) = await ask(service, "bread", source=source, target=target, **own)
            (expected,) = translator.translate(["bread"], source=source, to=target, **how)
            assert answer.text == texts.setdefault((source, target), expected.text)
        assert len({*texts.values()}) > 1  # the marks are read
        asked, until = Ask(source="fr", target="en"), time.monotonic() + 20
        words = await service.next_words("bread", asked, most=3, client="", deadline=until)
        assert words == translator.next_words("bread", source="fr", to="en", most=3)
        (answer,) = await ask(service, "bread", source="DE", target="FR", **own)
        assert answer.route == Route(("de", "en", "fr"), ("m", "m"))
        (expected,) = translator.translate([texts["de", "en"]], source="en", to="fr", **how)
        assert answer.text == expected.text
        steps = service._router.steps(answer.route, Ask(source="de", target="fr"))  # of a document
        assert [(how.source, how.to) for _, how in steps] == [("de", "en"), ("en", "fr")]

        (answer,) = await ask(service, PAIRS[0][1], source=None, target="en", **own)
        assert answer.source == "de"
        assert {one.language for one in await service.detect(PAIRS[0][1])} == {"de", "en", "fr"}
        await service.correct("le pain", "", "the bread", ("fr", "en"))
        assert (await ask(service, "le pain", source="fr", target="en"))[0].text == "the bread"
        (answer,) = await ask(service, "bread", source="en", target="fr", wants=frozenset({"risk"}), **own)
        assert answer.translation is not None
        assert answer.translation.risk is not None
        assert Fault("language", "not fr") in answer.translation.risk.flags

    run(service, story())


def test_a_text_in_the_target_language_stays() -> None:
    engine = Shift()
    service = service_of(served("m", engine), served("n", Shift(), "de", "en"))

    async def story() -> None:
        asked = len(engine.asked)
        (answer,) = await ask(service, " abc.\n", source="de-AT", target="DE")
        assert (answer.text, answer.route.models, len(engine.asked)) == (" abc.\n", (), asked)

    run(service, story())


def test_languages_are_detected_text_by_text() -> None:
    pytest.importorskip("py3langid")
    service = service_of(served("m", Shift(1)), served("n", Shift(2), "fr", "de"))

    async def story() -> None:
        texts = ["The children play in the garden.", "Les enfants jouent dans le jardin.", "42 %"]
        answers = await ask(service, *texts, source="Auto")
        assert [one.source for one in answers] == ["en", "fr", "en"]
        assert [bool(one.confidence) for one in answers] == [True, True, False]
        assert (await service.detect(texts[1]))[0].language == "fr"
        assert [one.source for one in await ask(service, texts[1], source=None)] == ["fr"]

    run(service, story())


@pytest.mark.parametrize("model", [None, "m"])
def test_a_text_in_the_target_language_is_detected_and_stays(model: str | None) -> None:
    pytest.importorskip("py3langid")
    service = service_of(served("m", Shift(1)))
    own, foreign = "Die Kinder spielen im Garten.", "今天天气很好，我们去公园吧。"

    async def story() -> None:
        stays, moved, other = await ask(
            service, own, "The children play in the garden.", foreign, source=None, model=model
        )
        assert (stays.text, stays.source, stays.route.models) == (own, "de", ())
        assert (stays.confidence or 0) > 0.9
        assert (moved.source, moved.route.models, (moved.confidence or 0) > 0.9) == ("en", ("m",), True)
        assert (other.source, (other.confidence or 0) < 0.1) == ("en", True)
        assert (await service.detect(own))[0].language == "de"

    run(service, story())


@pytest.mark.parametrize(("source", "target"), [("xx", "de"), ("en", "xx"), (None, "xx"), ("de", "en")])
def test_an_unknown_language_is_refused(source: str | None, target: str) -> None:
    service = service_of(served("m", Shift()))

    async def story() -> None:
        with pytest.raises(UnknownLanguage):
            await ask(service, "abc", source=source, target=target)

    run(service, story())


# ---- many at once ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("engine", "step"),
    [
        pytest.param(
            "native", 1, marks=pytest.mark.skipif(unavailable() is not None, reason="no native engine")
        ),
        ("pytorch", 10),  # it takes seconds for a few alone
        pytest.param("pytorch", 1, marks=pytest.mark.slow),
    ],
)
def test_200_at_once_give_what_200_alone_give(engine: Any, step: int) -> None:
    words = ["Tom", "sleeps", "The old", "house", "is", "big", "runs", "a", "red car", "Anna"]
    texts = [f"{words[n % 10]} {words[n // 10 % 10]} {words[(n * n) % 10]}." for n in range(200)]
    translator = Translator.load(SAVED, engine=engine)
    # An untrained model writes until its limit, so a low one saves most of the time.
    alone = [translator.translate([text], beam=2, max_extra_tokens=2)[0].text for text in texts[::step]]
    service = Service.open([ModelSpec(folder=SAVED)], Limits(output_extra=2, seconds=600), engine=engine)

    async def story() -> None:
        assert service.models[0].engine == engine
        answers = await asyncio.gather(*(ask(service, text, beam=2, seconds=600) for text in texts))
        assert [one.text for (one,) in answers][::step] == alone
        assert len(answers) == 200

    run(service, story())


def test_a_text_twice_is_asked_once() -> None:
    engine = Shift()
    service = service_of(served("m", engine))

    async def story() -> None:
        first = await ask(service, "abc", "abc\nabc", "abc")
        assert engine.asked.count("abc") == 1
        second = await ask(service, "abc")
        assert engine.asked.count("abc") == 1
        assert [first[0].cached, second[0].cached] == [False, True]
        await ask(service, "abc", beam=2)
        await ask(service, "abc", n_best=2)
        await ask(service, "abc", length_penalty=0.1)
        await ask(service, "abc", prefix="b")
        assert engine.asked.count("abc") == 5

    run(service, story())


def test_equal_requests_in_flight_share_an_answer() -> None:
    gate = threading.Event()
    gate.set()
    engine, counted = Shift(gate=gate), Counted()
    service = service_of(served("m", engine), counting=counted)

    async def story() -> None:
        gate.clear()
        asked = [asyncio.create_task(ask(service, "abc", f"d{'e' * n}")) for n in range(5)]
        await until(lambda: counted.counts.get("shared", 0) == 4)
        gate.set()
        answers = await asyncio.gather(*asked)
        assert [[one.text for one in each] for each in answers] == [["bcd", f"e{'f' * n}"] for n in range(5)]
        assert engine.asked.count("abc") == 1

    run(service, story())


def test_a_leaver_does_not_take_the_work_of_others_along() -> None:
    gate = threading.Event()
    gate.set()
    engine, counted = Shift(gate=gate), Counted()
    service = service_of(served("m", engine), counting=counted)

    async def story() -> None:
        gate.clear()
        leaver = asyncio.create_task(ask(service, "abc"))
        await until(lambda: "abc" in engine.asked)
        stays = asyncio.create_task(ask(service, "abc"))
        await until(lambda: counted.counts.get("shared") == 1)
        leaver.cancel()
        await asyncio.wait([leaver])
        gate.set()
        assert (await stays)[0].text == "bcd"
        assert (engine.asked.count("abc"), engine.dropped) == (1, 0)

    run(service, story())


def test_an_error_reaches_all_who_wait_and_is_not_kept() -> None:
    class Failing(Shift):
        fails = 0

        def _answer(self, source: Sequence[int], more: int) -> Any:
            self.fails -= 1
            if self.fails >= 0:
                raise DragomanError("broken")
            return super()._answer(source, more)

    gate = threading.Event()
    gate.set()
    engine = Failing(gate=gate)
    service = service_of(served("m", engine))

    async def story() -> None:
        engine.fails = 1
        gate.clear()  # so that the error does not come before the second question
        tasks = [asyncio.create_task(ask(service, "abc")) for _ in range(2)]
        await until(lambda: service._admission.characters == 8)
        gate.set()
        both = await asyncio.gather(*tasks, return_exceptions=True)
        assert [str(one) for one in both] == ["broken", "broken"]
        assert (await ask(service, "abc"))[0].text == "bcd"
        assert service._admission.characters == 0

    run(service, story())


class Waiting(Shift):
    """Waits for the gate with one text only, or fails with another."""

    def _wait(self) -> None:
        """See `_answer`."""

    def _answer(self, source: Sequence[int], more: int) -> Hypothesis:
        text = "".join(LETTERS[token - 4] for token in source)
        if text == "hid":
            super()._wait()
        if text == "bad":
            raise DragomanError("broken")
        return super()._answer(source, more)


def test_texts_apart_share_a_place_and_do_not_wait_for_each_other() -> None:
    gate = threading.Event()
    service = service_of(served("m", Waiting(gate=gate)))
    seen: list[tuple[int, str]] = []

    async def story() -> None:
        how = Ask(source="en", target="de")
        task = asyncio.create_task(
            service.translate(
                ["hid", "abc"],
                how,
                client="c",
                deadline=time.monotonic() + 60,
                each=lambda number, answer: seen.append((number, answer.text)),
            )
        )
        await until(lambda: seen)
        assert (seen, service._admission.places) == ([(1, "bcd")], 1)
        gate.set()
        assert [one.text for one in await task] == ["ije", "bcd"]
        assert seen == [(1, "bcd"), (0, "ije")]

    run(service, story())


@pytest.mark.parametrize("number", [0, 1])
def test_a_text_that_fails_ends_those_beside_it(number: int) -> None:
    service = service_of(served("m", Waiting(gate=threading.Event())))

    async def story() -> None:
        texts = ["hid", "hid"]
        texts[number] = "bad"
        how, seen = Ask(source="en", target="de"), list[int]()
        with pytest.raises(DragomanError, match="^broken$"):
            await service.translate(
                texts, how, client="c", deadline=time.monotonic() + 60, each=lambda n, _: seen.append(n)
            )
        await until(lambda: service._admission.places == 0)
        assert seen == []

    run(service, story())


# ---- giving up ---------------------------------------------------------------------------------------------


def test_cancelling_frees_the_place_and_the_engine() -> None:
    gate = threading.Event()
    gate.set()
    engine, counted = Shift(gate=gate), Counted()
    service = service_of(served("m", engine), counting=counted)

    async def story() -> None:
        gate.clear()
        task = asyncio.create_task(ask(service, "abc"))
        await until(lambda: "abc" in engine.asked)
        assert service._admission.characters == 4
        task.cancel()
        await until(lambda: service._admission.characters == 0)
        assert (engine.dropped, counted.counts["left"], counted.queue) == (1, 1, 0)
        gate.set()
        assert (await ask(service, "abc"))[0].text == "bcd"

    run(service, story())


def test_what_has_not_begun_is_never_asked() -> None:
    gate = threading.Event()
    gate.set()
    engine = Shift(gate=gate)
    service = service_of(served("m", engine), limits=Limits(threads=1))

    async def story() -> None:
        gate.clear()
        first = asyncio.create_task(ask(service, "abc"))
        await until(lambda: "abc" in engine.asked)
        second = asyncio.create_task(ask(service, "def"))
        await until(lambda: service._admission.characters == 8)
        await until(lambda: len(service._router._translations._jobs) == 2)
        second.cancel()
        await until(lambda: service._admission.characters == 4)
        gate.set()
        await first
        assert "def" not in engine.asked

    run(service, story())


def test_after_the_deadline_the_work_is_dropped() -> None:
    gate = threading.Event()
    gate.set()
    engine, counted = Shift(gate=gate), Counted()
    service = service_of(served("m", engine), counting=counted)

    async def story() -> None:
        gate.clear()
        begun = time.monotonic()
        with pytest.raises(Late):
            await ask(service, "abc", seconds=0.2)
        assert 0.1 < time.monotonic() - begun < 5
        await until(lambda: service._admission.characters == 0)
        assert (engine.dropped, counted.counts["late"]) == (1, 1)
        with pytest.raises(Late):
            await ask(service, "abc", seconds=-1)

    run(service, story())


@pytest.mark.skipif(unavailable() is not None, reason="no native engine here")
def test_the_native_engine_drops_what_nobody_waits_for() -> None:
    service = Service.open([ModelSpec(folder=SAVED)], engine="native")
    lines = [
        "".join(f"{word} " for word in ("Tom sleeps in the old house " * 12).split()) + str(n)
        for n in range(100)
    ]

    async def story() -> None:
        with pytest.raises(Late):
            await ask(service, *lines, beam=16, seconds=0.3)
        left = time.monotonic()
        await until(lambda: service._admission.characters == 0)
        assert time.monotonic() - left < 3
        assert (await ask(service, "Tom sleeps."))[0].text

    run(service, story())


# ---- admission ---------------------------------------------------------------------------------------------


def test_a_full_queue_refuses() -> None:
    gate = threading.Event()
    gate.set()
    counted = Counted()
    service = service_of(served("m", Shift(gate=gate)), limits=Limits(queue_characters=10), counting=counted)

    async def story() -> None:
        gate.clear()
        task = asyncio.create_task(ask(service, "abc"))
        await until(lambda: service._admission.characters)
        with pytest.raises(Overloaded) as error:
            await ask(service, "abcdefg")
        assert error.value.retry_after >= 1
        assert counted.counts["overloaded"] == 1
        gate.set()
        await task
        await ask(service, "abcdefg")

    run(service, story())


def test_a_client_has_a_share() -> None:
    service = service_of(served("m", Shift()), limits=Limits(client_rate=0.001, client_burst=10))

    async def story() -> None:
        await ask(service, "abcabc", client="one")
        with pytest.raises(Overloaded):
            await ask(service, "abcabc", client="one")
        await ask(service, "abcabc", client="two")

    run(service, story())


@pytest.mark.parametrize(
    ("texts", "options", "error"),
    [
        (["a"] * 4, {}, TooLong),
        (["a" * 11, "b" * 10], {}, TooLong),
        (["a"], {"prefix": "a" * 20}, TooLong),
        (["aaaa"], {"prefix": "b" * 12}, TooLong),
        (["a", "b"], {"prefix": "a"}, ConfigError),
        (["a"], {"prefix": "a", "markup": "html"}, ConfigError),
        (["a"], {"beam": 4}, ConfigError),
        (["a"], {"beam": 0}, ConfigError),
        (["a"], {"n_best": 4}, ConfigError),
        (["a"], {"adapter": "x"}, ConfigError),
        (["a"], {"terms": "x"}, ConfigError),
    ],
)
def test_more_than_the_limits_is_refused(
    texts: list[str], options: dict[str, Any], error: type[Exception]
) -> None:
    limits = Limits(texts=3, characters=20, beam=3, alternatives=2, output_extra=3)
    engine = Shift()
    service = service_of(served("m", engine), limits=limits)

    async def story() -> None:
        asked = len(engine.asked)
        with pytest.raises(error):
            await ask(service, *texts, **options)
        assert (len(engine.asked), service._admission.characters) == (asked, 0)

    run(service, story())


def test_translations_are_bounded() -> None:
    limits: list[int] = []

    class Limited(Shift):
        def search(self, requests: Any, **options: Any) -> Any:
            requests = list(requests)
            limits.extend(one.max_tokens - len(one.source) for one in requests)
            return super().search(requests, **options)

    service = service_of(served("m", Limited()), limits=Limits(output_extra=7))

    async def story() -> None:
        limits.clear()
        await ask(service, "abc", "<b>ab</b>")
        await ask(service, "<b>ab</b>", markup="html")
        assert set(limits) == {7}

    run(service, story())


# ---- beginning and end -------------------------------------------------------------------------------------


def test_nothing_is_translated_before_the_models_have_warmed_up() -> None:
    service = service_of(served("m", Shift()))

    async def story() -> None:
        with pytest.raises(NotReady, match="loading"):
            await ask(service, "abc")
        assert not service.ready
        await service.start()
        assert service.ready
        await service.drain(0)
        assert not service.ready

    asyncio.run(story())


def test_draining_finishes_what_was_accepted_and_refuses_the_rest() -> None:
    gate = threading.Event()
    gate.set()
    service = service_of(served("m", Shift(gate=gate)))

    async def story() -> None:
        await service.start()
        gate.clear()
        accepted = asyncio.create_task(ask(service, "abc"))
        await until(lambda: service._admission.characters)
        draining = asyncio.create_task(service.drain(20))
        await until(lambda: not service.ready)
        for refused in (ask(service, "abc"), service.detect("abc"), service.matches("abc", ("en", "de"))):
            with pytest.raises(NotReady, match="stopping"):
                await refused
        assert not draining.done()
        gate.set()
        assert (await accepted)[0].text == "bcd"
        await draining

    asyncio.run(asyncio.wait_for(story(), 30))


def test_draining_does_not_wait_for_ever() -> None:
    gate = threading.Event()
    gate.set()
    engine = Shift(gate=gate)
    service = service_of(served("m", engine))

    async def story() -> None:
        await service.start()
        gate.clear()
        stuck = asyncio.create_task(ask(service, "abc", seconds=100))
        await until(lambda: "abc" in engine.asked)
        await service.drain(0.1)
        with pytest.raises(NotReady):
            await stuck
        assert engine.dropped == 1

    asyncio.run(asyncio.wait_for(story(), 30))


def test_what_happens_is_counted() -> None:
    counted = Counted()
    service = service_of(served("m", Shift()), counting=counted)

    async def story() -> None:
        counted.counts.clear()
        await ask(service, "abc. def.", "abc.")
        await ask(service, "abc.")
        assert counted.counts == {
            "texts": 3,
            "characters": 9 + 4 + 2 + 4 + 1,
            "sentences": 4,
            "cache_hits": 1,
            "cache_misses": 2,
            "shared": 0,
            "remembered": 0,
        }
        assert (counted.pairs, counted.queue) == ([("en", "de")] * 2, 0)

    run(service, story())
