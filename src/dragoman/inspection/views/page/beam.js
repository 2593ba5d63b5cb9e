// The beam as a tree: a column for each step, a node for each candidate. Candidates that were kept are
// extended in the next column. The path to the translation is bold and nearly straight.

import { asWeight, directionOf, nameOf, shortName } from "./data.js";
import { beside, controls, hint, isolated, live, numbers, paragraph, roving, table, tick } from "./controls.js";
import { draw, make } from "./dom.js";
import { FONT } from "./matrix.js";

const FATES = {
    kept: "kept: extended at the next step",
    finished: "finished: a whole translation",
    pruned: "pruned: others scored higher",
    banned: "banned: a rule forbids it",
};
const ROW = 22;
const MANY = 200; // above this number of candidates, pruned ones are hidden at first

export function beamView({ traces }) {
    const known = traces.filter(({ beam }) => beam?.nodes.length);
    if (!known.length) return [paragraph("No beam was recorded for this translation.")];
    const state = { pruned: known.every(({ beam }) => beam.nodes.length <= MANY) };
    const panels = traces.map((trace) => beamPanel(trace, state));
    return [
        controls(tick({ label: "Show pruned and banned candidates", value: state.pruned, change(pruned) {
            state.pruned = pruned;
            panels.forEach(({ update }) => update());
        } })),
        fateLegend(),
        hint("Arrow keys move through the tree: left to the parent, right to the best child, up and down in a step."),
        beside(traces, panels.map(({ element }) => element)),
    ];
}

function beamPanel(trace, state) {
    const { beam } = trace;
    if (!beam?.nodes.length) return { element: paragraph("No beam was recorded for this translation."), update() {} };
    const readout = live();
    const box = make("div", { class: "scroll" });
    const update = () => {
        const shown = beam.nodes.map((node, index) => ({ ...node, index }))
            .filter(({ fate, best }) => state.pruned || best || fate === "kept" || fate === "finished");
        box.replaceChildren(beamTree(shown, beam.size, tell));
    };
    const tell = (node) => readout.replaceChildren(...nodeFacts(beam.nodes, node));
    const best = Math.max(0, beam.nodes.map((node) => node.best).lastIndexOf(true));
    tell({ ...beam.nodes[best], index: best });
    update();
    return { element: [readout, box, numbers(() => beamTable(beam)).element], update };
}

/** The path from the root to a node. */
function lineage(nodes, index) {
    const path = [];
    for (let at = index; at !== null && at !== undefined; at = nodes[at].parent) path.unshift(at);
    return path;
}

function nodeFacts(nodes, { index, step, logp, total, score, fate }) {
    const path = lineage(nodes, index).map((at) => nameOf(nodes[at]));
    return [`Step ${step + 1}, `, make("b", {}, isolated(path.at(-1))), `, ${fate}: `,
        `log-probability ${asWeight(logp)}, total ${asWeight(total)}, score ${asWeight(score)}. `,
        make("bdi", { class: "path", dir: directionOf(path.join("")) }, path.map((name) => [isolated(name), " "]))];
}

function beamTable({ nodes }) {
    const head = ["node", "parent", "step", "token", "log-probability", "total", "score", "fate", "best"];
    return table("beam", "Every candidate", head, nodes.map((node, i) => [
        String(i), String(node.parent ?? "–"), String(node.step + 1), nameOf(node), asWeight(node.logp),
        asWeight(node.total), asWeight(node.score), node.fate, node.best ? "best" : "",
    ]));
}

const FIGURES = {
    kept: () => draw("circle", { r: 5 }),
    finished: () => draw("rect", { x: -5, y: -5, width: 10, height: 10, transform: "rotate(45)" }),
    pruned: () => draw("path", { d: "M-4 -4L4 4M-4 4L4 -4" }),
    banned: () => draw("path", { d: "M0 -6L6 5H-6Z" }),
};

function fateLegend() {
    const figure = (fate) => draw("svg", {
        viewBox: "-8 -8 16 16", class: `fate ${fate}`, role: "img", "aria-label": fate,
    }, FIGURES[fate]());
    const entry = ([fate, text]) => make("li", {}, figure(fate), text);
    return make("ul", { class: "keys" }, Object.entries(FATES).map(entry));
}

/** The tree as SVG. `onPoint(node)` is called for the node under the pointer or with the focus. */
function beamTree(nodes, size, onPoint) {
    const { places, width, height } = placeTree(nodes);
    const elements = new Map();
    const edges = new Map();
    const byIndex = new Map(nodes.map((node) => [node.index, node]));
    const point = (node) => {
        const path = new Set();
        for (let one = node; one; one = byIndex.get(one.parent)) path.add(one.index);
        edges.forEach((edge, index) => edge.classList.toggle("chosen", path.has(index)));
        elements.forEach((element, index) => element.classList.toggle("chosen", index === node.index));
        onPoint(node);
    };
    for (const node of nodes) {
        const { x, y, from, turn } = places.get(node.index);
        const half = (turn + x - 7) / 2;
        const emphasis = node.best ? " best" : "";
        edges.set(node.index, draw("path", { class: `edge ${node.fate}${emphasis}`,
            d: `M${from.x} ${from.y}H${turn}C${half} ${from.y} ${half} ${y} ${x - 7} ${y}` }));
        elements.set(node.index, draw("g", {
            class: `node fate ${node.fate}${emphasis}`,
            transform: `translate(${x} ${y})`,
            role: "img",
            "data-node": node.index,
            "data-fate": node.fate,
            "aria-label": `Step ${node.step + 1}, ${nameOf(node)}, ${node.fate}, score ${asWeight(node.score)}`,
            onfocus: () => point(node),
            onpointerenter: () => point(node),
        }, draw("rect", { class: "area", x: -8, y: -ROW / 2, width: 16 + places.get(node.index).label, height: ROW }),
        FIGURES[node.fate]?.() ?? FIGURES.pruned(), draw("text", { x: 11, y: 4.5 }, shortName(nameOf(node), 14))));
    }
    const ordered = nodes.map(({ index }) => elements.get(index));
    const start = Math.max(0, nodes.findIndex(({ best }) => best));
    roving(ordered, { start, next: (i, key) => neighbour(nodes, places, i, key) });
    return draw("svg", { class: "beam", width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
        "aria-label": `Beam of ${size}: ${nodes.length} candidates` },
    draw("circle", { class: "root", cx: 10, cy: places.get("root").y, r: 4 }),
    nodes.filter(({ best }) => !best).map(({ index }) => edges.get(index)), // the best ones are drawn on top
    nodes.filter(({ best }) => best).map(({ index }) => edges.get(index)), ordered);
}

/** The place of each node and the start of its edge. No two edges cross. */
function placeTree(nodes) {
    const context = document.createElement("canvas").getContext("2d");
    const places = new Map([["root", { x: 10, y: 0, label: 0, rank: 0 }]]);
    const home = ({ parent }) => places.get(parent) ?? places.get("root");
    let left = 44;
    let turn = 14; // where edges leave their row, beyond all labels
    for (const step of [...new Set(nodes.map((node) => node.step))].sort((a, b) => a - b)) {
        const column = nodes.filter((node) => node.step === step);
        column.sort((a, b) => home(a).rank - home(b).rank || b.total - a.total);
        const families = Map.groupBy(column.map((node, i) => ({ node, i })), ({ node }) => home(node));
        const wishes = [];
        for (const [parent, family] of families) {
            const heir = Math.max(0, family.findIndex(({ node }) => node.best));
            family.forEach(({ i }, place) => (wishes[i] = parent.y + (place - heir) * ROW));
        }
        const ys = stack(wishes, ROW, column.map(({ best }) => (best ? 1e4 : 1)));
        const widths = column.map((node) => {
            context.font = `${node.best ? 700 : 400} 13px ${FONT}`;
            return context.measureText(shortName(nameOf(node), 14)).width + 4;
        });
        column.forEach((node, i) => {
            places.set(node.index, { x: left, y: ys[i], label: widths[i], rank: i, parent: home(node), turn });
        });
        turn = left + Math.max(...widths) + 12;
        left = turn + 44;
    }
    const ys = [...places.values()].map(({ y }) => y); // too many for the arguments of a function
    const top = ys.reduce((a, b) => Math.min(a, b)) - ROW;
    places.forEach((place) => (place.y -= top));
    places.forEach((place) => {
        const from = place.parent ?? place;
        place.from = { x: from === places.get("root") ? from.x + 4 : from.x + 12 + from.label, y: from.y };
    });
    return { places, width: left, height: ys.reduce((a, b) => Math.max(a, b)) - top + ROW };
}

/** The index in `nodes` that an arrow key leads to. */
function neighbour(nodes, places, at, key) {
    const node = nodes[at];
    const placeOf = (wanted) => nodes.findIndex(({ index }) => index === wanted.index);
    if (key === "ArrowLeft") {
        const parent = nodes.findIndex(({ index }) => index === node.parent);
        return parent < 0 ? at : parent;
    }
    if (key === "ArrowRight") {
        const children = nodes.filter(({ parent }) => parent === node.index);
        const best = children.find((child) => child.best) ?? children.sort((a, b) => b.total - a.total)[0];
        return best ? placeOf(best) : at;
    }
    if (key !== "ArrowUp" && key !== "ArrowDown") return undefined;
    const high = ({ index }) => places.get(index).y;
    const column = nodes.filter(({ step }) => step === node.step).sort((a, b) => high(a) - high(b));
    const to = column[column.indexOf(node) + (key === "ArrowDown" ? 1 : -1)];
    return to ? placeOf(to) : at;
}

/**
 * Places as close as possible to `wishes`, in the same order and at least `gap` apart: isotonic least squares,
 * which pools neighbours that are too close. A large weight keeps a place near its wish.
 */
export function stack(wishes, gap, weights = wishes.map(() => 1)) {
    const pools = [];
    wishes.forEach((wish, i) => {
        pools.push({ sum: (wish - i * gap) * weights[i], weight: weights[i], count: 1 });
        while (pools.length > 1 && mean(pools.at(-2)) > mean(pools.at(-1))) {
            const [upper, lower] = pools.splice(-2);
            const both = (key) => upper[key] + lower[key];
            pools.push({ sum: both("sum"), weight: both("weight"), count: both("count") });
        }
    });
    return pools.flatMap((pool) => Array(pool.count).fill(mean(pool))).map((place, i) => place + i * gap);

    function mean(pool) {
        return pool.sum / pool.weight;
    }
}
