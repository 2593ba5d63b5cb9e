"""Sentences of a story in several languages, one a line: neighbours that are joined must come apart again."""

STORIES = {
    "es": """Ayer fuimos al mar.
Ana no quiso nadar.
Yo le dije que sí.
Ella dijo que no.
Luis trajo pan y vino.
¿Quién quiere más?
Nadie respondió.
¡Qué día tan largo!
El tren llegó a las 8.30.
Pedro estaba solo en el andén.
Nos miró y se fue sin más.
Creo que todo va bien.
Mi hermana vive en Sevilla.
El libro trata de un rey y de su hijo.
No me lo des.
Ya tengo uno.
La Sra. Gómez abrió la puerta.
El Dr. Ruiz la esperaba dentro.
Traía pan, queso, fruta, etc.
Después comimos en el patio.
Juan vino en su auto.
Los niños jugaban al balón.
«No entiendo nada», dijo Marta.
Su padre se rió.
El sobre estaba vacío.
Puso la carta en otro sobre.
Carmen lo cerró con cuidado.
La falda es mini.
Todos estaban a favor y nadie en contra.
Eso fue el año pasado, no antes.
Ahora él trabaja para nos.
Él mira el reloj de vez en cuando.
Son las tres de la tarde.
Vimos al mono.
Al niño le gustó mucho.
El equipo ganó por tres a uno.
Los demás llegaron tras.
Cantaron dos veces: un bis.
Entonces se apagó la luz.
Mi ex.
Así la llama él.
Me gusta el té.
A Rosa le gusta el café.
¿Vienes con nosotros?
Sí, ahora voy.
Dejó de fumar en mayo de 2014.
2015 fue un año mejor.
Él lo sabe y ella también.
Todo esto lo digo yo.
Buenas noches.
Esta mañana hacía mucho frío.
El panadero abrió a las seis.
Vendió todas las barras en una hora.
«Mañana haré más», prometió.
Su mujer se echó a reír.
Lo mismo dices siempre.
En la plaza había un perro negro.
Nadie sabía de quién era.
Lo llamamos Moro.
Él movió la cola.
¡Ven aquí!
No vino.
El alcalde habló durante dos horas.
La gente se dormía de pie.
¿De qué hablaba?
De impuestos, de agua y de obras.
Al final prometió un puente nuevo.
Costará 3,5 millones de euros.
Eso dijo también en 2010.
El Sr. Ortega tomó nota de todo.
La Dra. Pérez no estaba de acuerdo.
Se lo dijo a la cara.
Hubo un silencio.
Luego aplaudieron los de atrás.
El puente se hará.
¿Pero cuándo?
Quizá en el 2030.
Mi abuelo no lo verá.
Él nació en 1938.
Todavía camina solo.
Va al bar, toma un vino y vuelve.
A veces juega a las cartas con don Luis.
Gana casi siempre.
Don Luis no se enfada.
Le da igual.
Lo importante es estar con alguien.
Así pasan los días de invierno.
En verano es distinto.
Llegan los nietos de Madrid.
Gritan, corren, rompen cosas.
La abuela hace tortillas para diez.
¡Qué bien huele!
Hasta los vecinos se asoman.
Uno de ellos trae un melón.
Otro trae su guitarra.
Cantamos hasta la una.
Después recogemos las mesas.
Clara lava los platos y yo los seco.
Me cuenta cosas del trabajo.
Su jefe es un hombre difícil.
Nunca da las gracias.
Ella quiere irse.
Ha escrito a una empresa de Bilbao.
Le contestaron ayer.
La entrevista es el lunes.
Está nerviosa, claro.
Yo también lo estaría.
Le doy un abrazo.
Todo saldrá bien.
El lunes la llevo a la estación.
El tren sale con retraso.
Esperamos en la cafetería.
Pido un café con leche.
Ella pide agua.
Hablamos poco.
Por fin anuncian su tren.
¡Suerte!
Me manda un mensaje a las doce.
Dice que fue fácil.
Le preguntaron por sus estudios, sus viajes, etc.
Ahora hay que esperar.
Yo esperaré con ella.
Mientras tanto arreglo la bici.
La rueda de atrás pierde aire.
No encuentro el agujero.
La meto en agua.
Salen burbujas.
Ahí está.
Pongo un parche y listo.
Salgo a probarla.
El camino baja hasta el río.
Hay patos en la orilla.
Un niño les tira pan.
Su madre lo mira desde un banco.
Lee una novela de mar.
De pronto empieza a llover.
Corremos todos bajo el puente viejo.
Somos siete y un perro.
Es Moro.
Ya tiene dueño.
Se llama Andrés y es cartero.
Me pregunta dónde vivo.
En la calle Mayor, n.º 12.
Entonces somos vecinos.
La lluvia no para.
Contamos chistes malos.
El niño se ríe mucho.
A mí me hace reír él.
Al cabo de media hora sale el sol.
Cada uno sigue su camino.
La tierra huele a limpio.
En casa me espera una carta.
Es del banco.
No la abro.
Prefiero cenar tranquilo.
Hay sopa de ayer y un poco de queso.
Pongo la radio.
Dan las noticias de las nueve.
Ha ganado el equipo de siempre.
El otro perdió por dos a cero.
Apago y leo un rato.
El libro es de mi padre.
En la primera página hay una fecha.
Mayo de 1975.
Yo tenía entonces tres años.
No me acuerdo de nada.
Mi madre sí.
Ella se acuerda de todo.
La llamo por teléfono.
Está viendo una película.
Me pide que la llame mañana.
Vale, mamá.
Me quedo mirando por la ventana.
Pasa un coche sin luces.
Pasa un gato.
Luego no pasa nadie.
Pienso en Clara.
Quizá ya esté dormida.
El reloj da las once.
Es hora de acostarse.
Sueño con un puente muy largo.
Empieza en mi casa y acaba en el mar.
Por él camina mi abuelo.
Va solo y silba.
Me saluda con la mano.
Yo le grito que espere.
No me oye.
Entonces suena el despertador.
Son las siete y diez.
Clara ha escrito.
La han cogido.
¡Lo sabía!
Empieza el 1 de marzo.
Eso es dentro de seis días.
Hay que buscar un piso.
Su prima tiene uno cerca del puerto.
No es caro.
El ascensor no funciona, pero da igual.
Tiene vistas al agua.
Iremos a verlo el sábado.""",
    "it": """Ieri siamo andati al mare.
Anna non voleva nuotare.
Io ho detto di sì.
Lei ha detto di no.
Marco ha portato il pane e il vino.
Chi ne vuole ancora?
Nessuno ha risposto.
Che giornata lunga!
Il treno parte alle 8.30.
Paolo era solo.
Ci ha guardati ed è andato via.
Era già tardi, lo so, ma va.
Mia sorella abita in quella via.
Il libro parla di un re.
Suo figlio non torna mai.
Non me lo dire, so già chi sei tu.
Il sig. Verdi ha aperto la porta.
Il dott. Neri aspettava dentro.
C'era pane, formaggio, frutta ecc.
Poi abbiamo mangiato in giardino.
Luca è arrivato due ore fa.
I bambini giocavano a palla.
«Non capisco niente», disse Marta.
Suo padre rise e poi tacque, come si fa.
La busta era vuota.
Quanti anni hai?
Ne ho tre più di te.
Carla non lo sa.
Tutti lo dicono da un po'.
È successo l'anno scorso.
Lui lavora per la NATO.
Lei lavora per la FIAT.
Sono le tre.
Abbiamo visto il gas uscire dal bar.
Ci siamo fermati al bar.
Il gatto è sul letto.
Domani è un altro dì.
Vengono da est.
Il sole sorge lì.
Le case sono a sud.
Gli amici sono qui.
Mi piace il tè.
A Rosa piace il caffè.
Vieni con noi?
Sì, ora vengo.
Ha smesso nel 2014.
2015 è stato migliore.
Che bello!
Lo dico io e lo dici tu.
Buona notte.
Stamattina faceva molto freddo.
Il fornaio ha aperto alle sei.
Ha venduto tutto il pane in un'ora.
«Domani ne faccio di più», ha promesso.
Sua moglie si è messa a ridere.
Dici sempre la stessa cosa.
In piazza c'era un cane nero.
Nessuno sapeva di chi fosse.
Lo abbiamo chiamato Moro.
Lui ha mosso la coda.
Vieni qui!
Non è venuto.
Il sindaco ha parlato per due ore.
La gente dormiva in piedi.
Di che cosa parlava?
Di tasse, di acqua e di strade.
Alla fine ha promesso un ponte nuovo.
Costerà 3,5 milioni di euro.
Lo aveva detto anche nel 2010.
Il sig. Conti prendeva appunti.
La dott.ssa Riva non era d'accordo.
Glielo ha detto in faccia.
C'è stato un silenzio.
Poi quelli in fondo hanno applaudito.
Il ponte si farà.
Ma quando?
Forse nel 2030.
Mio nonno non lo vedrà.
È nato nel 1938.
Cammina ancora da solo.
Va al bar, beve un bicchiere e torna.
A volte gioca a carte con don Luigi.
Vince quasi sempre.
Don Luigi non si arrabbia.
Per lui è uguale.
L'importante è stare con qualcuno.
Così passano i giorni d'inverno.
D'estate è diverso.
Arrivano i nipoti da Milano.
Gridano, corrono, rompono le cose.
La nonna cucina per dieci.
Che buon profumo!
Anche i vicini si affacciano.
Uno porta un melone.
Un altro porta la chitarra.
Cantiamo fino all'una.
Poi sparecchiamo.
Chiara lava i piatti e io li asciugo.
Mi racconta del lavoro.
Il suo capo è un uomo difficile.
Non dice mai grazie.
Lei vuole andarsene.
Ha scritto a una ditta di Torino.
Le hanno risposto ieri.
Il colloquio è lunedì.
È nervosa, certo.
Lo sarei anch'io.
L'abbraccio.
Andrà tutto bene.
Lunedì la porto alla stazione.
Il treno è in ritardo.
Aspettiamo al bar.
Prendo un caffè.
Lei prende dell'acqua.
Parliamo poco.
Finalmente annunciano il treno.
In bocca al lupo!
Mi scrive a mezzogiorno.
Dice che è stato facile.
Le hanno chiesto degli studi, dei viaggi ecc.
Ora bisogna aspettare.
Aspetterò con lei.
Intanto aggiusto la bici.
La ruota dietro perde aria.
Non trovo il buco.
La metto nell'acqua.
Escono delle bolle.
Eccolo.
Metto una toppa ed è fatta.
Esco a provarla.
La strada scende fino al fiume.
Ci sono anatre sulla riva.
Un bambino butta loro del pane.
La madre lo guarda da una panchina.
Legge un romanzo di mare.
All'improvviso comincia a piovere.
Corriamo tutti sotto il vecchio ponte.
Siamo in sette più un cane.
È Moro.
Adesso ha un padrone.
Si chiama Andrea e fa il postino.
Mi chiede dove abito.
In via Roma, n. 12.
Allora siamo vicini.
La pioggia non smette.
Raccontiamo barzellette.
Il bambino ride molto.
Lui fa ridere me.
Dopo mezz'ora esce il sole.
Ognuno va per la sua strada.
La terra profuma.
A casa mi aspetta una lettera.
È della banca.
Non la apro.
Preferisco cenare tranquillo.
C'è la minestra di ieri e un po' di formaggio.
Accendo la radio.
Danno le notizie delle nove.
Ha vinto la solita squadra.
L'altra ha perso due a zero.
Spengo e leggo un po'.
Il libro è di mio padre.
Sulla prima pagina c'è una data.
Maggio 1975.
Io avevo tre anni.
Non ricordo niente.
Mia madre sì.
Lei ricorda tutto.
La chiamo al telefono.
Sta guardando un film.
Mi chiede di richiamare domani.
Va bene, mamma.
Resto a guardare dalla finestra.
Passa una macchina senza luci.
Passa un gatto.
Poi non passa nessuno.
Penso a Chiara.
Forse dorme già.
L'orologio batte le undici.
È ora di andare a letto.
Sogno un ponte lunghissimo.
Comincia a casa mia e finisce al mare.
Ci cammina mio nonno.
È solo e fischia.
Mi saluta con la mano.
Gli grido di aspettare.
Non mi sente.
Allora suona la sveglia.
Sono le sette e dieci.
Chiara ha scritto.
L'hanno presa.
Lo sapevo!
Comincia il 1 marzo.
Mancano sei giorni.
Bisogna cercare una casa.
Sua cugina ne ha una vicino al porto.
Non è cara.
L'ascensore non funziona, ma fa lo stesso.
Si vede il mare.
Andiamo a vederla sabato.""",
    "nl": """Gisteren gingen we naar zee.
Anna wilde niet mee.
Ik zei van wel.
Zij zei nee en keek naar me.
Jan bracht brood en wijn mee.
Wie wil er nog?
Niemand zei wat.
Wat een lange dag!
De trein vertrekt om 8.30 uur.
Piet stond daar al.
Hij keek ons aan en liep ver.
Het was al laat.
Mijn zus woont in Gent.
Het boek gaat over een wet.
Zijn zoon wist dat.
Zeg het me.
Ik weet het al.
Dhr. De Wit deed de deur open.
Dr. Smit wachtte binnen.
Er was brood, kaas, fruit enz.
Daarna aten we in de tuin.
Kees kwam met de fiets.
De kinderen speelden met de bal.
"Ik snap het niet," zei Marta.
Haar vader lachte.
De doos was leeg.
De fles was nog vol.
Eva schonk de glazen in.
De vloer was nat.
Wij droogden hem.
Dit brood is het best.
Het gras is groen.
Hij gaf haar een hand.
Ria zag een hert.
Nu wacht hij bij de bank.
Zij neemt een pen.
Het hek staat open tot op.
Alles in de mand.
De bel ging, maar ik hoorde geen bel.
Wie was daar?
Het was een os.
De verf is rood, of red.
Om drie uur is er thee.
De melk is vers.
Rosa houdt van koffie.
Kom je mee?
Ja, ik kom.
Hij stopte in 2014.
2015 was beter.
Goede nacht.
Vanmorgen was het erg koud.
De bakker ging om zes uur open.
In een uur was al het brood verkocht.
‘Morgen bak ik meer’, beloofde hij.
Zijn vrouw moest lachen.
Dat zeg je altijd.
Op het plein liep een zwarte hond.
Niemand wist van wie hij was.
We noemden hem Moor.
Hij kwispelde.
Kom hier!
Hij kwam niet.
De burgemeester sprak twee uur lang.
De mensen sliepen bijna.
Waar ging het over?
Over belasting, water en wegen.
Aan het eind beloofde hij een nieuwe brug.
Die kost 3,5 miljoen euro.
Dat zei hij in 2010 ook al.
Dhr. De Wit schreef alles op.
Mevr. Bakker was het er niet mee eens.
Ze zei het recht in zijn gezicht.
Het werd stil.
Toen klapten de mensen achterin.
De brug komt er.
Maar wanneer?
Misschien in 2030.
Mijn opa maakt het niet meer mee.
Hij is van 1938.
Hij loopt nog zonder stok.
Hij gaat naar het café, drinkt een biertje en komt terug.
Soms kaart hij met oom Piet.
Hij wint bijna altijd.
Oom Piet wordt niet boos.
Het maakt hem niets uit.
Samen zijn is het belangrijkste.
Zo gaan de winterdagen voorbij.
In de zomer is het anders.
Dan komen de kleinkinderen uit Utrecht.
Ze schreeuwen, rennen en maken alles stuk.
Oma kookt voor tien.
Wat ruikt dat lekker!
Zelfs de buren komen kijken.
De een brengt een meloen mee.
De ander brengt zijn gitaar mee.
We zingen tot een uur of een.
Daarna ruimen we op.
Anneke wast af en ik droog.
Ze vertelt over haar werk.
Haar baas is een lastige man.
Hij zegt nooit dank je.
Zij wil weg.
Ze heeft een bedrijf in Gent geschreven.
Gisteren kreeg ze antwoord.
Het gesprek is maandag.
Ze is zenuwachtig, dat wel.
Dat zou ik ook zijn.
Ik sla een arm om haar heen.
Het komt goed.
Maandag breng ik haar naar het station.
De trein is te laat.
We wachten in het café.
Ik neem koffie.
Zij neemt water.
We praten weinig.
Eindelijk komt haar trein.
Succes!
Om twaalf uur stuurt ze een bericht.
Het was makkelijk, schrijft ze.
Ze vroegen naar haar studie, haar reizen enz.
Nu is het wachten.
Ik wacht met haar.
Intussen maak ik mijn fiets.
De achterband loopt leeg.
Ik vind het gat niet.
Ik houd hem in het water.
Er komen belletjes.
Daar zit het.
Een plakker erop en klaar.
Ik ga een stukje rijden.
De weg loopt naar de rivier.
Er zwemmen eenden langs de kant.
Een jongen gooit brood.
Zijn moeder kijkt toe op een bank.
Ze leest een boek over de zee.
Opeens begint het te regenen.
We rennen allemaal onder de oude brug.
We zijn met zeven mensen en een hond.
Het is Moor.
Hij heeft nu een baas.
Die heet Andries en is postbode.
Hij vraagt waar ik woon.
In de Kerkstraat, nr. 12.
Dan zijn we buren.
De regen houdt niet op.
We vertellen moppen.
De jongen lacht hard.
Ik moet om hem lachen.
Na een half uur komt de zon.
Ieder gaat zijn eigen weg.
De aarde ruikt fris.
Thuis ligt een brief.
Hij is van de bank.
Ik maak hem niet open.
Ik eet liever rustig.
Er is soep van gisteren en wat kaas.
Ik zet de radio aan.
Het nieuws van negen uur begint.
Dezelfde club heeft weer gewonnen.
De andere verloor met twee tegen nul.
Ik zet hem uit en lees wat.
Het boek is van mijn vader.
Voorin staat een datum.
Mei 1975.
Ik was toen drie.
Ik weet er niets meer van.
Mijn moeder wel.
Zij weet alles nog.
Ik bel haar op.
Ze kijkt een film.
Ze vraagt of ik morgen bel.
Goed, mam.
Ik blijf voor het raam staan.
Er rijdt een auto zonder licht.
Er loopt een kat.
Dan komt er niemand meer.
Ik denk aan Anneke.
Misschien slaapt ze al.
De klok slaat elf.
Het is bedtijd.
Ik droom van een lange brug.
Hij begint bij mijn huis en eindigt bij de zee.
Mijn opa loopt erover.
Hij is alleen en fluit.
Hij zwaait naar me.
Ik roep dat hij moet wachten.
Hij hoort me niet.
Dan gaat de wekker.
Het is tien over zeven.
Anneke heeft geschreven.
Ze hebben haar genomen.
Ik wist het!
Ze begint op 1 maart.
Dat is over zes dagen.
Nu nog een huis.
Haar nicht heeft er een bij de haven.
Het is niet duur.
De lift is stuk, maar dat geeft niet.
Je ziet het water.
Zaterdag gaan we kijken.""",
}
