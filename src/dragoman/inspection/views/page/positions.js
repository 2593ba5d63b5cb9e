// Positions: the tables that the model has, and a laboratory for the paper's formula (section 3.5):
// PE(pos, 2i) = sin(pos / base^(2i/E)), PE(pos, 2i+1) = cos of the same. Each pair of dimensions is a point
// that turns on a ring. Moving by k positions rotates each ring by k times its rate.

import { stack } from "./beam.js";
import { asShort } from "./colour.js";
import { asCount, asWeight, block, fixed, greatest } from "./data.js";
import { beside, controls, factList, heading, hint, numbers, paragraph, roving, slider, table } from "./controls.js";
import { draw, make, scrolling } from "./dom.js";
import { allShown, fitsBeside, heatMap, matrixTable } from "./matrix.js";

export const BASES = [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000];
const WIDTHS = [4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024];
const LENGTHS = Array.from({ length: 64 }, (_, i) => 4 * i + 4);
const SHIFTS = Array.from({ length: 65 }, (_, i) => i - 32);
const RINGS = 32; // the most that are drawn

export function positionsView({ traces, positions }) {
    const panels = traces.map((trace) => tablesOf(trace.positions, trace.model.architecture));
    const own = traces.length ? [beside(traces, panels)] : tablesOf(positions);
    return [...own, ...laboratory(startOf(traces, positions))];
}

/** The first shape in the laboratory: the requested one, or the shape of the first trace. */
function startOf([trace], positions) {
    return {
        width: positions?.width ?? Math.min(trace?.model.config.d_model ?? 64, 128),
        length: positions?.length ?? Math.max(50, trace?.source.tokens.length ?? 0),
        base: positions?.base ?? 10000,
    };
}

function tablesOf(positions, architecture) {
    if (!positions) return [];
    const { kind, note, tables, base } = positions;
    const none = tables.length ? [] : [paragraph("No table of positions to show.")];
    const drawnBelow = ({ layout }) => base && layout === "interleaved"; // the laboratory shows the same table
    // A convolutional model divides the table.
    const ofThePaper = ["sinusoidal", "sinusoidal-halves"].includes(kind) && architecture !== "convolutional";
    return [paragraph(note), none, tables.map((one) => [
        !drawnBelow(one) && tablePart(one), ofThePaper && againstFormula(one, base ?? 10000),
    ])];
}

/** The greatest difference between the model's own sines and cosines and the formula of the laboratory. */
function againstFormula({ layout, first, values }, base) {
    const [length, width] = values.shape;
    const formula = sinusoids({ width, length: first + length, base });
    const sines = Math.ceil(width / 2);
    const interleaved = (d) => (d < sines ? 2 * d : 2 * (d - sines) + 1);
    const dimension = layout === "halves" ? interleaved : (d) => d;
    const worst = block(values).reduce((most, value, i) => {
        const wanted = formula[(first + Math.floor(i / width)) * width + dimension(i % width)];
        return Math.max(most, Math.abs(value - wanted));
    }, 0);
    const rounding = values.raw instanceof Int16Array && worst <= values.scale;
    return paragraph("The greatest difference between this table and the formula is ",
        `${worst.toExponential(1)}${rounding ? ", within the rounding of this file" : ""}.`);
}

/** A matrix of an array whose rows are positions or distances. */
function tableMatrix({ first, values: { shape }, columns }, values) {
    const count = (n, from) => Array.from({ length: n }, (_, i) => ({ label: String(from + i) }));
    const names = count(shape[1], columns === "head" ? 1 : 0);
    const scale = { signed: true, limit: greatest(values) };
    return { rows: count(shape[0], first), columns: names, values, state: allShown, scale };
}

function tablePart(one) {
    const matrix = tableMatrix(one, block(one.values));
    const [length, width] = one.values.shape;
    const map = numbered(`${one.name}: ${one.rows} by ${one.columns}`, one.rows, one.columns);
    map.show(matrix);
    const byHead = one.columns === "head";
    const caption = `${one.name}: rows are ${one.rows}s, columns ${one.columns}s`;
    const work = () => cosines(matrix.values, length, width);
    const figures = numbers(() => matrixTable("positions", caption, matrix, asWeight));
    const alike = !byHead && width > 1 && length > 1 && similarityPart(one.name, one.rows, matrix.rows, work).element;
    return make("section", {}, heading(one.name),
        make("div", { class: fitsBeside(matrix) ? "twofold" : null },
            make("div", {}, map.element, figures.element), byHead ? biasChart(one, matrix) : alike));
}

/** A heat map over numbers, with a readout that names row and column. */
function numbered(label, row, column, style = "numbers") {
    const read = ({ rows, columns, values }, r, c) => [`${row} ${rows[r].label}, ${column} ${columns[c].label}: `,
        make("b", {}, asWeight(values[r * columns.length + c]))];
    return heatMap({ label, style, read });
}

/** Cosines between rows as a square. `update` computes them again. */
function similarityPart(name, what, rows, work) {
    const map = numbered(`${name}: cosine similarity between rows`, what, what, "square");
    let matrix;
    const figures = numbers(() => matrixTable("positions", `${name}: cosine similarity`, matrix, asWeight));
    const update = (axis, again) => {
        matrix = { rows: axis, columns: axis, values: again(), state: allShown, scale: { signed: true, limit: 1 } };
        map.show(matrix);
        figures.refresh();
    };
    update(rows, work);
    const title = make("h4", {}, "Cosine similarity between the rows");
    return { update, element: make("div", {}, title, map.element, figures.element) };
}

/** Cosine of the angle between every two rows. */
export function cosines(values, length, width) {
    const row = (r) => values.subarray(r * width, (r + 1) * width);
    const dot = (a, b) => {
        let sum = 0;
        for (let i = 0; i < width; i++) sum += a[i] * b[i];
        return sum;
    };
    const sizes = Array.from({ length }, (_, r) => Math.sqrt(dot(row(r), row(r))) || 1);
    const result = new Float64Array(length * length);
    for (let a = 0; a < length; a++) {
        for (let b = a; b < length; b++) {
            result[a * length + b] = result[b * length + a] = dot(row(a), row(b)) / sizes[a] / sizes[b];
        }
    }
    return result;
}

function biasChart({ name, first }, { rows, columns, values }) {
    const points = (c) => rows.map((_, r) => [first + r, values[r * columns.length + c]]);
    const lines = columns.map((_, c) => ({ name: `head ${c + 1}`, points: points(c) }));
    const label = `${name}: what each head adds to a logit, by distance`;
    return lineChart({ label, x: "key position − query position", y: "added to the logit", lines });
}

/** The angle by which a ring turns from one position to the next, for each pair of dimensions. */
export function ratesOf({ width, base }) {
    return Array.from({ length: Math.ceil(width / 2) }, (_, i) => base ** ((-2 * i) / width));
}

/** The formula, sines and cosines interleaved. */
export function sinusoids({ width, length, base }) {
    const rates = ratesOf({ width, base });
    const values = new Float64Array(length * width);
    for (let position = 0; position < length; position++) {
        rates.forEach((rate, i) => {
            values[position * width + 2 * i] = Math.sin(position * rate);
            if (2 * i + 1 < width) values[position * width + 2 * i + 1] = Math.cos(position * rate);
        });
    }
    return values;
}

function laboratory(start) {
    const state = { ...start, position: Math.min(5, start.length - 1), shift: 3, ring: 0 };
    const map = numbered("PE(pos, dimension) by the formula", "position", "dimension");
    const matrix = () => tableMatrix({ first: 0, values: { shape: [state.length, state.width] } }, sinusoids(state));
    const work = () => cosines(sinusoids(state), state.length, state.width);
    const caption = "The formula: rows are positions, columns dimensions";
    const figures = numbers(() => matrixTable("positions", caption, matrix(), asWeight));
    const similar = similarityPart("The formula", "position", matrix().rows, work);
    const remark = hint();
    const rings = ringsPart(state);
    const change = (to) => {
        Object.assign(state, to);
        const now = matrix();
        map.show(now);
        figures.refresh();
        similar.update(now.rows, work);
        remark.textContent = slowest(state);
        rings.rebuild();
    };
    const knob = (label, key, list) => slider({
        label,
        values: [...new Set([...list, state[key]])].sort((a, b) => a - b),
        value: state[key],
        change: (value) => change({ [key]: value }),
    }).element;
    const bar = controls(
        knob("Width E", "width", WIDTHS), knob("Length", "length", LENGTHS), knob("Base", "base", BASES));
    change({});
    return [heading("Laboratory: the paper's sines and cosines"), bar, remark,
        ...[map, figures, similar, rings].map(({ element }) => element)];
}

/** The effect of the base: the number of positions in a full turn of the slowest ring. */
function slowest({ width, base, length }) {
    const rates = ratesOf({ width, base });
    const turn = (2 * Math.PI) / rates.at(-1);
    const round = `With base ${base} a full turn of the slowest of ${rates.length} rings takes ${asCount(turn)} positions`;
    return turn > length ? `${round}. Its angle differs at all ${length} positions.`
        : `${round}, fewer than the ${length} shown, so its angle repeats.`;
}

/** Rings, position and shift, and the rotation of the chosen ring. */
function ringsPart(state) {
    const rows = make("div", { class: "rings", role: "group", "aria-label": "One ring for each frequency" });
    const about = hint();
    const shifted = make("div", { class: "shift" });
    const figures = numbers(() => ringsTable(state));
    let turn = []; // functions that turn the rings drawn

    const update = () => {
        state.position = Math.min(state.position, state.length - 1);
        turn.forEach((one) => one());
        shifted.replaceChildren(...shiftOf(state));
        figures.refresh();
    };
    const rebuild = () => {
        const rates = ratesOf(state);
        const every = Math.ceil(rates.length / RINGS);
        const shown = rates.map((_, i) => i).filter((i) => i % every === 0);
        state.ring = shown.filter((i) => i <= state.ring).at(-1);
        about.textContent = (every === 1 ? "One ring for each frequency" : `One ring in ${every} of ${rates.length}`)
            + ": the solid point is (cos, sin) at the position, the hollow one at the shifted position. "
            + "Choose a ring to see its numbers.";
        const drawn = shown.map((i) => ringOf(state, i, update));
        rows.replaceChildren(...drawn.map(({ element }) => element));
        turn = drawn.map((one) => one.turn);
        roving(drawn.map(({ element }) => element));
        where.change(state.length);
        update();
    };
    const where = positionControls(state, update);
    const shift = slider({ label: "Shift k", values: SHIFTS, value: state.shift, change(k) {
        state.shift = k;
        update();
    } });
    const element = make("div", {}, make("h4", {}, "Rings that turn"), controls(where.element, shift.element),
        about, rows, shifted, figures.element);
    return { element, rebuild };
}

/** A slider for the position, and a button that plays through the positions. */
function positionControls(state, update) {
    const box = make("div", { class: "together" });
    let position;
    let timer = null;
    const stop = () => {
        clearInterval(timer);
        timer = null;
        button.textContent = "Play";
    };
    const onward = () => {
        if (!box.getClientRects().length) return stop(); // another view is shown
        state.position = (state.position + 1) % state.length;
        position.set(state.position);
        update();
    };
    const button = make("button", { type: "button", class: "play", onclick() {
        if (timer !== null) return stop();
        timer = setInterval(onward, 200);
        button.textContent = "Pause";
    } }, "Play");
    return {
        element: box,
        change(length) {
            const values = Array.from({ length }, (_, i) => i);
            position = slider({ label: "Position", values, value: Math.min(state.position, length - 1), change(to) {
                state.position = to;
                update();
            } });
            box.replaceChildren(position.element, button);
        },
    };
}

function ringOf(state, i, update) {
    const rate = ratesOf(state)[i];
    const then = draw("circle", { r: 4.5, class: "then" });
    const { svg, point } = dial(`ring ${i}`, then);
    const element = make("button", { type: "button", "data-ring": i, onclick() {
        state.ring = i;
        update();
    } },
    svg,
    make("span", {}, `i = ${i}`), make("small", {}, `turns in ${asCount((2 * Math.PI) / rate)}`));
    const turn = () => {
        element.setAttribute("aria-pressed", String(state.ring === i));
        point(state.position * rate);
        put(then, (state.position + state.shift) * rate);
    };
    return { element, turn };
}

/** A ring with a hand. `point` turns it to an angle. */
export function dial(label, ...behind) {
    const hand = draw("line", { x1: 0, y1: 0 });
    const now = draw("circle", { r: 4.5, class: "now" });
    const svg = draw("svg", { viewBox: "-32 -32 64 64", role: "img", "aria-label": label },
        draw("circle", { r: 25, class: "track" }), hand, behind, now);
    const point = (angle) => {
        put(now, angle);
        hand.setAttribute("x2", now.getAttribute("cx"));
        hand.setAttribute("y2", now.getAttribute("cy"));
    };
    return { svg, point };
}

function put(point, angle) {
    point.setAttribute("cx", (25 * Math.cos(angle)).toFixed(2));
    point.setAttribute("cy", (-25 * Math.sin(angle)).toFixed(2)); // up is positive
}

/** (cos, sin) of an angle, and the rotation of such a pair. */
const pointAt = (angle) => [Math.cos(angle), Math.sin(angle)];
const rotate = ([x, y], angle) => {
    const [cos, sin] = pointAt(angle);
    return [cos * x - sin * y, sin * x + cos * y];
};

/** The numbers that show a shift by k as a rotation: for the chosen ring, and the greatest error of all rings. */
function shiftOf(state) {
    const { position, shift, ring } = state;
    const rates = ratesOf(state);
    const angle = shift * rates[ring];
    const rotated = rotate(pointAt(position * rates[ring]), angle);
    const there = pointAt((position + shift) * rates[ring]);
    const worst = greatestDifference(state);
    const pair = ([a, b]) => `(${asWeight(a)}, ${asWeight(b)})`;
    const facts = [
        ["angle", `k · rate = ${shift} · ${asShort(rates[ring])} = ${asWeight(angle)} radians`
            + ` = ${fixed((angle * 180) / Math.PI, 2)}°`],
        ["PE(pos)", `(cos, sin) at ${position} = ${pair(pointAt(position * rates[ring]))}`],
        ["R(k) · PE(pos)", pair(rotated)],
        ["PE(pos + k)", `(cos, sin) at ${position + shift} = ${pair(there)}`],
        ["difference", `greatest over all ${rates.length} rings: ${worst.toExponential(1)}`],
    ];
    const [cos, sin] = pointAt(angle);
    const matrix = [[cos, -sin], [sin, cos]].map((row) =>
        make("tr", {}, row.map((value) => make("td", {}, asWeight(value)))));
    return [
        make("h4", {}, `Ring ${ring}: a shift by ${shift} is a rotation`),
        make("div", { class: "together" },
            make("table", { class: "rotation" }, make("caption", {}, "R(k)"), make("tbody", {}, matrix)),
            factList(facts)),
    ];
}

/** The greatest difference, over all rings, between a rotated position and the shifted one. */
function greatestDifference(state) {
    return Math.max(...ratesOf(state).flatMap((rate) => {
        const rotated = rotate(pointAt(state.position * rate), state.shift * rate);
        return pointAt((state.position + state.shift) * rate).map((value, i) => Math.abs(value - rotated[i]));
    }));
}

function ringsTable(state) {
    const { position, shift } = state;
    const head = ["i", "rate", "positions per turn", "cos", "sin", "angle of the shift", "cos shifted", "sin shifted"];
    const caption = `Each ring at position ${position}, and shifted to ${position + shift}`;
    return table("rings", caption, head, ratesOf(state).map((rate, i) => [
        String(i), rate.toPrecision(6), ((2 * Math.PI) / rate).toPrecision(6),
        ...pointAt(position * rate).map(asWeight), asWeight(shift * rate),
        ...pointAt((position + shift) * rate).map(asWeight),
    ]));
}

/**
 * A line chart. Lines {name, points} differ in colour and dashes, with their names at the end, or below where the
 * window is narrow. `marks` {at, name} are vertical lines. With `log` both axes are logarithmic.
 */
export function lineChart({ label, x, y, lines, log = false, marks = [] }) {
    const room = document.documentElement.clientWidth - 32;
    const narrow = room < 544; // the least in style.css; then a unit is a pixel
    const longest = Math.max(...lines.map(({ name }) => name.length));
    const [height, left, top, bottom] = [320, 74, 22, 42];
    const [width, right] = narrow ? [room, 24] : [640, Math.min(Math.max(8 * longest + 16, 60), 260)];
    const every = (axis) => lines.flatMap(({ points }) => points.map((point) => point[axis]));
    const across = chartAxis(every(0), left, width - right, log);
    const up = chartAxis(every(1), height - bottom, top, log);
    const ends = spread(lines.map(({ points }) => up.at(points.at(-1)[1])), 15);
    const all = height + (narrow ? 18 * lines.length + 4 : 0);
    const style = narrow ? { "min-width": 0, "max-width": `${width}px` } : {};
    const frame = { class: "chart", style, viewBox: `0 0 ${width} ${all}`, role: "img", "aria-label": label };
    const curve = (i, points) => draw("polyline", { class: `curve hue${i % 8} dash${i % 4}`,
        points: points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ") });
    const named = (name, i) => {
        const [x, y] = narrow ? [38, height + 18 * i + 10] : [width - right + 8, ends[i]];
        return [narrow && curve(i, [[0, y], [30, y]]), draw("text", { x, y: y + 4, class: `hue${i % 8}` }, name)];
    };
    return scrolling(label, draw("svg", frame,
        across.ticks.map((value) =>
            draw("text", { x: across.at(value), y: height - bottom + 18, "text-anchor": "middle" }, asTick(value))),
        up.ticks.map((value) => [
            draw("line", { class: "rule", x1: left, x2: width - right, y1: up.at(value), y2: up.at(value) }),
            draw("text", { x: left - 8, y: up.at(value) + 4, "text-anchor": "end" }, asTick(value)),
        ]),
        draw("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, x),
        draw("text", { x: 0, y: 12 }, y),
        marks.map(({ at, name }) => [
            draw("line", { class: "mark", x1: across.at(at), x2: across.at(at), y1: top, y2: height - bottom }),
            draw("text", { x: across.at(at), y: 14, "text-anchor": "middle" }, name),
        ]),
        lines.map(({ name, points }, i) => [
            curve(i, points.map(([a, b]) => [across.at(a), up.at(b)])), named(name, i),
        ])));
}

/** A number at an axis. */
export const asTick = (value) => (Math.abs(value) < 1000 ? asShort(value) : asCount(value));

/** The scale of an axis: `at(value)` is its place between `from` and `to`, `ticks` are the values to label. */
function chartAxis(values, from, to, log) {
    const unit = log ? Math.log10 : Number;
    const [low, high] = [Math.min(...values), Math.max(...values)].map(unit);
    const powers = [...Array(32).keys()].filter((power) => power >= low && power <= high);
    const round = powers.filter((power) => power % Math.ceil(powers.length / 6) === 0);
    const least = (high - low || 1) / 5;
    const ten = 10 ** Math.floor(Math.log10(least));
    const step = ten * [1, 2, 5, 10].find((n) => n * ten >= least * 0.999);
    const even = Array.from({ length: 7 }, (_, i) => Number(((Math.ceil(low / step - 1e-9) + i) * step).toPrecision(12)));
    const ticks = log ? round.map((power) => 10 ** power) : even.filter((value) => value <= high + step * 1e-9);
    return { at: (value) => from + ((unit(value) - low) / (high - low || 1)) * (to - from), ticks };
}

/** `stack` for wishes in any order. */
function spread(wishes, gap) {
    const order = wishes.map((_, i) => i).sort((a, b) => wishes[a] - wishes[b]);
    const places = stack(order.map((i) => wishes[i]), gap);
    return wishes.map((_, i) => places[order.indexOf(i)]);
}
