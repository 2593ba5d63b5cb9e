// The charts of all runs over one axis. All charts share the cursor and the visible part.

import { Chart } from "./chart.js";
import { choice } from "./controls.js";
import { make } from "./dom.js";
import { clock, figure, fixed, percent, short, whole } from "./words.js";

const KNOWN = [
    { title: "Loss", unit: "nats a token, without label smoothing", logs: true,
        lines: [["train/nll", "training"], ["valid/loss", "validation"]], show: { value: fixed(3), tick: figure } },
    { title: "BLEU", unit: "of the validation text", lines: [["valid/bleu", ""]], show: { value: fixed(1), tick: figure } },
    { title: "chrF", unit: "of the validation text", lines: [["valid/chrf", ""]], show: { value: fixed(1), tick: figure } },
    { title: "Learning rate", unit: "", lines: [["train/learning_rate", ""]], show: { value: figure, tick: figure } },
    { title: "Speed", unit: "target tokens a second", lines: [["train/tokens_per_second", ""]], show: { value: whole, tick: short } },
    { title: "Padding", unit: "part of the positions without a token", lines: [["train/padding", ""]], show: { value: percent, tick: percent } },
    { title: "Gradient norm", unit: "before clipping", logs: true, lines: [["train/gradient_norm", ""]], show: { value: figure, tick: figure } },
];
const NAMES = new Set(KNOWN.flatMap(({ lines }) => lines.map(([name]) => name)));
const PAIRS = [["loss", "Loss", "nats a token", 3], ["bleu", "BLEU", "of the validation text", 1], ["chrf", "chrF", "of the validation text", 1]];
const OF_PAIR = /^valid\/(.+)\/(loss|bleu|chrf)$/;
const AXES = {
    step: { name: "update", show: whole, tick: short, time: false },
    seconds: { name: "time", show: clock, tick: clock, time: true },
};

export function curvesView(store) {
    const charts = new Map();
    const grid = make("div", { class: "charts" });
    const all = make("button", { type: "button", class: "raised", hidden: true, onclick: () => asks.all() }, "Show all");
    const asks = {
        cursor: (place) => charts.forEach((chart) => chart.cursor(place)),
        zoom: (range) => {
            const [low, high] = ends(store);
            const inside = [Math.max(range[0], low), Math.min(range[1], high)];
            if (inside[0] <= low && inside[1] >= high) asks.all();
            else if (inside[1] > inside[0]) store.zoom(store.axis, inside);
        },
        all: () => store.zoom(store.axis, null),
    };
    let log = false;
    const controls = make("div", { class: "controls" },
        choice("Axis", [{ value: "step", text: "Updates" }, { value: "seconds", text: "Time" }], store.axis,
            (axis) => store.zoom(axis, null)),
        choice("Loss and gradient", [{ value: false, text: "Linear" }, { value: true, text: "Logarithmic" }], log, (value) => {
            log = value;
            update();
        }),
        all);
    const keys = make("p", { class: "hint" },
        "Drag over a chart to see a part, or use the arrow keys, + and - in it. Training is drawn fainter than validation.");
    const nothing = make("p", {}, "No measurements yet. They appear here when training writes them.");

    function update() {
        const runs = store.runs.filter(({ shown }) => shown);
        const [low, high] = store.range ?? ends(store);
        const axis = { ...AXES[store.axis], low, high };
        all.hidden = !store.range;
        let any = false;
        const kinds = [...KNOWN.slice(0, 3), ...pairs(store.runs), ...KNOWN.slice(3), ...others(store.runs)];
        for (const kind of kinds) {
            const lines = runs.flatMap((run) => kind.lines.map(([name, what], i) => ({
                name: [store.runs.length > 1 && run.summary.label, what].filter(Boolean).join(" ") || kind.title,
                hue: kind.pairs ? run.index * kind.lines.length + i : run.index,
                faint: !kind.pairs && kind.lines.length > 1 && i === 0, points: store.points(run, name),
            }))).filter(({ points }) => points.length);
            any ||= lines.length > 0;
            if (!charts.has(kind.title)) {
                if (!lines.length) continue;
                charts.set(kind.title, new Chart(kind, asks));
                const order = kinds.map(({ title }) => charts.get(title)?.element);
                grid.replaceChildren(...order.filter(Boolean));
            }
            const chart = charts.get(kind.title);
            chart.element.hidden = !lines.length;
            chart.set(lines, axis, log && kind.logs);
        }
        nothing.hidden = any;
        controls.hidden = keys.hidden = !any;
    }

    for (const what of ["news", "zoom", "shown"]) store.addEventListener(what, update);
    return [controls, grid, nothing, keys];
}

/** The ends of the axis. */
function ends(store) {
    const at = store.axis === "step" ? 0 : 1;
    const curves = store.runs.filter(({ shown }) => shown).flatMap(({ curves }) => Object.values(curves));
    const lasts = curves.filter((curve) => curve.length).map((curve) => curve[curve.length - 1][at]);
    return [0, Math.max(...lasts, 1)];
}

/** Charts of a validation of several pairs of languages: a line for each pair. */
function pairs(runs) {
    const found = [...new Set(runs.flatMap(({ curves }) => Object.keys(curves)).map((name) => OF_PAIR.exec(name)?.[1]))];
    return PAIRS.map(([name, title, unit, digits]) => ({
        title: `${title} by pair`, unit, pairs: true, logs: name === "loss", show: { value: fixed(digits), tick: figure },
        lines: found.filter(Boolean).sort().map((pair) => [`valid/${pair}/${name}`, pair]),
    }));
}

/** Charts of measurements that this version does not know, such as the memory that another one records. */
function others(runs) {
    const names = new Set(runs.flatMap(({ curves }) => Object.keys(curves)).filter((name) => !NAMES.has(name) && !OF_PAIR.test(name)));
    return [...names].sort().map((name) => ({
        title: capital(name.replace(/^train\//, "").replaceAll("_", " ")), unit: "", lines: [[name, ""]],
        show: { value: figure, tick: figure },
    }));
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
