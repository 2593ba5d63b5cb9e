"""One verdict for a pair, wherever it is asked for: in a PO file, by `risk`, by `filter` and by a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.documents.pretend import Pretend

from dragoman.documents.formats import FORMATS, Languages
from dragoman.documents.translate import translate_document
from dragoman.serving.apis.own import _result
from dragoman.serving.service.ask import Answer, Ask, Route
from dragoman.translation.memory.store import TranslationMemory
from dragoman.translation.search.options import Decoding
from dragoman.translation.translation import Translation
from dragoman.translation.translator import Translator

MODEL = Path(__file__).parents[2] / "saved" / "0.1" / "transformer"
RIGHT = [
    ("We meet at 3 pm.", "Wir treffen uns um 15 Uhr."),
    ("It opens at 5 p.m.", "Es öffnet um 17:00 Uhr."),
    ("From 9 am to 5 pm.", "Von 9 bis 17 Uhr."),
    ("Come at half past three.", "Komm um halb vier."),
    ("Lunch is at noon.", "Mittagessen gibt es um 12 Uhr."),
    ("He has 2 dogs.", "Er hat zwei Hunde."),
    ("He has two dogs.", "Er hat 2 Hunde."),
    ("The party is on March 5.", "Die Feier ist am 5.3."),
    ("On 2020-03-05.", "Am 5. März 2020."),
    ("It costs 1,000.50 francs.", "Es kostet 1.000,50 Franken."),
    ("10,000 lines", "10 000 Zeilen"),
    ("A nail of .5 cm", "Ein Nagel von 0,5 cm"),
    ("5% of all", "5 % von allen"),
    ("ten percent", "10 Prozent"),
    ("the 2nd house", "das zweite Haus"),
    ("pages 3-7", "Seiten 3 bis 7"),
    ("2-3 days", "zwei bis drei Tage"),
    ("a room of 80 m²", "ein Raum von 80 Quadratmetern"),
    ("1.5 million people", "1,5 Millionen Menschen"),
    ("5 dogs and 5 cats", "5 Hunde und fünf Katzen"),
    ("½ litre", "1/2 Liter"),
    ("Copy %s to {path}.", "Kopiere %s nach {path}."),
    ("Open %1$s now.", "Öffne jetzt %1$s."),
]
WRONG = [
    ("In 15 days.", "In 50 Tagen.", "number differs"),
    ("On page 5.", "Auf der Seite.", "number differs"),
    ("On a page.", "Auf Seite 47.", "number differs"),
    ("It has 16 GB.", "Es hat 61 GB.", "number differs"),
    ("At 3 pm.", "Um 16 Uhr.", "number differs"),
    ("On March 5.", "Am 6.3.", "number differs"),
    ("He has 2 dogs.", "Er hat drei Hunde.", "number differs"),
    ("5% of all", "50 % von allen", "number differs"),
    ("pages 3-7", "Seiten 3-8", "number differs"),
    ("the 2nd house", "das dritte Haus", "number differs"),
    ("5 dogs and 5 cats", "5 Hunde und Katzen", "number differs"),
    ("a dog, 5 cats", "5 Hunde, 5 Katzen", "number differs"),
    ("Copy %s.", "Kopiere.", "placeholder"),
    ("Open the small file now.", "Open the small file jetzt.", "copied"),
]  # fmt: skip


class Given(Pretend):
    """Answers each line with what it is given, with its words as one alignment."""

    def __init__(self, target: str) -> None:
        super().__init__(links=False)
        self.target = target

    def _one(self, line: str) -> Translation:
        return replace(super()._one(line), text=self.target)


def of_a_po_file(source: str, target: str, folder: Path) -> set[str]:
    header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"'
    data = f'{header}\n\nmsgid "{source}"\nmsgstr ""\n'.encode()
    document = FORMATS["po"].parse(data, Languages("en", "de"))
    new, results, _ = translate_document(cast("Translator", Given(target)), document)
    doubts = {doubt.partition(":")[0] for one in results if one for doubt in one.doubts}
    assert (b"fuzzy" in new) == bool(doubts)
    return doubts


def of_risk(source: str, target: str, folder: Path) -> set[str]:
    (risk,) = Translator.load(MODEL).risk([source], [target])
    return {flag.kind for flag in risk.flags}


def of_a_server(source: str, target: str, folder: Path) -> set[str]:
    path = folder / "a.tm"
    path.unlink(missing_ok=True)
    with TranslationMemory.create(path, source_language="en", target_language="de") as memory:
        memory.add(source, target)
        translator = Translator.load(MODEL).using(memory=memory)
        (found,) = translator.translate([source], Decoding(risk=True, protect=False))
    assert found.text == target
    route = Route(("en", "de"), ("en-de",))
    answer = Answer(text=found.text, source="en", confidence=None, route=route, translation=found)
    result = _result(answer, Ask(source="en", target="de", wants=frozenset({"risk"})), scores=False)
    return {flag["kind"] for flag in result["flags"]}


WHERE = [of_a_po_file, of_risk, of_a_server]


@pytest.mark.parametrize("where", WHERE, ids=lambda one: one.__name__)
def test_what_is_right_raises_no_doubt_anywhere(where: Callable[..., set[str]], tmp_path: Path) -> None:
    assert {pair[1]: found for pair in RIGHT if (found := where(*pair, tmp_path))} == {}


@pytest.mark.parametrize("where", WHERE, ids=lambda one: one.__name__)
def test_what_is_wrong_is_caught_everywhere(where: Callable[..., set[str]], tmp_path: Path) -> None:
    if where is of_a_po_file:  # there a lost placeholder is put back
        pairs = [pair for pair in WRONG if pair[2] != "placeholder"]
    else:
        pairs = WRONG
    assert {target: where(source, target, tmp_path) for source, target, _ in pairs} == {
        target: {kind} for _, target, kind in pairs
    }
