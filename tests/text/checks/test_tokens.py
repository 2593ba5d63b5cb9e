"""What is no word of a language must be in the translation, too; what is one may change."""

from __future__ import annotations

import pytest
from tests.growth import is_linear

from dragoman.text.checks.tokens import lost_tokens, lost_units

LOST = [
    ("Sync your iPhone now.", "Synchronisieren Sie jetzt.", ["iPhone"]),
    ("Sync your iPhone now.", "Synchronisieren Sie Ihr IPhone.", ["iPhone"]),
    ("Play the MP3 in C++ -> go", "Spiel das Lied", [">", "MP3", "C++"]),
    ("Call std::sort or a|b", "Ruf std: sort oder a b", ["std::sort", "|"]),
    ("call fts_close or sign_in", "rufe", ["fts_close", "sign_in"]),
    ("If size=5 then a\\b # not", "Wenn 5, dann a b", ["=", "\\", "#", "size=5"]),
    ("Press $x twice: $x", "Drücke $x", ["$x"]),
    ("The dog \U0001f600 sleeps", "Der Hund schläft", ["\U0001f600"]),
    ("Look at max_size in the garden of the dog", "Schau im Garten des Hundes", ["max_size"]),
    ("A Linux64-based B5-0045", "Ein System", ["Linux64", "B5-0045"]),
    ("the .git folder, a .rej", "der Ordner git und .rej", [".git"]),
    ("Go on [y/N]? [OPTION] d[SIZE]", "Weiter? [OPTION]", ["[", "[", "]", "]"]),
    ("key [pattern]", "Schlüssel [Muster", ["]"]),
    ("[-] w[h]ile [t]he", "echo", ["[", "]"]),
    ("one of {a,b}", "eins von a,b", ["{", "}"]),
    ("u+rw and +FORMAT", "u rw und +FORMAT", ["+", "u+rw"]),
    ("Use%, but 50%", "Nutzung, aber 50 %", ["%"]),
    ("see refs/notes/ and origin/", "siehe setons/fer/ und origin/", ["refs/notes/"]),
    ("OTP/2FA, pfx/p12 or .mo/.qm", "OTP2FA", ["/", "/", "/", "p12", ".mo", ".qm"]),
    ("the tag \\pos", "das Tag pos", ["\\pos"]),
    ("UTF-8, ISO-8859-1", "UTF8, iso-8859-1", ["UTF-8"]),
    ("stages #2 and #3", "Stufen 2 und Nr. 3", ["#2"]),
    ("see printf(1) and open(2)", "siehe printf(1)", ["open(2)"]),
    ("'-icanon' or\n   -cbreak, -nt", "icanon", ["-icanon", "-cbreak", "-nt"]),
    ("-c needs text", "c braucht Text", ["-c"]),
    ("path:content in a *.* list", "Pfad Inhalt", [":", "*", "*"]),
    ("a ~ b;;c [y,n,q]", "a b", ["~", ";;", "y,n,q", "[", "]"]),
    ("MacOS", "SOcaM", ["MacOS"]),
    ("Copy NIS+ or HEAD^{tree}", "Kopiere SIN+ oder EAD^{tree}", ["NIS+", "HEAD^{tree"]),
    ("does not support -4.", "kann 4 nicht.", ["-4"]),
    ("Show CSS and HTML", "Zeige CS und Html", ["CSS"]),
    ("Pages (all) or none", "Seiten all) oder keine", ["("]),
    ("All pages of it", "Alle Seiten) davon", ["("]),
    ("see it", "siehe es}", ["{"]),
    ("The **dog** sleeps", "Der **dog*-Schlafen", ["**"]),
    ("© 2024, Dog® ≤ 5 €", "£ 2024, Hund 5", ["©", "®", "≤"]),
    ("Pages (all) or none", "Seiten (all oder keine", [")"]),
    ("run\n$ git it", "\n git it", ["$"]),
    (
        "same as -parenb -istrip and -opost, see -moz-element",
        "gleich",
        ["-parenb", "-istrip", "-opost", "-moz-element"],
    ),
    ("with -icanon, the option -WIDTH", "mit icanon BREITE", ["-icanon", "-"]),
    ("Set:\n * -crtkill  kill - it all\n   '-0' or\n-[v]S", "töte", ["-crtkill", "-0", "-", "[", "]"]),
    ("KeePassXC-Browser or OpenNMT-py", "KeePassXC-Browse OpenNMTpy", ["KeePassXC-Browser", "OpenNMT-py"]),
    ("KOI8-R, ISO-2022-JP", "KOI8R, ISO-2022-J", ["KOI8-R", "ISO-2022-JP"]),
    ("Bad value for ai_flags", "Schlechter Wert", ["ai_flags"]),
    ("Bad bisect_write argument", "Falsches Argument", ["bisect_write"]),
    ("Shift_JIS", "SJIS", ["Shift_JIS"]),
    ("my-backup_ .txt", " .txt", ["my-backup_"]),
    ("Latin-3, Level-1 as windows-1252", "Latin 3 als windows1252", ["Latin-3", "Level-1", "windows-1252"]),
    (" % done", " fertig", ["%"]),
    ("the signs (!, $, %, ...) and @", "die Zeichen", ["$", "%", "@"]),
    ("Zoom to 50%", "Zoom auf 50", ["%"]),
    ("All files (*)", "Alle Dateien", ["*"]),
    ("chmod 0700 at refname:lstrip=", "700", ["0700", ":", "=", "refname:lstrip="]),
    ("see oflag=sync or gid= ", "oflag=syn, id=", ["oflag=sync", "gid="]),
    ("nplurals=INTEGER", "ZAHL=INTEGER", ["nplurals="]),
    ("enctype=multipart/form-data", "enctype=multipart", ["enctype=multipart/form-data"]),
    ("thread[0] and msgstr[]", "Faden", ["thread[0]", "msgstr[]", "[", "]", "[", "]"]),
    ("a PKCS#11 of X.509 and ASN.1", "X509", ["PKCS#11", "X.509", "ASN.1", "#11"]),
    ("squash!/fixup!", "Commit", ["squash!/fixup"]),
    ("u+rwx, a=rw or +x", "u+wrx", ["u+rwx", "a=rw", "=", "+x"]),
    ("U+ is left,top,right", "+ ist links,oben,rechts", ["U+", "left,top,right"]),
    ("set sendemail.* to capabilities^", "setze", ["sendemail.*", "*", "capabilities^", "^"]),
]
KEPT = [
    ("A £20m loan for point e, smile", "20 Millionen Pfund für Punkt e) :)"),
    ("The news said 5", "Die Zeitung (HN) sagte (5-4)"),
    ("Tom's iPhone, and the NATO", "Toms iPhone, und die NATO"),
    ("The PitBull and the NaNs", "Der Pitbull und NaN-Werte"),
    ("Two iPhones", "Zwei iPhones"),
    ("The EU, R&D and AT&T", "Die UE, F&E"),
    ("It is and/or he/she at 10:30", "Es ist und"),
    ("US$5, km2, 4x4, the 5th, 10km, 20°C, 50%", "5 Prozent"),
    ('Don\'t -- "ever" ... go; w[h]ile', "Nie"),
    ("E_xit", "_Beenden"),
    ("Comment #1 <<here>>", "Kommentar Nr. 1 <<hier>>"),
    ("&Save ~Open", "Sichern"),
    ("e.g. this, z.B. U.S.A. a.m.", "Dies"),
    ("MacArthur McDonald", "Mac Arthur"),
    ("A well-known on-line man", "Ein Mann"),
    ("We -among them Jane- go, and he - it said -went", "Wir gehen"),
    ("He said ...but it is 3/4, and/or he/she", "Nie"),
    ("The only one [of all the dogs] barks", "Nur einer bellt"),
    ("Tom (see 3:15) and a file(s)", "Tom und Dateien"),
    ("a) one :-)", "a) eins"),
    ("one (two)", "一（二）"),
    ("one (two)", "eins"),
    ("-1.5 and -20", "minus 1,5 und −20"),
    ("The GDP of the country grew by two percent this year.", "Das BIP stieg um zwei Prozent."),
    ('Wind und -wetter, "eine"-Klasse', "wind and weather, a class"),
    ("Die Nutzer:innen, Nutzer*innen, BürgerInnen, jede:r, eine*n", "Users"),
    ("The G-8, the mid-2007 and the under-21", "G8"),
    ("song #1, #2, #3", "Lied Nr. 1, n° 2, Nummer 3"),
    ("I paid $5 for a 10km run", "Ich"),
    ("It is 50% of 20 %", "Das sind 50 Prozent von 20 vom Hundert"),
    ("-Yes, I do.\n-Well, no.", "-Ja.\n-Nein."),
    ("Wind und -wetter, Sonnen- und -schein, Tag bzw. -nacht", "wind"),
    ("Print I_mages", "_Bilder drucken"),
    ("the mid-2007 and pre-1990, a top-10 of under-21 in base-2", "Mitte"),
    ("METHOD=NAME of key=value", "METHODE=NAME von Schlüssel=Wert"),
    ("a utf-8 file for $ 8.5, of  -bit ( -bit)", "eine UTF-8-Datei"),
    ("e.g. Art.3 or S.5", "Artikel"),
    ("A level-3 center, a class-1 felony on page-2", "Un centro de nivel 3, un delito en la página 2"),
    ("It is -5 degrees", "Es sind −5 Grad"),
    ("It is -5 degrees", "Il fait moins 5 degrés"),
    ("Import och -export, varor samt -tjänster", "Import and export, goods and services"),
    ("tuotteet ja -palvelut", "products and services"),
    ("Only 25%", "Nur ein Viertel"),
    ("It fell by 3%", "Turun tiga persen"),
    ("An eBay-like or iPhone-only shop", "Ein Laden wie eBay, nur für iPhone"),
]


@pytest.mark.parametrize(("source", "target", "lost"), LOST)
def test_lost_tokens_are_found(source: str, target: str, lost: list[str]) -> None:
    assert sorted(lost_tokens(source, target)) == sorted(lost)


@pytest.mark.parametrize(("source", "target"), KEPT)
def test_words_may_change(source: str, target: str) -> None:
    assert lost_tokens(source, target) == []


def test_units_behind_placeholders_stay() -> None:
    assert lost_units("%.1fkg in %dMB, {n}px", "%.1f in {n}px", " in px") == ["kg", "MB"]
    assert lost_units("%.1fkg", "%.1f kg", "  kg") == []
    assert lost_units("Wait 500ms, 1px", "500 ms, 1 xp", "500 ms, 1 xp") == ["px"]
    assert lost_units("Every %.1fs", "Alle %.1f", "Alle  ") == ["s"]
    assert lost_units("the %dth of %ss", "%d %s", " ") == []
    assert lost_units("The {0} km run at %d KiB/s", "Der {0} Lauf, %d KiBs", "Der  Lauf,  KiBs") == [
        "km",
        "KiB/s",
    ]
    assert lost_units("%d MB in {0} ms", "%d Mo en {0} ms", " Mo en  ms") == []
    assert lost_units("{w}kg in %(n)dMB", "{w} in %(n)d", " in ") == ["kg", "MB"]
    assert lost_units("try -%c", "nimm %c", "nimm  ") == ["-"]
    assert lost_units("{0} KB", "{0} КБ", " КБ") == []
    assert lost_units("Level {0} A or %s m", "{0}", " ") == []


def test_german_compounds_are_words() -> None:
    assert lost_tokens("Ein iPhone-Nutzer auf YouTube", "An iPhone user on YouTube", "de") == []
    assert lost_tokens("An OpenNMT-Model", "Ein OpenNMT Modell", "en") == ["OpenNMT-Model"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "part",
    [
        "A",
        "1a",
        "a1 ",
        "=",
        "= ",
        "a_",
        "YYYYMM",
        "11",
        "@",
        "a-",
        "a.",
        "a'",
        "a/",
        "[",
        "[ ",
        "[a",
        "(",
        "$ ",
        "a,",
        "-a ",
    ],
)
def test_time_is_linear(part: str) -> None:
    def compare(length: int) -> None:
        many = part * (length // len(part))
        lost_tokens(many, many[::-1])
        lost_tokens("[" + " " * length, "$" + " " * length)
        lost_tokens(" ".join(f"a{n}b" for n in range(length // 2)), many)

    assert is_linear(compare, 1500)
