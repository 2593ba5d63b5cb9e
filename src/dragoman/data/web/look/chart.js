// Histograms: a bar for each edge, which is the largest number in it.

import { draw, make } from "./dom.js";
import { whole } from "./text.js";

/** The edges as numbers: infinity is null in JSON. */
export const numbers = (edges) => edges.map((edge) => edge ?? Infinity);

/** The bars worth drawing: of whole numbers, only whole edges; of yes and no, only these. */
export function drawable({ edges, counts, examples }) {
    const used = counts.flatMap((count, i) => (count ? [edges[i]] : []));
    const fraction = used.some((edge) => edge !== null && !Number.isInteger(edge));
    const kept = edges.map((edge, i) => i).filter((i) =>
        counts[i] || (used.length > 2 && (fraction || Number.isInteger(edges[i]))));
    const [ownEdges, ownCounts, ownExamples] = [edges, counts, examples].map((all) => kept.map((i) => all[i]));
    return { edges: ownEdges, counts: ownCounts, examples: ownExamples };
}

export const shown = (edge) => (edge === Infinity ? "∞" : whole(edge));

/**
 * The bars of {edges, counts}, of the logarithms of the counts if `log`. `mark` shows which bars are chosen: it gets
 * a function from an edge to true or false.
 */
export function chart({ edges, counts }, label, log) {
    const at = numbers(edges);
    const height = log ? (count) => Math.log1p(count) : (count) => count;
    const most = Math.max(...counts.map(height), 1);
    const bars = counts.map((count, i) => {
        const tall = count ? Math.max((100 * height(count)) / most, 2) : 0;
        return draw("rect", { x: i + 0.06, width: 0.88, y: 100 - tall, height: tall },
            draw("title", {}, `up to ${shown(at[i])}: ${whole(count)}`));
    });
    const svg = draw("svg", { class: "histogram", viewBox: `0 0 ${Math.max(at.length, 12)} 100`, preserveAspectRatio: "none",
        role: "img", "aria-label": label }, bars);
    const ticks = make("div", { class: "ends", "aria-hidden": "true", style: { "--bars": at.length / Math.max(at.length, 12) } },
        at.length > 0 && [make("span", {}, shown(at[0])), at.length > 1 && make("span", {}, shown(at.at(-1)))]);
    return {
        element: make("div", { class: "plot" }, svg, ticks),
        mark(chosen) {
            bars.forEach((bar, i) => bar.classList.toggle("chosen", chosen(at[i])));
        },
    };
}
