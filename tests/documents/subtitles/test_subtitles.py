from __future__ import annotations

import pysubs2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.documents.files import parse, sources, translated, with_results


def srt(*cues: str, gap: int = 100) -> str:
    """A file whose cues last a second each, with `gap` milliseconds between them."""
    starts = range(0, len(cues) * (1000 + gap), 1000 + gap)
    return "\n".join(
        f"{number}\n{clock(start)} --> {clock(start + 1000)}\n{cue}\n"
        for number, (start, cue) in enumerate(zip(starts, cues, strict=True), 1)
    )


def clock(time: int) -> str:
    return f"{time // 3600000:02}:{time // 60000 % 60:02}:{time // 1000 % 60:02},{time % 1000:03}"


def vtt(*blocks: str) -> str:
    return "WEBVTT\n\n" + "\n\n".join(blocks) + "\n"


def texts(text: str, form: str = "srt") -> list[str]:
    """The texts of the cues as another program reads them."""
    return [event.plaintext for event in pysubs2.SSAFile.from_string(text, format_=form)]


def test_a_sentence_goes_on_in_the_next_cue():
    text = srt("I have waited here", "for three days.", "Where are they?")
    assert sources("srt", text) == ["I have waited here for three days.", "Where are they?"]


@pytest.mark.parametrize(
    ("first", "second", "gap"),
    [
        ("It is late.", "we go.", 100),  # a full stop
        ("It is late", "we go.", 1500),  # a long pause
        ("It is late", "- we go.", 100),  # another speaker
        ("It is late", "ANNA: we go.", 100),
        ("It is late", "[thunder]", 100),
        ("I thought...", "Never mind.", 100),  # broken off
        ("♪ la la ♪", "and so on.", 100),
    ],
)
def test_what_ends_a_segment(first: str, second: str, gap: int):
    text = srt(first, second, "The end.", "The end.", gap=gap)
    assert len(sources("srt", text)) == 4


def test_a_sentence_that_trails_off_goes_on_in_lower_case():
    assert sources("srt", srt("I thought...", "that you knew.")) == ["I thought... that you knew."]


def test_the_reading_of_a_word_stays():
    ruby = "<ruby>base<rt>reading</rt></ruby> and <ruby>more<rt>end</ruby> text"
    cue = "00:00.000 --> 00:01.000\n"
    assert sources("vtt", vtt(cue + ruby)) == [
        "⟨<ruby>⟩base⟨<rt>reading</rt>⟩⟨</ruby>⟩ and ⟨<ruby>⟩more⟨<rt>end⟩⟨</ruby>⟩ text"
    ]
    assert translated("vtt", vtt(cue + ruby)) == vtt(
        cue + "<ruby>BASE<rt>reading</rt></ruby> AND <ruby>MORE<rt>end</ruby> TEXT"
    )


def test_files_without_punctuation_are_left_by_cues():
    assert len(sources("srt", srt("where are you", "over here", "come on"))) == 3


def test_a_translation_is_split_over_the_cues_of_its_source():
    text = srt("I have been waiting here", "for three whole days.")
    new = with_results("srt", text, ("Ich warte hier schon seit drei ganzen Tagen.",))
    assert texts(new) == ["Ich warte hier schon seit", "drei ganzen Tagen."]
    assert [(event.start, event.end) for event in pysubs2.SSAFile.from_string(new)] == [
        (0, 1000),
        (1100, 2100),
    ]


def test_a_split_prefers_punctuation():
    text = srt("When the storm was over we", "went home together that day.")
    new = with_results("srt", text, ("Als der Sturm vorbei war, gingen wir alle zusammen nach Hause.",))
    assert texts(new)[0] == "Als der Sturm vorbei war,"


def test_a_split_prefers_the_end_of_a_sentence_to_a_comma():
    text = srt("Now we are at home and", "all of us are so happy.")
    new = with_results("srt", text, ("Wir sind daheim. Nun ja, und alle sind froh.",))
    assert texts(new)[0] == "Wir sind daheim."


def test_a_word_is_never_split():
    assert texts(with_results("srt", srt("Well then, you", "see."), ("Verstehste?",))) == ["Verstehste?"] * 2


def test_chinese_is_split_between_characters():
    new = texts(with_results("srt", srt("I have waited here", "for three days."), ("我在这里等了三天。",)))
    assert "".join(new) == "我在这里等了三天。"
    assert all(new)


def test_lines_are_balanced_and_no_more_than_in_the_source():
    source = "This is a rather long line of a film,\nwith another line below it that ends."
    new = with_results("srt", srt(source), ("Eins zwei drei vier " * 3 + "fünf.",))
    rows = texts(new)[0].split("\n")
    assert len(rows) == 2
    assert abs(len(rows[0]) - len(rows[1])) < 8
    assert with_results("srt", srt("One line."), ("Wort " * 20 + "Ende.",)).count("Wort\n") == 0


def test_dialogue_is_two_segments():
    text = srt("- Hi, Tom.\n- Hello.")
    assert sources("srt", text) == ["Hi, Tom.", "Hello."]
    assert texts(translated("srt", text)) == ["- HI, TOM.\n- HELLO."]


def test_speakers_stay_and_notes_are_segments():
    text = srt("JOHN: Come in.\n[door closes] Who is it?", "(sighs) ♪ la la ♪")
    assert sources("srt", text) == ["Come in.", "door closes", "Who is it?", "sighs", "la la"]
    new = translated("srt", text)
    assert "JOHN: COME IN.\n[DOOR CLOSES] WHO IS IT?" in new
    assert "(SIGHS) ♪ LA LA ♪" in new


def test_tags_around_a_cue_stay_outside():
    text = srt(r"{\an8}<i>It was</i>" "\n<i>a long night</i>", "<i>for us.</i>")
    assert sources("srt", text) == ["It was a long night for us."]
    new = with_results("srt", text, ("Es war eine lange Nacht für uns.",))
    assert "{\\an8}<i>Es war eine lange Nacht</i>" in new
    assert "<i>für uns.</i>" in new


def test_a_tag_that_a_split_is_inside_of_is_closed_and_opened_again():
    text = srt("We saw the", "old <i>Queen of the Sea</i> there.")
    source = parse("srt", text).segments[0].source
    new = with_results("srt", text, (source[1], "Die Königin der", source[3], " sieben Meere war da."))
    assert "<i>Die Königin</i>\n" in new
    assert "<i>der</i> sieben Meere war da.\n" in new


def test_unknown_tags_and_braces_are_text():
    assert sources("srt", srt("a <3 b {x} <name> c.")) == ["a <3 b {x} <name> c."]


WEBVTT = vtt(
    "NOTE\nThis stays.",
    "STYLE\n::cue(.loud) { color: red }",
    "REGION\nid:low",
    "intro\n00:01.000 --> 00:02.000 align:start line:0\n<v Anna>Tom &amp; I <c.loud>were</c>",
    "00:02.100 --> 00:03.000\n<v Anna>there&nbsp;too.",
    "00:03.100 --> 00:04.000\n<v Tom>And <00:03.500>me.</v>",
)


def test_webvtt():
    assert sources("vtt", WEBVTT) == ["Tom & I ⟨<c.loud>⟩were⟨</c>⟩ there\u00a0too.", "And ⟨<00:03.500>⟩me."]
    new = translated("vtt", WEBVTT, lambda text: text.replace("Tom & I", "a < b & I"))
    assert new == WEBVTT.replace("Tom &amp; I", "a &lt; b &amp; I")
    assert texts(new, "vtt")[1:] == texts(WEBVTT, "vtt")[1:]


def test_webvtt_voices_keep_sentences_apart():
    cues = "00:01.000 --> 00:02.000\n<v Anna>I know", "00:02.100 --> 00:03.000\n<v Tom>nothing."
    assert sources("vtt", vtt(*cues)) == ["I know", "nothing."]


def test_an_empty_line_in_a_cue_does_not_end_it():
    text = srt("One two", "- Three.\n\n- Four.", "Five.")
    assert sources("srt", text) == ["One two", "Three.", "Four.", "Five."]
    assert translated("srt", text) == text.replace("One two", "ONE TWO").replace("Three", "THREE").replace(
        "Four", "FOUR"
    ).replace("Five", "FIVE")


def timings(data: bytes) -> list[tuple[int, int, bool]]:
    """When the cues of a file begin and end, and whether they say something."""
    events = pysubs2.SSAFile.from_string(data.decode())
    return [(one.start, one.end, bool(one.plaintext.strip())) for one in events]


ROW = st.text(st.sampled_from("ab .,-:♪[](){}<i>/&;\\A水"), min_size=1, max_size=20)
CUES = st.lists(st.lists(ROW, min_size=1, max_size=3).map("\n".join), min_size=1).map(lambda cues: srt(*cues))
SRT = st.builds(lambda text, end: text.replace("\n", end).encode(), CUES, st.sampled_from(["\n", "\r\n"]))
VTT = CUES.map(lambda text: f"WEBVTT\n\n{text.replace(',', '.')}".encode())
WORDS = st.lists(st.sampled_from("one two, three. <i>four</i> FIVE: six".split()), min_size=1, max_size=8)


@given(st.lists(WORDS.map(" ".join), min_size=1, max_size=6))
def test_timings_survive_any_translation(cues: list[str]):
    new = translated("srt", srt(*cues), lambda text: text[::-1] + " und")
    assert timings(new.encode()) == timings(srt(*cues).encode())


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("WEBVTT\nKind: captions\nLanguage: en\n", "WEBVTT\nKind: captions\nLanguage: de\n"),
        ("WEBVTT - Dogs\r\nLanguage: en-GB \r\n", "WEBVTT - Dogs\r\nLanguage: de \r\n"),
        ("WEBVTT\nLanguage: fr\n", "WEBVTT\nLanguage: fr\n"),
        ("WEBVTT\n\nNOTE\nLanguage: en\n", "WEBVTT\n\nNOTE\nLanguage: en\n"),
        ("WEBVTT\r\n\r\nNOTE\r\nLanguage: en\r\n", "WEBVTT\r\n\r\nNOTE\r\nLanguage: en\r\n"),
    ],
)
def test_the_header_names_the_target_language(head: str, expected: str) -> None:
    cue = "\n00:01.000 --> 00:02.000\nA dog.\n"
    assert translated("vtt", head + cue).startswith(expected + cue[:24])
    assert translated("vtt", head + cue, str) == head + cue
