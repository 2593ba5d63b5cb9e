"""Filters measure pairs; rules in TOML choose them by language and by file."""

from __future__ import annotations

import pickle
import tomllib
from pathlib import Path

import pytest
from tests.growth import is_linear

from dragoman.base.errors import ConfigError
from dragoman.data import rules as module
from dragoman.data.rules import (
    FILTERS,
    MeasuredPair,
    Rules,
    default_rules,
    idle_sections,
    missing_libraries,
    read_rules,
)

EN_DE = ("en", "de")
FAST: dict[str, object] = {"filters": {"language": False}}  # its model is slow to load
LONG = "The old dog of the neighbours sleeps in the shadow of the house"
LANG = "Der alte Hund der Nachbarn schläft im Schatten des Hauses"
BAD = {  # a pair by the filter that drops it
    "empty": ("A dog.", " \u200b"),
    "encoding": ("A dog\ufffd.", "Ein Hund."),
    "long": ("dog " * 300, "Hund " * 300),
    "boilerplate": ("https://example.org/a/b/c", "https://example.org/a/b/c"),
    "letters": ("1 + 2 = 3; 4 + 5 = 9 (a)", "1 + 2 = 3; 4 + 5 = 9 (b)"),
    "copied": (LONG, LONG.lower() + "."),
    "script": (LONG, "Старая собака соседей спит в тени дома"),
    "repetition": ("The dog sleeps.", "Der Hund Hund Hund Hund Hund schläft."),
    "length-ratio": ("Dog.", LANG),
    "truncated": (LONG, "Der Hund"),
}
HEALTHY = [
    ("A dog.", "Ein Hund."),
    ("OK", "OK"),
    ("IBM Corp.", "IBM Corp."),
    ("On 3 March 1,500 dogs slept.", "Am 3. März schliefen 1.500 Hunde."),
    ("12.5 %", "12,5 %"),
    ("See https://example.org for more about it.", "Mehr dazu steht auf https://example.org im Netz."),
    ("Yes, yes, yes!", "Ja, ja, ja!"),
    (LONG, LANG),
]


def dropped(rules: Rules, pair: tuple[str, str]) -> list[str]:
    return [name for name, _ in rules.judge(*pair).filters]


def written(folder: Path, text: str) -> Path:
    path = folder / "rules.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", BAD)
def test_a_filter_drops_its_kind(name: str) -> None:
    assert name in dropped(Rules.of(FAST, EN_DE), BAD[name])


@pytest.mark.parametrize("pair", HEALTHY, ids=lambda pair: pair[0])
def test_healthy_pairs_stay(pair: tuple[str, str]) -> None:
    source, target, repairs, filters = Rules.of(FAST, EN_DE).judge(*pair)

    assert ((source, target), repairs, filters) == (pair, [], [])


def test_another_language_is_noticed() -> None:
    pytest.importorskip("py3langid")
    french = "Le vieux chien des voisins dort à l’ombre de la maison"
    assert dropped(Rules.of({}, EN_DE), (LONG, french)) == ["language"]
    assert dropped(Rules.of({}, ("en", None)), (LONG, french)) == []
    assert dropped(Rules.of({}, ("en", "fr")), (LONG, french)) == []


def test_what_is_off_can_be_switched_on() -> None:
    table = {"filters": {"language": False, "numbers": True, "placeholders": 0, "short": -3}}
    rules = Rules.of(table, EN_DE)
    assert dropped(rules, ("In 15 days.", "In 50 Tagen.")) == ["numbers"]
    assert dropped(rules, ("Open %s now.", "Jetzt öffnen.")) == ["placeholders"]
    assert dropped(rules, ("No", "Nein")) == ["short"]
    assert dropped(Rules.of({"filters": {"copied": False, "language": False}}, EN_DE), BAD["copied"]) == []


def test_languages_and_files_have_rules_of_their_own(tmp_path: Path) -> None:
    text = """
        [filters]
        length-ratio = 9
        [languages.deu.filters]
        length-ratio = 5
        [languages.fr.filters]
        length-ratio = 1
        [corpora."web*".filters]
        length-ratio = 2
        [corpora."web*".repairs]
        quotes = true
        """
    table = read_rules(written(tmp_path, text))

    def ratio(*of: object) -> float | None:
        return next(one.limit for one in Rules.of(table, *of).filters if one.name == "length-ratio")  # type: ignore[arg-type]

    assert ratio(("en", "ja")) == 9
    assert ratio(EN_DE) == 5
    assert ratio(EN_DE, "in/news.tsv") == 5
    assert ratio(EN_DE, "in/web-1.tsv") == 2
    assert idle_sections(table, EN_DE, ["in/web-1.tsv"]) == ['languages."fr"']
    assert idle_sections(table, ("en", "ja"), ["news.tsv"]) == [
        'languages."deu"', 'languages."fr"', 'corpora."web*"'
    ]  # fmt: skip
    assert "quotes" in [one.name for one in Rules.of(table, EN_DE, "web.tsv").repairs]
    assert "quotes" not in [one.name for one in Rules.of(table, EN_DE).repairs]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[filter]", "unknown name filter"),
        ("[filters]\nlenght-ratio = 3", "unknown name filters.lenght-ratio"),
        ("[filters]\nlong = 'x'", "filters.long = 'x' cannot be used"),
        ("[filters]\nlong = nan", "filters.long = nan cannot be used"),
        ("[repairs]\nspaces = 1", "repairs.spaces = 1 cannot be used"),
        ("[filters]\nshort = true", "filters.short = true cannot be used"),
        ("[filters]\nshort = 3", "filters.short = 3 cannot be used"),
        ("filters = 3", "filters = 3 is no section"),
        ("[languages]\nde = 3", "languages.de = 3 is no section"),
        ("[languages.de.filter]", "unknown name languages.de.filter"),
        ("[corpora.'a*'.filters]\nnone = 1", "unknown name corpora.a*.filters.none"),
        ("[filters", "not valid TOML"),
    ],
)
def test_a_mistake_is_named_with_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as error:
        read_rules(path)

    assert str(error.value).startswith(f"{path}: ")
    assert message.replace("'", '"') in str(error.value).replace("'", '"')
    assert error.value.hint


def test_the_defaults_as_toml_are_the_defaults(tmp_path: Path) -> None:
    table = read_rules(written(tmp_path, default_rules()))

    assert Rules.of(table) == Rules.of({})
    assert [*tomllib.loads(default_rules())["filters"]] == [one.name for one in FILTERS]


def test_a_library_that_is_missing_is_an_error_only_by_name(monkeypatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert "mojibake" in missing_libraries({"repairs": {"mojibake": False}})
    assert "mojibake" not in [one.name for one in Rules.of({}).without(["mojibake"]).repairs]
    with pytest.raises(ConfigError, match="mojibake = true needs ftfy"):
        missing_libraries({"corpora": {"a": {"repairs": {"mojibake": True}}}})


def test_rules_go_to_other_processes() -> None:
    rules = Rules.of({}, EN_DE, "a.tsv")
    assert pickle.loads(pickle.dumps(rules)) == rules  # noqa: S301


@pytest.mark.parametrize(
    "target",
    [
        "ScriptForge 库提供的服务",
        "为 LibreOffice 7.4 安装帮助文件",
        "汤姆不想让 Mary 走",
        "马鲁基多尔 (Maroochydore) 随后",
        "972 Mary/ScriptForge 没有 LibreOffice",
    ],
)
def test_names_in_latin_letters_are_at_home_in_chinese(target: str) -> None:
    rules = Rules.of({}, ("en", "zh"))
    source = "Mary says the services that the ScriptForge library of LibreOffice has"
    assert dropped(rules, (source, target)) == []
    tagged = (
        "Are you sure you want to cancel [ProductName] installation?",
        "确定要取消 [ProductName] 安装吗？",
    )
    assert dropped(rules, tagged) == []
    english = "The services that the library of this program has for you"
    assert "script" in dropped(rules, (english, english + " all"))


def test_empty_pairs_end_documents_and_stay() -> None:
    rules = Rules.of({}, ("en", "de"))
    assert dropped(rules, ("", " ")) == []
    assert dropped(rules, ("A dog.", "")) == ["empty"]
    rules = Rules.of({"filters": {"short": -3}}, ("en", "de"))
    assert dropped(rules, ("", " ")) == []
    assert dropped(rules, ("A", "Ein")) == ["short"]


def test_katakana_in_half_width_is_at_home_in_japanese() -> None:
    pair = ("ﾊﾝｶｸ ｶﾀｶﾅ ﾉ ｷｬﾝﾍﾟｰﾝ", "Half-width katakana campaign")
    assert dropped(Rules.of(FAST, ("ja", "en")), pair) == []


@pytest.mark.parametrize("part", ["a@", "@@", "{{", "中%", "a.b"])
def test_hostile_lines_are_measured_in_time(part: str) -> None:
    boilerplate = next(one for one in FILTERS if one.name == "boilerplate")
    assert is_linear(lambda n: boilerplate.measure(MeasuredPair(part * n, part * n)), 2500)
