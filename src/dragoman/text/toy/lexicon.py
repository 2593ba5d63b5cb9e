"""The words of the embedded English-German corpus, as tables. `words` derives their forms.

If a sentence cannot tell two translations of a word apart, the word has only one: `teacher` is always
`Lehrerin`. `you` is `du`, except after a title, as in "Mrs Braun, do you ...". In English words, `_` is a
space, and `^` a space that an object pronoun may fill ("pick^up": he picks him up).
"""

from __future__ import annotations

Pair = tuple[str, str]


def _pairs(table: str) -> tuple[Pair, ...]:
    """The pairs of a table "english German, ..."; a word alone is the same in both languages."""
    rows = ([word.replace("_", " ") for word in row.split()] for row in table.split(","))
    return tuple((row[0], row[-1]) for row in rows)


# --- nouns: "english/plural article German/Plural"; no plural: a mass noun, or the only one of its kind;
# `*`: a weak masculine, whose accusative and dative singular equal its plural.
# The words before the colon are the tags of the nouns: what they can be used as.
# Some words are ambiguous, and their sentence decides: a plant grows (Pflanze) or is run (Fabrik).
NOUNS = """
young person:   child/children das Kind/Kinder, boy/boys der Junge/Jungen*,
                girl/girls das Mädchen/Mädchen
person:         man/men der Mann/Männer, woman/women die Frau/Frauen, guest/guests der Gast/Gäste,
                teacher/teachers die Lehrerin/Lehrerinnen, doctor/doctors die Ärztin/Ärztinnen,
                farmer/farmers der Bauer/Bauern*, neighbour/neighbours der Nachbar/Nachbarn*,
                student/students der Student/Studenten*
elder kin:      father der Vater, mother die Mutter, grandmother die Großmutter, uncle der Onkel,
                aunt die Tante
kin:            brother/brothers der Bruder/Brüder, sister/sisters die Schwester/Schwestern,
                son/sons der Sohn/Söhne, daughter/daughters die Tochter/Töchter,
                friend/friends der Freund/Freunde
animal:         dog/dogs der Hund/Hunde, cat/cats die Katze/Katzen,
                bird/birds der Vogel/Vögel, cow/cows die Kuh/Kühe
animal mount:   horse/horses das Pferd/Pferde
snack:          apple/apples der Apfel/Äpfel, egg/eggs das Ei/Eier, cake/cakes der Kuchen/Kuchen,
                potato/potatoes die Kartoffel/Kartoffeln
meal:           bread das Brot, cheese der Käse, meat das Fleisch
dish meal:      soup die Suppe
drink:          milk die Milch, water das Wasser, juice der Saft
brew drink:     coffee der Kaffee, tea der Tee
text lay:       book/books das Buch/Bücher
mail lay:       letter/letters der Brief/Briefe
press lay:      newspaper/newspapers die Zeitung/Zeitungen
clothes:        dress/dresses das Kleid/Kleider, coat/coats der Mantel/Mäntel, hat/hats der Hut/Hüte,
                jacket/jackets die Jacke/Jacken, shirt/shirts das Hemd/Hemden
vehicle:        car/cars das Auto/Autos, bike/bikes das Fahrrad/Fahrräder
transport:      train/trains der Zug/Züge, bus/buses der Bus/Busse
furniture:      table/tables der Tisch/Tische, chair/chairs der Stuhl/Stühle, bed/beds das Bett/Betten,
                bench/benches die Bank/Bänke
device stand:   lamp/lamps die Lampe/Lampen, radio/radios das Radio/Radios
flower stand:   plant/plants die Pflanze/Pflanzen
vessel stand:   cup/cups die Tasse/Tassen, bottle/bottles die Flasche/Flaschen
tool lay:       key/keys der Schlüssel/Schlüssel, knife/knives das Messer/Messer
load:           bag/bags die Tasche/Taschen, box/boxes die Kiste/Kisten
button:         key/keys die Taste/Tasten
picture:        picture/pictures das Bild/Bilder
opening:        window/windows das Fenster/Fenster, door/doors die Tür/Türen
room:           kitchen/kitchens die Küche/Küchen, office/offices das Büro/Büros,
                flat/flats die Wohnung/Wohnungen
inside:         house/houses das Haus/Häuser, garden/gardens der Garten/Gärten,
                forest/forests der Wald/Wälder
outing:         park/parks der Park/Parks, city/cities die Stadt/Städte
outing firm:    hotel/hotels das Hotel/Hotels
firm:           plant/plants die Fabrik/Fabriken, bank/banks die Bank/Banken
stop:           station/stations der Bahnhof/Bahnhöfe
game:           football der Fußball, chess das Schach, tennis das Tennis
language:       German das Deutsch, English das Englisch, French das Französisch
"""

# Compounds: "modifier Prefix: heads". English writes two words, German one.
COMPOUNDS = """
kitchen Küchen:     table, chair, window, knife
garden Garten:      table, chair, door
office Büro:        chair, lamp, key
car Auto:           window, door, key
school Schul:       bag, book
summer Sommer:      dress, hat, jacket
winter Winter:      coat, jacket
apple Apfel:        cake, juice
potato Kartoffel:   soup
cheese Käse:        cake
coffee Kaffee:      cup
milk Milch:         bottle
water Wasser:       bottle
"""

# Adjectives: "english German comparative Komparativ"; "teuer:teur" has its own stem before endings.
ADJECTIVES = """
old alt older älter, young jung younger jünger, big groß bigger größer, small klein smaller kleiner,
new neu newer neuer, strong stark stronger stärker, rich reich richer reicher, poor arm poorer ärmer,
expensive teuer:teur more_expensive teurer, cheap billig cheaper billiger, heavy schwer heavier schwerer,
beautiful schön more_beautiful schöner, clever klug cleverer klüger, friendly freundlich - -,
interesting interessant more_interesting interessanter, happy glücklich - -, sad traurig - -,
long lang longer länger, tired müde:müd - -, sick krank - -, hungry hungrig - -, hot heiß - -,
warm warm warmer wärmer, cold kalt colder kälter, fresh frisch - -, empty leer - -,
red rot - -, blue blau - -, green grün - -, white weiß - -, black schwarz - -
"""
COLOURS = frozenset({"red", "blue", "green", "white", "black"})
STATES = ("tired", "sick", "hungry", "happy", "sad")

# Which adjectives go with which nouns. The first tag of a noun decides.
DESCRIBED = """
young: small friendly clever happy sick tired
person: old young friendly clever rich poor happy sick tired
elder: old friendly sick
kin: young friendly clever sick
animal: big small old young black white
snack: big small fresh
meal: fresh
dish: hot warm cold fresh
drink: fresh cold
brew: hot cold
mail: long interesting
text: new old interesting expensive
press: new old interesting
clothes: new old long beautiful warm expensive cheap red blue green white black
vehicle: new old big small expensive cheap red blue green white black
transport: old new red blue
furniture: new old big small heavy expensive cheap white green
device: new old small expensive cheap
flower: beautiful expensive cheap green
firm: big small old new
vessel: empty big small old white blue
tool: new old big small
load: heavy empty big small old new
picture: old new big small beautiful expensive
opening: big small old new
room: big small new old beautiful
inside: big small old beautiful
outing: big small old beautiful
stop: big small old new
"""

# --- verbs: "english/past German er-form participle subject object traits".
# "auf|stehen" is separable, `~` is a regular form, `+` a perfect with sein, `-` as the past means that it is
# not used, because it looks like the present. Traits: habit (takes often, every day, likes to), place (takes
# in the garden), job (takes at the bank), names of manners, clock (takes a time of day), happens (takes
# neither want to nor may), year (takes next year), long (takes a year but not a day), state (takes neither
# modals nor adverbials).
VERBS = """
sleep/slept               schlafen     schläft   geschlafen      being     - habit place
work/worked               arbeiten     ~         ~               person    - habit place job
cook/cooked               kochen       ~         ~               person    - habit
dance/danced              tanzen       ~         ~               person    - habit place
sing/sang                 singen       ~         gesungen        person    - habit place loud
swim/swam                 schwimmen    ~         +geschwommen    person    - habit fast
laugh/laughed             lachen       ~         ~               person    - happens loud
wait/waited               warten       ~         ~               person    - place
get_up/got_up             auf|stehen   ~         +aufgestanden   person    - habit early clock
wake_up/woke_up           auf|wachen   ~         +aufgewacht     person    - happens habit early clock
fall_asleep/fell_asleep   ein|schlafen schläft   +eingeschlafen  being     - happens early
come_back/came_back       zurück|kommen ~         +zurückgekommen person    - habit early clock
watch_TV/watched_TV       fern|sehen   sieht     ferngesehen     person    - habit
go_shopping/went_shopping ein|kaufen   ~         ~               person    - habit
arrive/arrived            an|kommen    ~         +angekommen     rider     - happens early clock arrival
leave/left                ab|fahren    fährt     +abgefahren     transport - happens early clock
go/went                   gehen        ~         +gegangen       person    goal habit
ride/rode                 fahren       fährt     +gefahren       person    bike habit place fast
run/ran                   laufen       läuft     +gelaufen       being     goal fast
drive/drove               fahren       fährt     +gefahren       person    trip habit year
fly/flew                  fliegen      ~         +geflogen       person    city year
live/lived                wohnen       ~         ~               person    home long
stay/stayed               bleiben      ~         +geblieben      person    stay -
eat/ate                   essen        isst      gegessen        person    acc:snack,meal habit place
eat/ate                   fressen      frisst    gefressen       animal    acc:snack,meal habit place
drink/drank               trinken      ~         getrunken       person    acc:drink habit place
read/-                    lesen        liest     gelesen         person    acc:text,mail,press habit place
write/wrote               schreiben    ~         geschrieben     person    acc:mail,mail,text habit place
play/played               spielen      ~         ~               person    acc:game habit
play/played               spielen      ~         ~               being     - habit place
learn/learned             lernen       ~         ~               person    acc:language year
speak/spoke               sprechen     spricht   gesprochen      person    acc:language -
buy/bought                kaufen       ~         ~               person    acc:goods,wares shop year
sell/sold                 verkaufen    ~         verkauft        person    acc:goods,animal,flower shop year
find/found                finden       ~         gefunden        person    acc:tool,load,animal happens place
look_for/looked_for       suchen       ~         ~               person    acc:people,tool,load,animal place
see/saw                   sehen        sieht     gesehen         person    acc:people,animal happens place
visit/visited             besuchen     ~         besucht         person    acc:people habit year
love/loved                lieben       ~         ~               person    acc:kin,animal state
know/-                    kennen       ~         gekannt         person    acc:people state
need/needed               brauchen     ~         ~               person    acc:tool,goods state
have/had                  haben        *         gehabt          person    acc:animal,vehicle,device state
hear/heard                hören        ~         ~               person    acc:people,animal happens place
paint/painted             malen        ~         ~               person    acc:picture,animal habit place
repair/repaired           reparieren   ~         repariert       person    acc:vehicle,furniture,device habit
carry/carried             tragen       trägt     getragen        person    acc:load into
wash/washed               waschen      wäscht    gewaschen       person    acc:vehicle,clothes habit
open/opened               öffnen       ~         geöffnet        person    acc:opening,load -
close/closed              schließen    ~         geschlossen     person    acc:opening -
lose/lost                 verlieren    ~         verloren        person    acc:tool,load happens place
forget/forgot             vergessen    vergisst  vergessen       person    acc:tool,text happens
invite/invited            ein|laden    lädt      eingeladen      person    acc:people -
call/called               an|rufen     ~         angerufen       person    acc:people habit
pick^up/picked^up         ab|holen     ~         ~               person    acc:people clock
turn^on/turned^on         ein|schalten ~         ~               person    acc:device -
turn^off/turned^off       aus|schalten ~         ~               person    acc:device -
tidy^up/tidied^up         auf|räumen   ~         ~               person    acc:room -
throw^away/threw^away     weg|werfen   wirft     weggeworfen     person    acc:mail,press,clothes -
try^on/tried^on           an|probieren ~         anprobiert      person    acc:clothes -
ride/rode                 reiten       ~         geritten        person    acc:mount habit
miss/missed               verpassen    ~         verpasst        person    acc:transport happens
miss/missed               vermissen    ~         vermisst        person    acc:people,animal state
leave/left                verlassen    verlässt  verlassen       person    acc:room,inside -
run/ran                   leiten       ~         ~               person    acc:firm -
press/pressed             drücken      ~         ~               person    acc:button -
help/helped               helfen       hilft     geholfen        person    dat:people habit
thank/thanked             danken       ~         ~               person    dat:people -
answer/answered           antworten    ~         ~               person    dat:people -
belong_to/belonged_to     gehören      ~         gehört          thing     dat:people state
like/liked                gefallen     gefällt   gefallen        person    swap:goods,picture,text state
give/gave                 geben        gibt      gegeben         person    dat+acc:text,mail,tool,snack -
show/showed               zeigen       ~         ~               person    dat+acc:picture,mail,vehicle,room -
send/sent                 schicken     ~         ~               person    dat+acc:mail,mail,text,picture -
bring/brought             bringen      ~         gebracht        person    dat+acc:drink,press,vessel -
put/-                     stellen      ~         ~               person    put:vessel,device,load,flower -
put/-                     legen        ~         ~               person    put:tool,text,mail,press -
"""

# Verbs that take a clause or an infinitive, and those of fixed sentences, in the same columns.
SPECIAL_VERBS = """
say/said                  sagen        ~         ~               person    - -
think/thought             glauben      ~         ~               person    - -
know/knew                 wissen       *         gewusst         person    - -
hope/hoped                hoffen       ~         ~               person    - -
try/tried                 versuchen    ~         versucht        person    - -
promise/promised          versprechen  verspricht versprochen     person    - -
rain/rained               regnen       ~         ~               it        - -
snow/snowed               schneien     ~         ~               it        - -
cost/-                    kosten       ~         ~               thing     - -
stand/stood               stehen       ~         gestanden       thing     - -
lie/lay                   liegen       ~         gelegen         thing     - -
be/was                    sein         *         +gewesen        person    - -
"""
# Tags that several verbs share as objects.
GROUPS = {"people": "person kin", "goods": "clothes vehicle furniture device", "wares": "text snack flower"}
# The forms for ich, du, er and wir of irregular verbs, marked `*` above.
IRREGULAR = {"sein": "bin bist ist sind", "haben": "habe hast hat haben", "wissen": "weiß weißt weiß wissen"}
# The two verbs whose simple past is used in spoken German too.
PRETERITES = {"sein": "war", "haben": "hatte"}

# Modal verbs and the future: English, its past or helper, and the forms for ich, du, er, wir.
# An English name with `_to` is conjugated and takes do-support; the others are helpers.
MOODS = """
can           kann kannst kann können            present
could         konnte konntest konnte konnten     past
may           darf darfst darf dürfen            present
should        sollte solltest sollte sollten     present
will          werde wirst wird werden            future
would_like_to möchte möchtest möchte möchten     present
have_to       muss musst muss müssen             present
had_to        musste musstest musste mussten     past
want_to       will willst will wollen            present
wanted_to     wollte wolltest wollte wollten     past
"""

WOMEN = tuple("Anna Maria Lena Emma Julia Clara Sophie".split())
MEN = tuple("Peter Paul Max Tom Felix Jonas Simon".split())
TITLES = _pairs("Mr Herr, Mrs Frau")
SURNAMES = tuple("Weber Braun Becker Schulz".split())
OWNERS = ("Anna", "Maria", "Lena", "Peter", "Paul")
CITIES = _pairs("Berlin, Hamburg, London, Paris, Munich München, Vienna Wien, Cologne Köln, Rome Rom")
NUMBERS = _pairs("two zwei, three drei, four vier, five fünf, six sechs, ten zehn")

# Adverbials of time by the kind of clause they fit. Those with "every" do not go with a negation.
EVERY = _pairs(
    "every_day jeden_Tag, every_week jede_Woche, every_evening jeden_Abend, every_morning jeden_Morgen"
)
SEASONS = _pairs(
    "in_the_morning am_Morgen, in_the_evening am_Abend, in_summer im_Sommer, in_winter im_Winter"
)
DAYS = _pairs("on_Monday am_Montag, on_Friday am_Freitag, on_Sunday am_Sonntag")
TIMES: dict[str, tuple[Pair, ...]] = {
    "present": _pairs("today heute"),
    "habit": SEASONS,
    "past": (*_pairs("yesterday gestern, last_week letzte_Woche"), *DAYS),
    "future": (*_pairs("tomorrow morgen, next_week nächste_Woche"), *DAYS),
}
YEARS = {"past": ("last year", "letztes Jahr"), "future": ("next year", "nächstes Jahr")}
AGO = _pairs("days Tagen, weeks Wochen, years Jahren")
FREQUENCIES = _pairs("often oft, always immer, sometimes manchmal, never nie")
MANNERS = {
    "early": _pairs("early früh, late spät"),
    "fast": _pairs("quickly schnell, slowly langsam"),
    "loud": _pairs("loudly laut"),
}
WEATHER = _pairs("in_the_snow im_Schnee, in_the_rain im_Regen")
# Prepositions with the dative for where things are, and with the accusative for where they are put.
SURFACES = _pairs("on auf, under unter, next_to neben, behind hinter")
