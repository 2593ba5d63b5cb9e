// Both sides of the documents beside each other, to check and correct the pairs. Nothing leaves the page but downloads.

import { by, make } from "./dom.js";
import { canMerge, canSplit, isPair, keptPairs, merged, rowsOf, split, toggled, toTmx, toTsv, unpaired } from "./beads.js";

const TOGETHER = 100; // rows that are shown at first, and more each time

const data = JSON.parse(by("data").textContent);
const { documents, languages } = data;
let rows = rowsOf(data);
let before = []; // the rows before each change
let shown = TOGETHER;
let order = "doubtful";

const count = make("p", { class: "what", role: "status" });
const list = make("ol", { class: "rows", "aria-label": "Pairs" });
const more = make("button", { type: "button", class: "more", onclick: () => { shown += TOGETHER; draw(); } }, "Show more");
const undo = make("button", { type: "button", onclick: () => { rows = before.pop(); draw(); } }, "Undo");

by("pairs").append(
    make("header", {}, make("div", {}, make("h1", {}, "Sentence pairs"), count)),
    make("div", { class: "tools" },
        make("label", { class: "control" }, make("span", {}, "Order"), make("select", {
            onchange({ target }) {
                order = target.value;
                shown = TOGETHER;
                draw();
            },
        }, make("option", { value: "doubtful" }, "Doubtful pairs first"), make("option", { value: "document" }, "As in the documents"))),
        make("div", { class: "together" }, undo, save("tsv", () => toTsv(keptPairs(rows, data))),
            save("tmx", () => toTmx(keptPairs(rows, data), languages)))),
    list, more);
draw();

/** A button that downloads the pairs that are kept. */
function save(kind, content) {
    return make("button", {
        type: "button",
        class: "strong",
        onclick() {
            const link = make("a", { href: URL.createObjectURL(new Blob([content()])), download: `pairs.${languages.join("-")}.${kind}` });
            link.click();
            setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
        },
    }, `Save .${kind}`);
}

/** Show the rows in their order, and put the focus back on row `at`. */
function draw(at) {
    const numbers = rows.map((_, number) => number);
    // Rows that a person made stay where they were: they count as what they come from.
    if (order === "doubtful") numbers.sort((a, b) => rank(rows[a]) - rank(rows[b]) || a - b);
    list.replaceChildren(...numbers.slice(0, shown).map(item));
    more.hidden = numbers.length <= shown;
    undo.disabled = before.length === 0;
    const kept = rows.filter((row) => row.kept).length;
    count.textContent = `${kept.toLocaleString("en")} of ${rows.filter(isPair).length.toLocaleString("en")} pairs kept, `
        + `${rows.filter((row) => !isPair(row)).length.toLocaleString("en")} rows without a partner`;
    if (at !== undefined) list.querySelector(`[data-row="${at}"]`)?.focus();
}

function rank(row) {
    return row.rank ?? row.sure ?? 1;
}

function change(make, at) {
    const next = make(rows, at);
    const known = new Set(rows);
    before.push(rows);
    rows = next.map((row) => (known.has(row) ? row : { ...row, rank: rank(rows[at]) }));
    draw(at);
}

function item(at) {
    const row = rows[at];
    const act = (name, step) => make("button", { type: "button", "aria-label": `${name}, row ${at + 1}`, onclick: () => change(step, at) }, name);
    const tick = make("input", { type: "checkbox", "aria-label": `Keep, row ${at + 1}`, onchange: () => change(toggled, at) });
    tick.checked = row.kept;
    return make("li", { class: `row${isPair(row) && !row.kept ? " out" : ""}`, tabindex: -1, "data-row": at },
        make("div", { class: `sure${row.sure !== null && row.sure < 0.5 ? " low" : ""}` }, sureness(row)),
        side(row, "source", 0), side(row, "target", 1),
        make("div", { class: "acts" },
            isPair(row) && make("label", {}, tick, "Keep"),
            canMerge(rows, at) && act("Merge with next", merged),
            canSplit(row) && act("Split", split),
            isPair(row) && act("Unpair", unpaired)));
}

function sureness(row) {
    const file = documents.length > 1 && make("small", {}, documents[row.document].name);
    if (row.sure === null) return [isPair(row) ? "yours" : "no partner", file];
    const part = Math.round(row.sure * 100);
    return [`${part} %`, make("span", { class: "level", "aria-hidden": "true" }, make("span", { style: { "--part": row.sure } })),
        row.moved && make("small", {}, "elsewhere"), file];
}

function side(row, name, number) {
    const texts = row[name].map((at) => documents[row.document][name][at]);
    return make("div", { class: "side", lang: languages[number], dir: "auto" },
        texts.length ? texts.map((text) => make("p", {}, text)) : make("p", { class: "none", lang: "en" }, "nothing"));
}
