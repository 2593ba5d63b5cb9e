// The report: its header and its views, from the data in the file. The address ends with the name of the view.

import { schemeButton } from "./colour.js";
import { asCount, readReport } from "./data.js";
import { inLanguage, isolated, paragraph } from "./controls.js";
import { make } from "./dom.js";
import { viewsOf, watchPrinting } from "./views.js";

async function open() {
    const app = document.getElementById("app");
    try {
        const report = await readReport(JSON.parse(document.getElementById("data").textContent));
        lay(app, report);
    } catch (error) {
        app.replaceChildren(paragraph(`This report could not be shown: ${error.message}`));
        throw error;
    }
}

function lay(app, report) {
    const views = viewsOf(report, (name) => {
        if (location.hash !== `#${name}`) location.hash = name;
    });
    const named = () => views.names.find((name) => `#${name}` === location.hash);
    const panel = (name) => document.getElementById(`view-${name}`);
    app.replaceChildren(head(report), ...views.elements);
    views.show(named() ?? views.names[0]);

    addEventListener("hashchange", () => named() && panel(named()).hidden && views.show(named()));
    addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.altKey || event.metaKey) return;
        const name = views.names[Number(event.key) - 1];
        if (name) document.getElementById(`tab-${name}`).focus();
    });
    watchPrinting(views.buildAll);
}

function head({ traces, positions, difference }) {
    const shown = difference ? traces.slice(0, 1) : traces; // both runs are of one sentence and one model
    const named = ({ model }, i) => make("p", { class: "what" }, shown.length > 1 && make("b", {}, `${"AB"[i]} `),
        isolated(model.title), ` · ${asCount(model.parameters)} parameters`);
    const lines = shown.length ? shown.map(named) : make("p", { class: "what" }, positions?.kind ?? "sinusoidal");
    const long = shown.length === 1 && shown[0].source.text.length > 120;
    const title = make("h1", { class: long ? "long" : null }, titleOf(shown));
    return make("header", {}, make("div", {}, title, lines), schemeButton());
}

function titleOf([one, other]) {
    if (other) return "Two translations compared";
    if (!one) return "Positions in a Transformer";
    return make("span", inLanguage(one.source.language, one.source.text), one.source.text);
}

open();
