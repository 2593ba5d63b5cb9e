// Table 1 of "Attention Is All You Need", with its letters as sliders: operations of a layer, sequential
// operations and maximum path length.

import { asShort } from "./colour.js";
import { asCount, asWeight } from "./data.js";
import { barCell, beside, controls, figureTable, hint, numbers, paragraph, slider, table } from "./controls.js";
import { make, scrolling } from "./dom.js";
import { lineChart } from "./positions.js";

export const LAYERS = [
    {
        name: "self-attention",
        cost: ["n² · d", ({ n, d }) => n * n * d],
        steps: ["1", () => 1],
        path: ["1", () => 1],
    },
    {
        name: "recurrent",
        cost: ["n · d²", ({ n, d }) => n * d * d],
        steps: ["n", ({ n }) => n],
        path: ["n", ({ n }) => n],
    },
    {
        name: "convolutional",
        cost: ["k · n · d²", ({ n, d, k }) => k * n * d * d],
        steps: ["1", () => 1],
        path: ["log_k(n)", ({ n, k }) => Math.max(1, Math.log(n) / Math.log(k))],
    },
    {
        name: "self-attention, restricted",
        cost: ["r · n · d", ({ n, d, r }) => Math.min(r, n) * n * d], // at most n neighbours
        steps: ["1", () => 1],
        path: ["n / r", ({ n, r }) => Math.max(1, n / r)],
    },
];

export function complexityView({ traces, positions }) {
    const starts = traces.length ? traces.map((trace) => ({
        n: trace.source.tokens.length, d: trace.model.config.d_model ?? 512, k: 3, r: trace.model.config.window || 16,
    })) : [{ n: positions?.length ?? 50, d: positions?.width ?? 512, k: 3, r: 16 }];
    return [
        hint("Operations of one layer, up to a constant factor, as in the paper's table 1. Bars are logarithmic."),
        beside(traces, starts.map(complexityPanel)),
    ];
}

/** 1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, ... so that a slider spans many sizes; `own` is among them. */
function sizes(most, own, least = 1) {
    const rungs = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
    const all = [0, 1, 2, 3, 4].flatMap((power) => rungs.map((rung) => rung * 10 ** power)).filter(Number.isInteger);
    const fitting = [...all, 64, 128, 256, 512, 1024, own].filter((n) => n >= least && n <= Math.max(most, own));
    return [...new Set(fitting)].sort((a, b) => a - b);
}

function complexityPanel(start) {
    const state = { ...start };
    const result = make("div", {});
    const figures = numbers(() => complexityTable(state));
    const update = () => {
        result.replaceChildren(complexityBars(state), paragraph(...verdict(state)), complexityChart(state));
        figures.refresh();
    };
    const letter = (name, label, most, least) => slider({
        label,
        values: sizes(most, state[name], least),
        value: state[name],
        show: asCount,
        change(value) {
            state[name] = value;
            update();
        },
    }).element;
    const bar = controls(letter("n", "Length n", 10000), letter("d", "Width d", 8000),
        letter("k", "Kernel k", 100, 2), letter("r", "Neighbourhood r", 1000));
    update();
    return [bar, result, figures.element];
}

function complexityBars(state) {
    const costs = LAYERS.map(({ cost }) => cost[1](state));
    const cheapest = Math.min(...costs);
    const high = Math.log10(Math.max(...costs));
    const low = Math.min(Math.floor(Math.log10(cheapest)), high - 2);
    const evaluated = ([formula, value]) => (formula === "1" ? "1" : `${formula} = ${asCount(value(state))}`);
    const row = ({ name, cost, steps, path }, i) => make("tr", {},
        make("th", { scope: "row" }, name, costs[i] === cheapest && make("small", {}, " cheapest")),
        make("td", {}, cost[0]),
        make("td", {}, asCount(costs[i])),
        barCell((Math.log10(costs[i]) - low) / (high - low)),
        make("td", {}, evaluated(steps)),
        make("td", {}, evaluated(path)));
    const head = ["layer", "operations", "", "on a log scale", "sequential operations", "maximum path length"];
    return scrolling("Complexity of layers", figureTable({
        kind: "complexity", caption: "Complexity of each kind of layer", head, rows: LAYERS.map(row),
    }));
}

/** Operations against length: two lines cross where n = d. */
function complexityChart(state) {
    const lengths = sizes(10000, state.n);
    const lines = LAYERS.map(({ name, cost }) => ({
        name: name.replace("self-attention, ", ""), points: lengths.map((n) => [n, cost[1]({ ...state, n })]),
    }));
    const here = state.n === state.d ? [] : [{ at: state.n, name: "n" }];
    const marks = [...here, { at: state.d, name: "n = d" }];
    const label = "Operations of each kind of layer by length";
    return lineChart({ label, x: "length n", y: "operations", lines, log: true, marks });
}

/** The length at which self-attention and recurrence cost the same, and which is cheaper for this sentence. */
function verdict({ n, d }) {
    const [less, more] = n < d ? ["self-attention", "recurrence"] : ["recurrence", "self-attention"];
    const times = asShort(Math.max(n / d, d / n));
    const side = n === d ? "." : `, and ${more} costs ${times} times as much as ${less}.`;
    return ["Self-attention and recurrence cost the same at ", make("b", {}, `n = d = ${asCount(d)}`),
        `. Here n = ${asCount(n)}${side}`];
}

function complexityTable(state) {
    const head = ["layer", "operations", "operations, in numbers", "sequential operations", "maximum path length"];
    const caption = `n = ${state.n}, d = ${state.d}, k = ${state.k}, r = ${state.r}`;
    return table("complexity", caption, head, LAYERS.map(({ name, cost, steps, path }) =>
        [name, cost[0], String(cost[1](state)), String(steps[1](state)), asWeight(path[1](state))]));
}
