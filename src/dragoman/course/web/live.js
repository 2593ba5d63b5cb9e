// Numbers of the page that the model computes. Each has a key, by which tests and snippets of Python find it.

import { scaleOf } from "../../inspection/views/page/colour.js";
import { fixed } from "../../inspection/views/page/data.js";
import { make } from "./dom.js";

/** A live number with some decimals. */
export const number = (key, value, decimals = 3) =>
    make("span", { class: "number", "data-live": key }, fixed(value, decimals));

/** A live text, such as a token. */
export const word = (key, text) => make("bdi", { class: "name", "data-live": key }, text);

/**
 * A matrix with its numbers in coloured cells; the key of a cell is `key.row.column`. `rows` and `columns` are
 * labels, or lengths if there are none. `hidden(r, c)`: the cell is masked. Blue is positive, orange negative.
 */
export function matrix(key, values, { caption, rows, columns, decimals = 2, limit = null, hidden = () => false }) {
    const most = limit ?? Math.max(...values.flatMap((row) => Array.from(row, Math.abs)), 1e-9);
    const signed = values.some((row) => row.some((value) => value < 0));
    const colours = scaleOf({ signed, limit: most });
    const paint = () => {
        for (const [cell, value] of cells) colour(cell, value, scaleOf({ signed, limit: most }));
    };
    const cells = [];
    const cell = (value, r, c) => {
        if (hidden(r, c)) return make("td", { class: "masked" }, "–");
        const element = make("td", { "data-live": key && `${key}.${r}.${c}` }, fixed(value, decimals));
        cells.push([element, value]);
        colour(element, value, colours);
        return element;
    };
    const head =
        Array.isArray(columns) &&
        make(
            "thead",
            {},
            make(
                "tr",
                {},
                Array.isArray(rows) && make("td", {}),
                columns.map((name) => make("th", { scope: "col" }, make("bdi", {}, name))),
            ),
        );
    const body = values.map((row, r) =>
        make(
            "tr",
            {},
            Array.isArray(rows) && make("th", { scope: "row" }, make("bdi", {}, rows[r])),
            Array.from(row, (value, c) => cell(value, r, c)),
        ),
    );
    const table = make("table", { class: "matrix" }, make("caption", {}, caption), head, make("tbody", {}, body));
    table.addEventListener("repaint", paint);
    return make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": caption }, table);
}

function colour(cell, value, { shades, shade }) {
    const at = 3 * shade(value);
    const [r, g, b] = shades.subarray(at, at + 3);
    const luminance = (0.2126 * r ** 2.2 + 0.7152 * g ** 2.2 + 0.0722 * b ** 2.2) / 255 ** 2.2; // as WCAG has it
    cell.style.setProperty("background-color", `rgb(${r} ${g} ${b})`);
    cell.style.setProperty("color", luminance > 0.179 ? "#000000" : "#ffffff");
}
