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
Buenas noches.""",
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
Buona notte.""",
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
Goede nacht.""",
}
