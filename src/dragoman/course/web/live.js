// Numbers of the page that the model computes. Each has a key, by which tests and snippets of Python find it.

import { scaleOf } from "../../inspection/views/page/colour.js";
import { slider, table } from "../../inspection/views/page/controls.js";
import { fixed } from "../../inspection/views/page/data.js";
import { make, scrolling } from "./dom.js";

/** A live number with some decimals. */
export const number = (key, value, decimals = 3) => make("span", { class: "number", "data-live": key },
    Number(fixed(value, decimals)).toLocaleString("en", { minimumFractionDigits: decimals }));

/** A live text, such as a token. */
export const word = (key, text) => make("bdi", { class: "name", "data-live": key }, text);

/** A live text in German. */
export const german = (key, text) => make("span", { lang: "de", dir: "auto" }, word(key, text));

/** A text in which W_Q gets a subscript. */
export const scripted = (text) => text.split(/_(\w)/).map((part, i) => (i % 2 ? make("sub", {}, part) : part));

/** A token without the sign of the space before it. */
export const named = (piece) => piece.replace(/^▁(?=.)/u, "");

/**
 * A table whose first column names the rows. A column with letters is set as text, others as numbers. `kind` names
 * the table for the style sheet.
 */
export function figures(caption, head, rows, kind = null) {
    const made = table(kind, caption, head, rows);
    head.forEach((_, i) => {
        const cells = Array.from(made.rows, (row) => row.cells[i]);
        const text = cells.slice(1).some((cell) => /\p{L}/u.test(cell.textContent));
        for (const cell of cells) cell.classList.toggle("text", text);
    });
    return scrolling(made.caption.textContent, made);
}

/** Sliders that set the numbers of a state: the label of each is that of its key in the chapter. */
export const knobs = (say, chapter, state, show, lists) => Object.entries(lists).map(([key, values]) => slider({
    label: say(`${chapter}.${key}`), values, value: state[key],
    change(value) {
        state[key] = value;
        return show();
    },
}).element);

/** Call `work(current, ...)` and mark the element as busy; `current()` tells whether no later call has begun. */
export function latest(element, work) {
    let newest = 0;
    return async (...values) => {
        const own = ++newest;
        element.setAttribute("aria-busy", "true");
        try {
            await work(() => own === newest, ...values);
        } finally {
            if (own === newest) element.removeAttribute("aria-busy");
        }
    };
}

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
    const name = (scope, text) => make("th", { scope }, make("bdi", {}, text));
    const labelled = Array.isArray(rows);
    const head = Array.isArray(columns) && make("thead", {},
        make("tr", {}, labelled && make("td", {}), columns.map((text) => name("col", text))));
    const body = values.map((row, r) => make("tr", {}, labelled && name("row", rows[r]),
        Array.from(row, (value, c) => cell(value, r, c))));
    const shown = make("table", { class: "matrix" }, make("caption", {}, caption), head, make("tbody", {}, body));
    shown.addEventListener("repaint", paint);
    return scrolling(caption, shown);
}

function colour(cell, value, { shades, shade }) {
    const at = 3 * shade(value);
    const [r, g, b] = shades.subarray(at, at + 3);
    const luminance = (0.2126 * r ** 2.2 + 0.7152 * g ** 2.2 + 0.0722 * b ** 2.2) / 255 ** 2.2; // as WCAG has it
    cell.style.setProperty("background-color", `rgb(${r} ${g} ${b})`);
    cell.style.setProperty("color", luminance > 0.179 ? "#000000" : "#ffffff");
}
