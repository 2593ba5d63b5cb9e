// Attention: every head of every layer at a glance, one of them in full, as a matrix or as edges between the
// two sentences. "Joint" lays encoder, cross and decoder attention out as one matrix over both sentences.

import { legend, WEIGHTS } from "./colour.js";
import { asWeight, gather, headWeights, shortName } from "./data.js";
import { beside, choice, controls, hint, isolated, live, numbers, paragraph, roving, slider } from "./controls.js";
import { draw, make } from "./dom.js";
import { ABSENT, allShown, fitsBeside, heatMap, MASKED, matrixTable, SHOWN, thumbnail } from "./matrix.js";
import { ranked } from "./translation.js";

const KINDS = {
    encoder: "Encoder: source tokens attend to source tokens",
    decoder: "Decoder: target tokens attend to themselves and to earlier ones",
    cross: "Cross: the decoder attends to the source, to predict the token of the row",
    joint: "All three as one matrix, over both sentences",
};

export function attentionView({ traces }) {
    const kinds = Object.keys(KINDS).filter((kind) => traces.some((trace) => hasAttention(trace, kind)));
    if (!kinds.length) return [paragraph("This model has no attention: its decoder gets the source as one vector.")];
    const kind = kinds.includes("cross") ? "cross" : kinds[0];
    const { layers } = headsOf(traces.find((trace) => hasAttention(trace, kind)), kind);
    const layer = Math.max(0, layers - 2); // the last but one aligns words best
    const state = { kind, layer, head: "mean", unit: "subwords", form: "matrix", least: 0.05 };
    const choose = (change) => {
        Object.assign(state, change);
        panels.forEach((panel) => panel.update());
        threshold.element.hidden = state.form !== "edges";
        about.textContent = `${KINDS[state.kind]}. ${state.form === "matrix" ? "Rows are queries, columns are keys." : ""}`;
    };
    const panels = traces.map((trace) => attentionPanel(trace, state, choose));
    const about = hint();
    const threshold = slider({
        label: "Hide edges under", values: [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5], value: state.least,
        show: (value) => value.toFixed(2), change: (least) => choose({ least }),
    });
    const options = (key, names) => names.map((name) => ({
        value: name, text: name[0].toUpperCase() + name.slice(1), data: { [`data-${key}`]: name },
    }));
    const pick = (label, key, names) =>
        choice({ label, value: state[key], options: options(key, names), change: (name) => choose({ [key]: name }) });
    const bar = controls(
        pick("Attention", "kind", kinds),
        pick("Shown as", "form", ["matrix", "edges"]),
        pick("Unit", "unit", ["subwords", "words"]),
        threshold.element);
    choose({});
    return [bar, about, beside(traces, panels.map(({ element }) => element))];
}

const attentionOf = (trace, kind) => trace.attention.find((one) => one.kind === kind);
const partsOf = (kind) => (kind === "joint" ? ["encoder", "decoder", "cross"] : [kind]);
const hasAttention = (trace, kind) => partsOf(kind).every((part) => attentionOf(trace, part));

/** The numbers of layers and heads of a kind; for a joint matrix the largest of its parts. */
function headsOf(trace, kind) {
    const shapes = partsOf(kind).map((part) => attentionOf(trace, part).weights.shape);
    const most = (axis) => Math.max(...shapes.map((shape) => shape[axis]));
    return { layers: most(0), heads: most(1) };
}

/** The chosen layer and head, or the last ones if this trace has fewer. */
function within(trace, state) {
    const { layers, heads } = headsOf(trace, state.kind);
    const head = state.head === "mean" && heads > 1 ? "mean" : Math.min(Number(state.head) || 0, heads - 1);
    return { ...state, layer: Math.min(state.layer, layers - 1), head };
}

/** The matrix of one layer and head, or of the mean of the heads, in subwords or words. */
function attentionMatrix(trace, { kind, layer, head, unit, joint = false }) {
    if (kind === "joint") return jointMatrix(trace, { layer, head, unit });
    const { weights, queries, keys, causal } = attentionOf(trace, kind);
    // A row of cross-attention belongs to the token that the decoder predicts next.
    const rows = trace.axes[kind === "cross" && !joint ? "outputs" : queries][unit];
    const columns = trace.axes[keys][unit];
    const [layers, heads] = weights.shape;
    const own = head === "mean" ? head : Math.min(head, heads - 1); // parts of a joint matrix may have fewer
    const one = headWeights(weights, Math.min(layer, layers - 1), own);
    const state = causal ? (r, c) => (columns[c].first > rows[r].last ? MASKED : SHOWN) : allShown;
    return { rows, columns, values: gather(one, rows, columns), state, scale: WEIGHTS };
}

/** Source and target in one: encoder top left, cross bottom left, decoder bottom right. The top right is empty,
 *  because the source does not attend to the target. */
function jointMatrix(trace, which) {
    const part = (kind) => attentionMatrix(trace, { ...which, kind, joint: true });
    const [encoder, decoder, cross] = partsOf("joint").map(part);
    const labels = [...encoder.rows, ...decoder.rows];
    const [cut, size] = [encoder.rows.length, labels.length];
    const values = new Float64Array(size * size);
    const lay = (one, top, left) => one.rows.forEach((_, r) => {
        const { length } = one.columns;
        values.set(one.values.subarray(r * length, (r + 1) * length), (top + r) * size + left);
    });
    lay(encoder, 0, 0);
    lay(cross, cut, 0);
    lay(decoder, cut, cut);
    const state = (r, c) => (c < cut ? SHOWN : r < cut ? ABSENT : decoder.state(r - cut, c - cut));
    return { rows: labels, columns: labels, values, state, scale: WEIGHTS, cut };
}

function attentionPanel(trace, state, choose) {
    const overview = make("div", { class: "scroll" });
    const title = make("h3", {});
    const map = heatMap({ label: "Attention weights", read: readWeight });
    const edges = make("div", {});
    const scale = legend(WEIGHTS);
    const chosen = () => within(trace, state);
    const about = () => `${state.kind} attention, ${headName(chosen())}, by ${state.unit}`;
    const figures = numbers(() => matrixTable(state.kind === "joint" ? "joint" : "attention",
        `${about()}: rows are queries, columns keys`, attentionMatrix(trace, chosen()), asWeight));
    const missing = paragraph();
    const layout = make("div", {}, overview,
        make("div", {}, title, map.element, edges, scale.element, figures.element));
    let drawn; // the content of the thumbnails

    function update() {
        const has = hasAttention(trace, state.kind);
        layout.hidden = !has;
        missing.hidden = has;
        missing.textContent = `This model has no ${state.kind} attention.`;
        if (!has) return;
        if (drawn !== state.kind + state.unit) overview.replaceChildren(headGrid(trace, state, choose));
        drawn = state.kind + state.unit;
        const { layer, head } = chosen();
        for (const button of overview.querySelectorAll("button")) {
            const pressed = button.dataset.layer === String(layer) && button.dataset.head === String(head);
            button.setAttribute("aria-pressed", String(pressed));
        }
        title.textContent = headName({ layer, head }) + offNote(trace, chosen());
        const matrix = attentionMatrix(trace, chosen());
        layout.className = fitsBeside(matrix) ? "twofold uneven" : "";
        const asEdges = state.form === "edges";
        map.element.hidden = asEdges;
        edges.hidden = !asEdges;
        scale.element.hidden = asEdges;
        if (asEdges) edges.replaceChildren(...edgesOf(matrix, about(), state.least));
        else map.show(matrix);
        figures.refresh();
    }

    return { element: [missing, layout], update };
}

function headName({ layer, head }) {
    return `Layer ${layer + 1}, ${head === "mean" ? "mean of the heads" : `head ${head + 1}`}`;
}

/** The addition to the name of a head that an intervention switched off. */
function offNote(trace, { kind, layer, head }) {
    return trace.off?.has(`${kind}.${layer + 1}.${head + 1}`) ? ", off: its weights are not used" : "";
}

/** One small button for each layer and head, and for the mean of each layer's heads. */
function headGrid(trace, state, choose) {
    const { layers, heads } = headsOf(trace, state.kind);
    const { kind, unit } = state;
    const names = [...Array(heads).keys(), ...(heads > 1 ? ["mean"] : [])];
    const cell = (layer, head) => make("button", {
        type: "button", "data-layer": layer, "data-head": head, onclick: () => choose({ layer, head }),
        class: offNote(trace, { kind, layer, head }) ? "off" : null,
    }, thumbnail(headName({ layer, head }) + offNote(trace, { kind, layer, head }),
        () => attentionMatrix(trace, { kind, unit, layer, head })));
    const rows = Array.from({ length: layers }, (_, layer) => names.map((head) => cell(layer, head)));
    roving(rows.flat(), { next: (i, key) => ({ ArrowDown: i + names.length, ArrowUp: i - names.length })[key] });
    return make("div", { class: "heads", role: "group", "aria-label": "Layers and heads",
        style: { "--columns": names.length } },
        make("span", {}, "head"), names.map((head) => make("span", {}, head === "mean" ? "mean" : String(head + 1))),
        rows.map((row, layer) => [make("span", {}, `layer ${layer + 1}`), row]));
}

function readWeight({ rows, columns, values, state }, r, c) {
    const between = [isolated(rows[r].label), " → ", isolated(columns[c].label), ": "];
    if (state(r, c) === ABSENT) return [...between, "the source does not attend to the target"];
    if (state(r, c) === MASKED) return [...between, "masked, 0.0000: a later token"];
    const then = rows[r].predicts ? [", to predict ", isolated(rows[r].predicts)] : [];
    return [...between, make("b", {}, asWeight(values[r * columns.length + c])), ...then];
}

/** Queries on the left, keys on the right, a curve for each weight. A chosen token shows only its own curves. */
function edgesOf({ rows, columns, values, state }, label, least) {
    const [width, line, room] = [600, 24, 170];
    const high = (n) => 40 + n * line;
    const curves = draw("g", {});
    const readout = live();
    const weight = (r, c) => (state(r, c) === SHOWN ? values[r * columns.length + c] : 0);
    const curve = (r, c) => draw("path", {
        d: `M${room} ${high(r)}C${width / 2} ${high(r)} ${width / 2} ${high(c)} ${width - room} ${high(c)}`,
        "stroke-width": (0.5 + 5 * weight(r, c)).toFixed(2),
        "stroke-opacity": (0.15 + 0.85 * weight(r, c)).toFixed(3),
    });
    const every = rows.flatMap((_, r) => columns.map((_, c) => [r, c]));
    const show = (wanted) => curves.replaceChildren(...every.filter(wanted).map(([r, c]) => curve(r, c)));
    const all = () => show(([r, c]) => weight(r, c) >= Math.max(least, 1e-4));
    const text = (axis, left) => axis.map(({ label: name }, i) => {
        const only = () => {
            show(([r, c]) => (left ? r : c) === i && weight(r, c) >= 5e-4);
            const others = left ? columns : rows;
            const weights = others.map((_, j) => (left ? weight(i, j) : weight(j, i)));
            readout.replaceChildren(isolated(name), left ? " attends to " : " is attended to by ",
                ...ranked(weights, others.map((other) => ({ text: other.label }))));
        };
        const [edge, start, anchor] = left ? [0, room - 10, "end"] : [width - room, width - room + 10, "start"];
        return draw("g", {
            class: "end", role: "img", "aria-label": `${left ? "query" : "key"} ${i + 1}: ${name}`,
            onfocus: only, onpointerenter: only, onblur: all, onpointerleave: all,
        },
        draw("rect", { x: edge, y: high(i) - line / 2, width: room, height: line }),
        draw("text", { x: start, y: high(i) + 4.5, "text-anchor": anchor }, shortName(name, 18)));
    });
    const [queries, keys] = [text(rows, true), text(columns, false)];
    roving([...queries, ...keys], { next: (i, key) => ({
        ArrowRight: i < rows.length ? rows.length + Math.min(i, columns.length - 1) : i,
        ArrowLeft: i < rows.length ? i : Math.min(i - rows.length, rows.length - 1),
    })[key] });
    all();
    const height = high(Math.max(rows.length, columns.length));
    return [readout, make("div", { class: "scroll" }, draw("svg", {
        class: "edges", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label,
    }, draw("text", { class: "side", x: room - 10, y: 14, "text-anchor": "end" }, "queries"),
    draw("text", { class: "side", x: width - room + 10, y: 14 }, "keys"), curves, queries, keys))];
}
