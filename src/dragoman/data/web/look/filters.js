// The filters: what each would drop at a limit, and the limits as rules to copy.

import { slider, tick } from "../../../inspection/views/page/controls.js";
import { chart, drawable, numbers, shown } from "./chart.js";
import { make } from "./dom.js";
import { examples, percent, whole } from "./text.js";

const AROUND = 4; // examples on each side of a limit

/** The section. `columns` puts the panels of several texts beside each other. */
export function filters(looks, columns) {
    const names = Object.keys(looks[0].filters);
    if (!names.length) return null;
    const chosen = new Map(); // name -> limit; undefined is off
    const rules = make("textarea", { readonly: true, rows: names.length + 1, "aria-label": "Rules", spellcheck: "false" });
    const total = make("p", { class: "total", role: "status" });
    const update = () => {
        rules.value = `[filters]\n${names.map((name) => `${name} = ${written(chosen.get(name))}\n`).join("")}`;
        total.textContent = looks.map((look, i) => `${looks.length > 1 ? `${"AB"[i]}: ` : ""}${together(look, chosen)}`).join(" ");
    };
    const cards = names.map((name) => card(looks, columns, name, (limit) => {
        chosen.set(name, limit);
        update();
    }));
    const copy = make("button", { type: "button", class: "copy", onclick() {
        rules.select();
        document.execCommand("copy"); // also where a page from disk may not use the clipboard
        copy.textContent = "Copied";
        setTimeout(() => (copy.textContent = "Copy"), 1500);
    } }, "Copy");
    return make("section", { id: "filters", "aria-labelledby": "filters-title" },
        make("h2", { id: "filters-title" }, "Filters"),
        make("p", { class: "hint" }, "What dragoman data clean would drop: pairs whose measure is above the limit. ",
            "Bars are on a logarithmic scale."),
        make("div", { class: "measures" }, cards), total,
        make("h3", {}, "The chosen limits"),
        make("p", { class: "hint" }, "Save them as rules.toml for ", make("code", {}, "dragoman data clean --rules rules.toml"), "."),
        rules, copy);
}

const written = (limit) => (limit === undefined || limit === Infinity ? "false" : String(limit));

/** How many pairs all limits drop together, by the sample. */
function together(look, chosen) {
    const { pairs } = look.sample;
    const places = Object.values(look.filters).map(({ sample }) => sample);
    const above = Object.entries(look.filters).map(([name, { edges }]) => {
        const limit = chosen.get(name);
        const first = limit === undefined ? -1 : numbers(edges).findIndex((edge) => edge > limit);
        return first < 0 ? Infinity : first;
    });
    let dropped = 0;
    for (let i = 0; i < pairs; i++) dropped += above.some((first, f) => places[f][i] >= first);
    const basis = pairs < look.pairs ? `about ${percent(dropped, pairs)} of the pairs, by a sample of ${whole(pairs)}`
        : `${whole(dropped)} of ${whole(pairs)} pairs (${percent(dropped, pairs)})`;
    return `All limits together drop ${basis}.`;
}

/** One filter: its slider, and its histogram and examples for each text. `change` gets the limit. */
function card(looks, columns, name, change) {
    const { about, limit } = looks[0].filters[name];
    const own = looks.map((look) => drawable(look.filters[name]));
    const stops = [...new Set([...own.flatMap(({ edges }) => numbers(edges)), limit ?? 0])].sort((a, b) => a - b);
    const bars = own.map((filter) => chart(filter, `${name}: ${whole(filter.counts.length)} bars`, true));
    const lists = looks.map(() => make("div", { class: "around" }));
    let on = limit !== null;
    let at = limit ?? stops.at(-1);
    const show = () => {
        bars.forEach((one) => one.mark((edge) => on && edge > at));
        lists.forEach((list, i) => list.replaceChildren(...around(looks[i], own[i], on, at)));
        change(on ? at : undefined);
    };
    const control = slider({ label: "limit", values: stops, value: at, show: shown, change(to) {
        at = to;
        show();
    } });
    control.element.querySelector("input").setAttribute("aria-label", `limit of ${name}`);
    const box = tick({ label: "on", value: on, change(to) {
        on = to;
        show();
    } });
    box.querySelector("input").setAttribute("aria-label", `${name} on`);
    show();
    return make("section", { class: "measure", "data-filter": name }, make("h3", {}, name), make("p", { class: "hint" }, about),
        make("div", { class: "controls" }, control.element, box),
        columns(bars.map((one, i) => make("div", {}, one.element, lists[i]))));
}

/** The count of what a limit drops, and pairs just above and just below it. */
function around(look, { edges, counts, examples: kept }, on, limit) {
    const at = numbers(edges);
    const all = counts.reduce((sum, count) => sum + count, 0);
    const dropped = on ? counts.reduce((sum, count, i) => sum + (at[i] > limit ? count : 0), 0) : 0;
    const of = all < look.pairs ? ` of a sample of ${whole(all)}` : "";
    const above = at.flatMap((edge, i) => (on && edge > limit ? kept[i] : [])).slice(0, AROUND);
    const below = at.flatMap((edge, i) => (!on || edge <= limit ? kept[i] : [])).slice(-AROUND);
    return [
        make("p", { class: "drops" }, make("b", {}, `drops ${whole(dropped)}`), ` (${percent(dropped, all)}${of})`),
        above.length > 0 && [make("h4", {}, "The next that it drops"), examples(look, above)],
        below.length > 0 && make("details", {}, make("summary", {}, "The last that it keeps"), examples(look, below.reverse())),
    ].flat().filter(Boolean);
}
