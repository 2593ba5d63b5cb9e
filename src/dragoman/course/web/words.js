// Chapter 1: from words to numbers.

import { number, word } from "./live.js";
import { norm } from "./model.js";
import { make } from "./dom.js";

/** The tokens of the sentence, each with its id and the length of its embedding. */
function tokens({ say }) {
    const body = make("tbody", {});
    const head = ["token", "id", "length"].map((key) => make("th", { scope: "col" }, say(`words.${key}`)));
    const table = make("table", {}, make("caption", {}, say("words.tokens")), make("thead", {}, make("tr", {}, head)), body);
    const update = (run) => {
        const ids = [...run.source.ids, 2];
        body.replaceChildren(...run.source.pieces.map((piece, i) => make("tr", {},
            make("th", { scope: "row" }, word(`words.piece.${i}`, piece)),
            make("td", {}, number(`words.id.${i}`, ids[i], 0)),
            make("td", {}, number(`words.length.${i}`, norm(run.rows("source.embedding")[i]))))));
    };
    return { element: make("div", { class: "scroll" }, table), update };
}

export const words = { "words.tokens": tokens };
