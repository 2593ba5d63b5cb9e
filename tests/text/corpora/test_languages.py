"""What a file's name tells about its languages, and what it does not."""

import pytest

from dragoman.text.corpora.languages import is_language, of_pair, of_side


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("train.en", "en"),
        ("data/train.en.gz", "en"),
        ("train.de.txt", "de"),
        ("train.tok.de.GZ", "de"),
        ("en.txt.gz", "en"),
        ("wiki.zho_Hans", "zho_Hans"),
        ("gui.pt-BR", "pt-BR"),
        ("news.es-419", "es-419"),
        ("train.txt", None),
        ("train", None),
        ("train.src", None),
        ("eng_Latn.dev", None),
        ("train.EN", None),
        ("train.english", None),
        ("/dev/fd/63", None),
        ("-", None),
    ],
)
def test_one_side(name: str, language: str | None) -> None:
    assert of_side(name) == language


@pytest.mark.parametrize(
    ("name", "languages"),
    [
        ("train.en-de.tsv", ("en", "de")),
        ("data/train.en-de.jsonl.gz", ("en", "de")),
        ("en_de.tsv", ("en", "de")),
        ("train.en-pt-BR.tsv", ("en", "pt-BR")),
        ("train.zh_Hans-en_GB.tsv", ("zh_Hans", "en_GB")),
        ("train.tsv", (None, None)),
        ("train.en.tsv", (None, None)),
        ("old-new.tsv", (None, None)),
        ("multi-word-name.tsv", (None, None)),
        ("-", (None, None)),
    ],
)
def test_a_file_of_pairs(name: str, languages: tuple[str | None, str | None]) -> None:
    assert of_pair(name) == languages


def test_keys_are_told_from_languages() -> None:
    assert is_language("en")
    assert not is_language("score")
    assert not is_language("")
