// A chart of lines, with its numbers in a table.

import { ticksOf } from "../../serving/web/studio/scale.js";
import { asShort } from "../../inspection/views/page/colour.js";
import { draw, make } from "./dom.js";

const WIDTH = 640;
const HEIGHT = 260;
const EDGE = { left: 58, right: 24, top: 12, bottom: 40 };
const DASHES = ["none", "6 4", "2 3", "9 3 2 3", "12 4", "4 2"];

/**
 * A figure of curves {name, points: [[x, y]]}. `x` and `y` name the axes, `numbers` the button that shows the
 * numbers; `mark` is a place on the x axis to draw a line at; `from` is a value that the y axis must have.
 */
export function lines({ title, x, y, curves, numbers, mark = null, from = null }) {
    const all = curves.flatMap(({ points }) => points).filter(([, value]) => Number.isFinite(value));
    const along = ticksOf(Math.min(...all.map(([at]) => at)), Math.max(...all.map(([at]) => at)), 6, false);
    const values = [...all.map(([, value]) => value), ...(from === null ? [] : [from])];
    const up = ticksOf(Math.min(...values), Math.max(...values), 5, false);
    const across = (at) => EDGE.left + ((at - along.from) / (along.to - along.from)) * (WIDTH - EDGE.left - EDGE.right);
    const high = (value) =>
        HEIGHT - EDGE.bottom - ((value - up.from) / (up.to - up.from)) * (HEIGHT - EDGE.top - EDGE.bottom);
    const path = (points) =>
        points.map(([at, value], i) => `${i ? "L" : "M"}${across(at).toFixed(1)} ${high(value).toFixed(1)}`).join("");
    const svg = draw(
        "svg",
        {
            class: "plot",
            viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
            role: "img",
            "aria-label": `${title}: ${curves.map(told).join("; ")}`,
        },
        up.ticks.map((value) => [
            draw("line", { class: "rule", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: high(value), y2: high(value) }),
            draw("text", { x: EDGE.left - 6, y: high(value) + 4, "text-anchor": "end" }, asShort(value)),
        ]),
        along.ticks.map((at) =>
            draw("text", { x: across(at), y: HEIGHT - EDGE.bottom + 16, "text-anchor": "middle" }, asShort(at)),
        ),
        draw("text", { x: WIDTH - EDGE.right, y: HEIGHT - 6, "text-anchor": "end" }, x),
        mark !== null &&
            draw("line", { class: "mark", x1: across(mark), x2: across(mark), y1: EDGE.top, y2: HEIGHT - EDGE.bottom }),
        curves.map(({ points }, i) =>
            draw("path", { class: `curve curve-${i % 6}`, d: path(points), "stroke-dasharray": DASHES[i % 6] }),
        ),
    );
    const key = curves.map(({ name }, i) =>
        make(
            "li",
            {},
            draw(
                "svg",
                { viewBox: "0 0 28 8", "aria-hidden": "true" },
                draw("path", { class: `curve curve-${i % 6}`, d: "M0 4H28", "stroke-dasharray": DASHES[i % 6] }),
            ),
            name,
        ),
    );
    const table = make(
        "details",
        { class: "numbers", ontoggle: () => table.open && box.replaceChildren(numbersOf(title, x, curves)) },
        make("summary", {}, numbers),
    );
    const box = make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": title });
    table.append(box);
    return make(
        "figure",
        { class: "plot" },
        make("figcaption", {}, title, make("small", {}, ` ${y}`)),
        svg,
        make("ul", { class: "key" }, key),
        table,
    );
}

const told = ({ name, points }) => `${name} ${asShort(points[0]?.[1] ?? NaN)} – ${asShort(points.at(-1)?.[1] ?? NaN)}`;

function numbersOf(title, x, curves) {
    const places = [...new Set(curves.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
    const columns = curves.map(({ points }) => new Map(points));
    const cell = (value) => make("td", {}, value === undefined ? "" : asShort(value));
    return make(
        "table",
        {},
        make("caption", { class: "unseen" }, title),
        make(
            "thead",
            {},
            make(
                "tr",
                {},
                [x, ...curves.map(({ name }) => name)].map((name) => make("th", { scope: "col" }, name)),
            ),
        ),
        make(
            "tbody",
            {},
            places.map((at) =>
                make(
                    "tr",
                    {},
                    make("th", { scope: "row" }, asShort(at)),
                    columns.map((values) => cell(values.get(at))),
                ),
            ),
        ),
    );
}
