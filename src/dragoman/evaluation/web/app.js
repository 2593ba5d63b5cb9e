// The error page: the scores, where the systems go wrong, and the lines.

import { schemeButton } from "../../inspection/views/page/colour.js";
import { paragraph } from "../../inspection/views/page/controls.js";
import { unpacked } from "../../translation/native/web/packed.js";
import { make } from "./dom.js";
import { kindsTable } from "./breakdown.js";
import { rarest } from "./kinds.js";
import { lineList } from "./lines.js";
import { scoresOf } from "./measures.js";
import { scoreTable } from "./scores.js";

async function open() {
    const app = document.getElementById("app");
    try {
        const data = JSON.parse(document.getElementById("data").textContent);
        for (const [i, system] of data.systems.entries()) {
            const bytes = await unpacked(`statistics-${i}`);
            system.rows = new Float64Array(bytes.buffer, bytes.byteOffset, bytes.length / 8);
            system.scores = new Map();
        }
        data.rare = rarest(data.sources);
        lay(app, data);
    } catch (error) {
        app.replaceChildren(paragraph(`This page could not be shown: ${error.message}`));
        throw error;
    }
}

/** The score of each line of a system, computed when it is first wanted. */
function lineScores(system, measure) {
    if (measure === "comet") return system.comet;
    if (!system.scores.has(measure)) system.scores.set(measure, scoresOf(measure, system.rows));
    return system.scores.get(measure);
}

function lay(app, data) {
    const lines = lineList(data, lineScores);
    const [source, target] = data.languages;
    const way = source && target ? `${source} to ${target}, ` : "";
    const about = `${way}${data.sources.length.toLocaleString("en")} lines`;
    app.replaceChildren(
        make("header", {},
            make("div", {}, make("h1", {}, "Errors in translation"), make("p", { class: "what" }, about)),
            schemeButton()),
        make("section", { "aria-labelledby": "scores" }, make("h2", { id: "scores" }, "Scores"), scoreTable(data)),
        make("section", { "aria-labelledby": "kinds" }, make("h2", { id: "kinds" }, "Kinds of lines"),
            kindsTable(data, lines.only)),
        make("section", { "aria-labelledby": "lines" }, make("h2", { id: "lines", tabindex: -1 }, "Lines"), lines.element),
    );
}

open();
