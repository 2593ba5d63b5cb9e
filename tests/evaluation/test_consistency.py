"""How consistently a document is translated."""

from dragoman.evaluation.consistency import consistency, to_text
from dragoman.translation.terms.terms import Term, TermList

SOURCES = ["Open the file.", "Close the file.", "Is the file yours?", "Print it."]
TARGETS = ["Öffnen Sie die Datei.", "Schließen Sie die Akte.", "Gehört dir die Datei?", "Drucken."]


def test_terms_and_formality_are_counted() -> None:
    terms = TermList([Term("file", ("Datei", "Akte")), Term("print", ("drucken",))], "en", "de")
    table = consistency(SOURCES, TARGETS, "de", [terms])
    assert table["formality"] == {"formal": 2, "informal": 1, "share": 2 / 3}
    # "print" occurs once, so nothing can differ from it.
    assert table["terms"] == {"occurrences": 3, "share": 2 / 3}
    assert to_text(table).splitlines() == [
        "formality: 2 lines formal, 1 informal; 66.7% alike",
        "terms: 66.7% of 3 repeated ones translated alike",
    ]


def test_an_occurrence_without_a_listed_translation_counts() -> None:
    terms = [TermList([Term("file", ("Datei", "Akte"))], "en", "de")]
    targets = ["die Datei"] * 2 + ["das Ding"] * 8
    assert consistency(["the file"] * 10, targets, "de", terms)["terms"] == {"occurrences": 10, "share": 0.2}
    both = consistency(["a file and a file"], ["eine Datei und eine Akte"], "de", terms)
    assert both["terms"] == {"occurrences": 2, "share": 0.5}
    twice = consistency(["the file"] * 2, ["die Datei, die Datei"] * 2, "de", terms)
    assert twice["terms"] == {"occurrences": 2, "share": 1.0}


def test_nothing_to_count() -> None:
    table = consistency(["a"], ["b"], "cs")
    assert table == {"formality": None, "terms": {"occurrences": 0, "share": None}}
    assert to_text(table) == ""
    assert consistency(["a"], ["b"], "de")["formality"]["share"] is None
