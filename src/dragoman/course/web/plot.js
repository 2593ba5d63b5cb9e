// A figure with curves, and their numbers in a table.

import { asTick, lineChart } from "../../inspection/views/page/positions.js";
import { make } from "./dom.js";

/**
 * A figure of curves {name, points: [[x, y]]}. `x` and `y` name the axes, `numbers` the button that shows the
 * numbers; `mark` is a place on the x axis to draw a line at. Points without a number are left out.
 */
export function lines({ title, x, y, curves, numbers, mark = null, log = false }) {
    const drawn = curves.map(({ name, points }) => (
        { name, points: points.filter(([, value]) => Number.isFinite(value)) }));
    const told = ({ name, points }) => `${name} ${asTick(points[0][1])} – ${asTick(points.at(-1)[1])}`;
    const marks = mark === null ? [] : [{ at: mark, name: "" }];
    const label = `${title}: ${drawn.map(told).join("; ")}`;
    const table = make("details", { class: "numbers" }, make("summary", {}, numbers));
    const box = make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": title });
    table.addEventListener("toggle", () => table.open && box.replaceChildren(numbersOf(title, x, drawn)));
    table.append(box);
    return make("figure", { class: "plot" }, make("figcaption", {}, title),
        lineChart({ label, x, y, lines: drawn, log, marks }), table);
}

function numbersOf(title, x, curves) {
    const places = [...new Set(curves.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
    const columns = curves.map(({ points }) => new Map(points));
    const heads = [x, ...curves.map(({ name }) => name)].map((name) => make("th", { scope: "col" }, name));
    const cell = (value) => make("td", {}, value === undefined ? "" : asTick(value));
    const rows = places.map((at) =>
        make("tr", {}, make("th", { scope: "row" }, asTick(at)), columns.map((values) => cell(values.get(at)))));
    return make("table", {}, make("caption", { class: "unseen" }, title),
        make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows));
}
