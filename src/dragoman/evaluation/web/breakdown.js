// The score of each system on each kind of line.

import { controls, hint } from "../../inspection/views/page/controls.js";
import { make, scrolling } from "./dom.js";
import { kindsOf, waysOf } from "./kinds.js";
import { MEASURES, scoreOf } from "./measures.js";

const MOST = 200; // rows of the table: a text may have thousands of documents

/** A menu with a label. `options` are [value, text]. */
export function menu(label, options, change) {
    const select = make("select", { onchange: () => change(select.value) },
        options.map(([value, text]) => make("option", { value }, text)));
    return make("label", { class: "control" }, make("span", {}, label), select);
}

export function measuresOf(systems) {
    const names = Object.entries(MEASURES).map(([key, { name }]) => [key, name]);
    return systems.every((one) => one.comet) ? [...names, ["comet", "COMET"]] : names;
}

/** The score of some lines of a system: sacreBLEU's, or the mean of COMET's. */
export function together(system, measure, lines) {
    if (measure !== "comet") return scoreOf(measure, system.rows, lines);
    return lines.reduce((sum, line) => sum + system.comet[line], 0) / lines.length;
}

/** `only` shows the lines of a kind. */
export function kindsTable(data, only) {
    const { systems, sources } = data;
    const ways = waysOf(data);
    const state = { way: "length", measure: "chrf" };
    const box = scrolling("Scores by kind of line");
    const more = hint();
    const fill = () => {
        const kinds = kindsOf(ways[state.way], sources.length);
        const lower = MEASURES[state.measure]?.lower;
        const rows = kinds.slice(0, MOST).map(({ name, lines }) => {
            const scores = systems.map((one) => together(one, state.measure, lines));
            const best = lower ? Math.min(...scores) : Math.max(...scores);
            return make("tr", {},
                make("th", { scope: "row" }, make("button", { type: "button", class: "link", dir: "auto",
                    onclick: () => only(`${ways[state.way].name}: ${name}`, lines) }, name)),
                make("td", {}, lines.length.toLocaleString("en")),
                scores.map((score) => make("td", { class: systems.length > 1 && score === best ? "best" : null },
                    make("span", { class: "meter", style: { "--part": Math.min(score, 100) / 100 } }, score.toFixed(2)))));
        });
        box.replaceChildren(make("table", { class: "kinds" },
            make("caption", { class: "unseen" }, `Scores by ${ways[state.way].name.toLowerCase()}`),
            make("thead", {}, make("tr", {}, make("th", { scope: "col" }, ways[state.way].name),
                make("th", { scope: "col" }, "Lines"), systems.map((one) => make("th", { scope: "col", dir: "auto" }, one.name)))),
            make("tbody", {}, rows)));
        more.textContent = kinds.length > MOST ? `The first ${MOST} of ${kinds.length.toLocaleString("en")}.` : "";
    };
    const set = (name) => (value) => {
        state[name] = value;
        fill();
    };
    const measure = menu("Measure", measuresOf(systems), set("measure"));
    measure.querySelector("select").value = state.measure;
    fill();
    return make("div", {}, controls(menu("By", Object.entries(ways).map(([key, { name }]) => [key, name]), set("way")), measure),
        box, more, hint("A kind opens its lines below. The scores are of its lines together."));
}
