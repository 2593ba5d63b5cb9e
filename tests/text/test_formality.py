"""How a text addresses its reader, by rules."""

import pytest

from dragoman.text.formality import formality_of


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Haben Sie das Buch?", "de", "formal"),
        ("Wie geht es Ihnen?", "de-AT", "formal"),
        ("Ich mag Ihren Hund.", "deu", "formal"),
        ("Sie sieht den Hund.", "de", None),  # "she", or "you"
        ("Er kommt. Sie geht.", "de", None),
        ("Hast du deinen Hut?", "de", "informal"),
        ("Ihr seid da, und euer Hund auch.", "de", "informal"),
        ("Wenn Sie wollen, kommst du mit.", "de", None),  # both
        ("Der Schnee ist weiß.", "de", None),
        ("Die Sichel ist dir nicht.", "de", "informal"),
        ("Avez-vous votre livre ?", "fr", "formal"),
        ("Tu as ton livre.", "fr", "informal"),
        ("Est-ce que je t'aime ?", "fr", "informal"),
        ("Il l'a vu.", "fr", None),
        ("Il a changé de ton.", "fr", None),
        ("Le ton monte, vous le savez.", "fr", "formal"),
        ("Euer Ehren, das ist falsch.", "de", None),
        ("Are you there?", "en", None),
    ],
)
def test_pronouns_decide(text: str, language: str, expected: str | None) -> None:
    assert formality_of(text, language) == expected
