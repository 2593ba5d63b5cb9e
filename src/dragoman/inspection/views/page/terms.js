// The parts of a self-attention logit, which papers call its terms. With x = content + position, the product of query and key falls into
// content·content, content·position, position·content and position·position. There may also be a bias, and a
// remainder if the split is approximate. The terms add up to the logit.

import { legend } from "./colour.js";
import { asLogit, block, greatest } from "./data.js";
import {
    beside, choice, controls, figureTable, heading, isolated, live, numbers, paragraph, signedBar, table,
} from "./controls.js";
import { make } from "./dom.js";
import { fitsBeside, heatMap, MASKED, SHOWN } from "./matrix.js";

export function termsView({ traces }) {
    const known = traces.filter(({ terms }) => terms?.stacks.length);
    if (!known.length) return [paragraph("No parts of logits were recorded: only a Transformer's self-attention has them.")];
    const stacks = ["encoder", "decoder"].filter((kind) => known.some((trace) => stackOf(trace, kind)));
    const shapes = known.flatMap(({ terms }) => terms.stacks.map(({ logits }) => logits.shape));
    const most = (axis) => Math.max(...shapes.map((shape) => shape[axis]));
    const state = { stack: stacks[0], layer: 0, head: 0 };
    const panels = traces.map((trace) => termsPanel(trace, state));
    const change = (to) => {
        Object.assign(state, to);
        panels.forEach(({ update }) => update());
    };
    const count = (n) => Array.from({ length: n }, (_, i) => ({ value: i, text: String(i + 1) }));
    const name = (kind) => ({ value: kind, text: kind[0].toUpperCase() + kind.slice(1), data: { "data-stack": kind } });
    const bar = controls(
        choice({ label: "Stack", value: state.stack, options: stacks.map(name), change: (stack) => change({ stack }) }),
        choice({ label: "Layer", value: 0, options: count(most(0)), change: (layer) => change({ layer }) }),
        choice({ label: "Head", value: 0, options: count(most(1)), change: (head) => change({ head }) }));
    change({});
    return [bar, beside(traces, panels.map(({ element }) => element))];
}

const stackOf = (trace, kind) => trace.terms?.stacks.find((one) => one.kind === kind);

function termsPanel(trace, state) {
    const missing = paragraph();
    const note = make("p", { class: "exactness" });
    const sum = live();
    sum.classList.add("sum");
    const names = trace.terms?.names ?? [];
    let shown; // {logits, terms}: matrices
    const move = (r, c) => {
        [logitMap, ...termMaps].forEach((map) => map.point(r, c));
        sum.replaceChildren(...sumOf(names, shown, r, c));
    };
    const logitMap = heatMap({ label: "Logits", moved: move });
    const termMaps = names.map((name) => heatMap({ label: `Part ${name}`, style: "bare", moved: move }));
    const scale = legend({ signed: true, limit: 1 });
    const figures = numbers(() => termsTable(names, shown));
    const layout = make("div", {},
        make("div", {}, heading("Logit: the sum of its parts"), logitMap.element, scale.element),
        make("div", {}, sum, make("div", { class: "terms" },
            names.map((name, i) => make("div", {}, make("h4", {}, name), termMaps[i].element)))));
    const content = make("div", {}, note, layout, figures.element);

    function update() {
        const stack = stackOf(trace, state.stack);
        const problem = whyNoTerms(stack, state);
        missing.hidden = !problem;
        content.hidden = Boolean(problem);
        missing.textContent = problem;
        if (problem) return;
        shown = termMatrices(trace, stack, state);
        const exact = stack.exact[state.layer] ? "Exact." : "Approximate.";
        note.replaceChildren(make("b", {}, exact), ` ${stack.notes[state.layer]}`);
        layout.className = fitsBeside(shown.logits) ? "twofold" : "";
        logitMap.show(shown.logits);
        termMaps.forEach((map, i) => map.show(shown.terms[i]));
        scale.change(shown.logits.scale);
        move(0, 0);
        figures.refresh();
    }

    return { element: [missing, content], update };
}

/** Why the chosen stack, layer and head have no terms; empty if they have. */
function whyNoTerms(stack, state) {
    if (!stack) return `No parts of logits were recorded for the ${state.stack} of this model.`;
    const [layers, heads] = stack.logits.shape;
    if (state.layer >= layers) return `Parts of logits were recorded only for the first ${layers} layers of this model.`;
    return state.head >= heads ? `This model has ${heads} heads.` : "";
}

/** The logits and the terms of one head, all on one scale. */
function termMatrices(trace, stack, { layer, head }) {
    const axis = trace.axes[stack.kind === "encoder" ? "source" : "inputs"].subwords;
    const logits = block(stack.logits, layer, head);
    const terms = trace.terms.names.map((_, term) => block(stack.values, layer, term, head));
    const scale = { signed: true, limit: greatest(logits, ...terms) };
    const width = trace.model.config.window ?? Infinity;
    const before = stack.causal ? width - 1 : Math.floor(width / 2);
    const after = stack.causal ? 0 : width - 1 - before;
    const state = (r, c) => (c < r - before || c > r + after ? MASKED : SHOWN);
    const matrix = (values) => ({ rows: axis, columns: axis, values, state, scale });
    return { logits: matrix(logits), terms: terms.map(matrix) };
}

/** The terms of a cell and their sum, each with a bar to the left or right of zero. */
function sumOf(names, { logits, terms }, r, c) {
    const { rows, columns, state, scale } = logits;
    const where = make("p", {}, "query ", isolated(rows[r].label), " → key ", isolated(columns[c].label));
    if (state(r, c) === MASKED) return [where, paragraph("Masked: the query does not see this token, so this logit does not count.")];
    const at = r * columns.length + c;
    const parts = terms.map(({ values }) => values[at]);
    const bar = (value) => signedBar(value, scale.limit);
    const line = (name, value, kind = null) => make("tr", { class: kind }, make("th", { scope: "row" }, name),
        make("td", {}, asLogit(value)), make("td", { class: "signed", "aria-hidden": "true" }, bar(value)));
    const lines = names.map((name, i) => line(name, parts[i]));
    const ends = [line("sum", sumUp(parts), "total"), line("logit", logits.values[at])];
    return [where, figureTable({ caption: "The parts of this logit", rows: [...lines, ...ends] })];
}

function termsTable(names, { logits, terms }) {
    const { rows, columns, state } = logits;
    const cells = rows.flatMap((_, r) => columns.map((_, c) => [r, c])).filter(([r, c]) => state(r, c) === SHOWN);
    const head = ["query", "key", ...names, "sum", "logit"];
    return table("terms", "The parts of each logit", head, cells.map(([r, c]) => {
        const at = r * columns.length + c;
        const parts = terms.map(({ values }) => values[at]);
        return [rows[r].label, columns[c].label, ...[...parts, sumUp(parts), logits.values[at]].map(asLogit)];
    }));
}

const sumUp = (values) => values.reduce((sum, value) => sum + value, 0);
