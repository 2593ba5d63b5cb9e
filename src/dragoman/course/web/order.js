// Chapter 2: the order of words.

import { choice, controls, slider } from "../../inspection/views/page/controls.js";
import { allShown, heatMap } from "../../inspection/views/page/matrix.js";
import { BASES, cosines, dial, ratesOf, sinusoids } from "../../inspection/views/page/positions.js";
import { draw, make, scrolling } from "./dom.js";
import { figures, knobs, latest, matrix, named, number, word } from "./live.js";
import { best, cosine, dot, mean, norm, range } from "./model.js";
import { lines } from "./plot.js";

const BASE = 10000; // of the paper
const POSITIONS = 200; // whose distances are compared

const split = (values, width) => range(values.length / width).map((r) => values.subarray(r * width, (r + 1) * width));
const settings = (say, ...how) => controls(knobs(say, "order", ...how));
const readout = (...children) => make("p", { class: "live", role: "status" }, ...children);

// ---- words change places ------------------------------------------------------------------------------------------

const UNPLACED = [{ what: "no_positions", stack: "encoder" }];
const WAYS = { none: UNPLACED, placed: [] };
const DIGITS = 3; // numbers of each vector that are shown

function shuffle({ model, say }) {
    const state = { way: "none", ids: [], order: [], picked: null, found: null };
    const list = make("ol", { class: "places", "aria-label": say("order.tokens") });
    const body = make("div", {});
    let newest = 0;

    /** What the encoder gives for the tokens in the order in which it reads them. */
    const encoded = async (ids, way) => {
        const { values, shape: [, width] } = (await model.translator.trace(ids, [], WAYS[way])).encoder_norm;
        return split(values, width);
    };

    /** The vectors of each token of the sentence, before and after the change of order. */
    const compute = async () => {
        const own = ++newest;
        const order = [...state.order, state.order.length]; // the end stays at the end
        const found = {};
        for (const way of Object.keys(WAYS)) {
            const before = await encoded(state.ids, way);
            const after = await encoded(state.order.map((i) => state.ids[i]), way);
            found[way] = before.map((vector, i) => [vector, after[order.indexOf(i)]]);
        }
        if (own !== newest) return; // the order has changed again
        state.found = found;
        show();
    };

    const move = (from, to) => {
        state.order.splice(to, 0, ...state.order.splice(from, 1));
        arrange(to);
        return compute();
    };
    const swap = (a, b) => {
        [state.order[a], state.order[b]] = [state.order[b], state.order[a]];
        arrange(b);
        return compute();
    };
    const set = (order) => {
        state.order = order;
        arrange();
        return compute();
    };

    const arrange = (focused = null) => {
        state.picked = null;
        const buttons = state.order.map((token, place) => make("button", {
            type: "button",
            draggable: "true",
            "aria-pressed": "false",
            onclick() {
                if (state.picked !== null) return swap(state.picked, place);
                state.picked = place;
                this.setAttribute("aria-pressed", "true");
            },
            ondragstart: ({ dataTransfer }) => dataTransfer.setData("text/plain", String(place)),
            ondragover: (event) => event.preventDefault(),
            ondrop(event) {
                event.preventDefault();
                const from = Number(event.dataTransfer.getData("text/plain"));
                if (from in state.order) move(from, place);
            },
        }, make("bdi", {}, named(state.pieces[token]))));
        list.replaceChildren(...buttons.map((button) => make("li", {}, button)));
        if (focused !== null) buttons[focused].focus();
    };

    const furthest = (pairs) => Math.max(...pairs.map(([a, b]) => Math.max(...a.map((x, i) => Math.abs(x - b[i])))));
    const show = () => {
        const { found, order, pieces } = state;
        const shown = found[state.way];
        const cells = (key, vector) => range(DIGITS).map((d) => number(`${key}.${d}`, vector[d]));
        const places = [...order, order.length];
        const rows = shown.map(([before, after], i) => [
            make("bdi", {}, named(pieces[i])),
            `${i} → ${places.indexOf(i)}`,
            ...cells(`order.shuffle.${i}.before`, before),
            ...cells(`order.shuffle.${i}.after`, after),
        ]);
        const head = [say("order.token"), say("order.place"), ...["before", "after"].flatMap((when) =>
            range(DIGITS).map((dimension) => say(`order.${when}`, { dimension })))];
        const differences = Object.keys(WAYS).map((way) =>
            [say(`order.way.${way}`), number(`order.shuffle.${way}`, furthest(found[way]), 4)]);
        body.replaceChildren(
            figures(say("order.vectors", { way: say(`order.way.${state.way}`) }), head, rows),
            figures(say("order.differences"), ["", say("order.difference")], differences));
    };

    const random = () => {
        const order = [...state.order];
        for (let i = order.length - 1; i > 0; i--) {
            const j = Math.floor(Math.random() * (i + 1));
            [order[i], order[j]] = [order[j], order[i]];
        }
        set(order);
    };
    const press = (key, action) => make("button", { type: "button", class: "play", onclick: action }, say(key));
    const ways = choice({
        label: say("order.positions"),
        value: state.way,
        options: Object.keys(WAYS).map((value) => ({ value, text: say(`order.way.${value}`) })),
        change(way) {
            state.way = way;
            if (state.found) show();
        },
    });
    const count = () => state.ids.length;
    return {
        element: make("div", {}, list,
            controls(press("order.random", random), press("order.reverse", () => set(range(count()).reverse())),
                press("order.restore", () => set(range(count()))), ways), body),
        update({ source: { ids, pieces } }) {
            Object.assign(state, { ids, pieces, found: null });
            return set(range(count()).reverse());
        },
    };
}

// ---- the index, the fraction --------------------------------------------------------------------------------------

function index({ say }) {
    const state = { position: 20 };
    const body = make("div", {});
    const show = () => {
        if (!state.run) return;
        const { source: { pieces } } = state.run;
        const second = Math.min(1, pieces.length - 1);
        const [a, b] = [0, second].map((i) => state.run.rows("source.embedding")[i].slice(0, -1));
        const alike = (position) => cosine([...a, position], [...b, position]);
        const [one, other] = [0, second].map((i) => named(pieces[i]));
        const rows = [
            [say("order.length_of", { token: one }), number("order.index.length", norm(a))],
            [say("order.position"), number("order.index.position", state.position, 0)],
            [say("order.alike", { one, other }), number("order.index.cosine", alike(state.position))],
        ];
        const points = range(101).map((position) => [position, alike(position)]);
        body.replaceChildren(figures(say("order.index"), ["", ""], rows), lines({
            title: say("order.index_chart", { one, other }), x: say("order.position"),
            y: say("order.cosine"), numbers: say("order.numbers"), mark: state.position,
            curves: [{ name: say("order.cosine"), points }],
        }));
    };
    return {
        element: make("div", {}, settings(say, state, show, { position: range(101) }), body),
        update(run) {
            state.run = run;
            show();
        },
    };
}

const ANCHORS = { 0: "start", 1: "end" };

function fraction({ say }) {
    const state = { own: 1, other: 30 };
    const body = make("div", {});
    const ruler = (count, y) => {
        const at = (i) => 8 + (i / count) * 624;
        return [
            draw("line", { class: "ruler", x1: 8, x2: 632, y1: y, y2: y }),
            range(count).map((i) => draw("circle", { class: i < 2 ? "now" : "word", cx: at(i), cy: y, r: 5 })),
        ];
    };
    const show = () => {
        const counts = [state.own, state.other];
        const label = say("order.rulers", { own: state.own, other: state.other });
        const rows = ["own", "other"].map((name, i) => [
            say(name === "own" ? "order.own" : "order.other_row"),
            number(`order.fraction.${name}.tokens`, counts[i], 0),
            number(`order.fraction.${name}.step`, 1 / counts[i], 4),
            number(`order.fraction.${name}.quarter`, counts[i] / 4, 2),
        ]);
        const head = ["", ...["count", "step", "quarter"].map((key) => say(`order.${key}`))];
        body.replaceChildren(
            scrolling(label, draw("svg", { class: "plot rulers", viewBox: "0 0 640 84", "aria-hidden": "true" },
                ruler(state.own, 16), ruler(state.other, 56),
                [0, 0.25, 0.5, 0.75, 1].map((part) =>
                    draw("text", { x: 8 + part * 624, y: 80, "text-anchor": ANCHORS[part] ?? "middle" }, part)))),
            figures(say("order.fraction"), head, rows));
    };
    return {
        element: make("div", {}, settings(say, state, show, { other: range(59, 2) }), body),
        update({ source: { pieces } }) {
            state.own = pieces.length;
            show();
        },
    };
}

// ---- sines and cosines --------------------------------------------------------------------------------------------

/** A matrix for `heatMap` whose rows and columns are counted from 0. */
const counted = (rows, columns, values) => ({
    rows: range(rows).map((i) => ({ label: String(i) })), columns: range(columns).map((i) => ({ label: String(i) })),
    values, state: allShown, scale: { signed: true, limit: 1 },
});

const WIDTHS = [4, 8, 16, 32, 64, 128];

function heat({ say }) {
    const state = { length: 64, width: 64 };
    const map = heatMap({
        label: say("order.heat"), arrows: say("order.arrows"), style: "numbers",
        read: ({ columns, values }, row, column) => [say("order.cell", { row, column }), " ",
            number("order.heat.value", values[row * columns.length + column], 4)],
    });
    const show = () => map.show(counted(state.length, state.width, sinusoids({ ...state, base: BASE })));
    show();
    map.point(5, 4);
    const sliders = settings(say, state, show, { length: [8, 16, 32, 64, 128, 256], width: WIDTHS });
    return { element: make("div", {}, sliders, map.element) };
}

function rings({ say }) {
    const state = { position: 5, width: 16, base: BASE };
    const rates = ratesOf(state);
    const drawn = rates.map((rate, i) => {
        const { svg, point } = dial(say("order.ring", { i }));
        const figure = make("small", {});
        const turn = () => {
            const [sin, cos] = [Math.sin, Math.cos].map((of) => of(state.position * rate));
            point(state.position * rate);
            figure.replaceChildren("sin ", number(`order.rings.${i}.sin`, sin, 2), make("br", {}),
                "cos ", number(`order.rings.${i}.cos`, cos, 2));
        };
        const period = number(`order.rings.${i}.turn`, (2 * Math.PI) / rate, 1);
        const element = make("div", { class: "ring" }, svg, make("span", {}, `${2 * i}, ${2 * i + 1}`), figure,
            make("small", {}, say("order.turn"), make("br", {}), period));
        return { element, turn };
    });
    const elementOf = ({ element }) => element;
    const show = () => drawn.forEach(({ turn }) => turn());
    const go = (position) => {
        state.position = position;
        show();
    };
    const knob = slider({ label: say("order.position"), values: range(100), value: state.position, change: go });
    const box = make("div", {}, controls(knob.element, player(say, () => box.getClientRects().length > 0, () => {
        go((state.position + 1) % 100);
        knob.set(state.position);
    })), make("div", { class: "rings", role: "group", "aria-label": say("order.rings") }, drawn.map(elementOf)));
    show();
    return { element: box };
}

/** A button that starts and stops a motion, unless the reader wants none. */
function player(say, visible, onward) {
    let timer = null;
    const stop = () => {
        clearInterval(timer);
        timer = null;
        button.textContent = say("order.play");
    };
    const button = make("button", { type: "button", class: "play", onclick() {
        if (timer !== null) return stop();
        timer = setInterval(() => (visible() ? onward() : stop()), 250);
        button.textContent = say("order.pause");
    } }, say("order.play"));
    return !matchMedia("(prefers-reduced-motion: reduce)").matches && button;
}

// ---- the rotation -------------------------------------------------------------------------------------------------

/** The matrix that turns PE(pos) into PE(pos + k), for each pos. */
function rotation(k, { width, base }) {
    const rows = range(width).map(() => new Float64Array(width));
    ratesOf({ width, base }).forEach((rate, i) => {
        const [sin, cos] = [Math.sin(k * rate), Math.cos(k * rate)];
        rows[2 * i].set([cos, sin], 2 * i);
        rows[2 * i + 1].set([-sin, cos], 2 * i);
    });
    return rows;
}

function rotating({ say }) {
    const small = { width: 8, base: BASE };
    const state = { position: 5, shift: 3 };
    const body = make("div", {});
    const show = () => {
        const { position, shift } = state;
        const turn = rotation(shift, small);
        const table = split(sinusoids({ ...small, length: position + shift + 1 }), small.width);
        const [here, there] = [table[position], table[position + shift]];
        const rows = turn.map((row, d) => [String(d), number(`order.rotation.here.${d}`, here[d]),
            number(`order.rotation.turned.${d}`, dot(row, here)), number(`order.rotation.there.${d}`, there[d])]);
        const head = [say("order.dimension"), "PE(pos)", "R(k) PE(pos)", "PE(pos + k)"];
        body.replaceChildren(
            make("div", { class: "twofold" },
                matrix("order.rotation.matrix", turn, { caption: say("order.matrix", { k: shift }), limit: 1,
                    rows: range(small.width).map(String), columns: range(small.width).map(String) }),
                figures(say("order.rotated", { position, there: position + shift }), head, rows)),
            readout(say("order.worst"), " ", number("order.rotation.worst", worst(shift), 6)));
    };
    show();
    return { element: make("div", {}, settings(say, state, show, { position: range(100), shift: range(21) }), body) };
}

/** The greatest difference between R(k) PE(pos) and PE(pos + k), over 100 positions and 64 dimensions. */
function worst(k) {
    const shape = { width: 64, base: BASE };
    const turn = rotation(k, shape);
    const rows = split(sinusoids({ ...shape, length: 100 + k }), shape.width);
    const difference = (pos) => turn.map((row, d) => Math.abs(dot(row, rows[pos]) - rows[pos + k][d]));
    return Math.max(...range(100).flatMap(difference));
}

// ---- how alike positions are --------------------------------------------------------------------------------------

function similarity({ say }) {
    const state = { base: 100, width: 64 };
    const map = heatMap({
        label: say("order.similarity"), arrows: say("order.arrows"), style: "square",
        read: ({ values }, row, column) => [say("order.pair", { row, column }), " ",
            number("order.similarity.value", values[row * POSITIONS + column])],
    });
    const body = make("div", {});
    const show = () => {
        const alike = (base) => cosines(sinusoids({ ...state, base, length: POSITIONS }), POSITIONS, state.width);
        const values = alike(state.base);
        map.show(counted(POSITIONS, POSITIONS, values));
        const curve = [...values.subarray(0, POSITIONS)]; // of position 0, which is that of each distance
        const far = curve.findIndex((value) => value < 0.1);
        const again = curve.reduce((most, value, k) => (k > far && value > curve[most] ? k : most), Math.max(far, 0));
        const facts = [["turned", number("order.similarity.turn", (2 * Math.PI) / ratesOf(state).at(-1), 0)],
            ...(far < 0 ? [] : [["far", number("order.similarity.far", far, 0)],
                ["again", number("order.similarity.again", again, 0)],
                ["again_cosine", number("order.similarity.cosine", curve[again])]])];
        const points = (values) => values.map((value, k) => [k, value]);
        const curves = [{ name: say("order.base_is", state), points: points(curve) }];
        if (state.base !== BASE) {
            const paper = [...alike(BASE).subarray(0, POSITIONS)];
            curves.push({ name: say("order.base_is", { base: BASE }), points: points(paper) });
        }
        body.replaceChildren(
            figures(say("order.facts"), ["", ""], facts.map(([key, value]) => [say(`order.${key}`), value])),
            lines({ title: say("order.by_distance"), x: say("order.distance"), y: say("order.cosine"),
                numbers: say("order.numbers"), curves }));
    };
    show();
    map.point(20, 50);
    return { element: make("div", {}, settings(say, state, show, { base: BASES, width: WIDTHS }), map.element, body) };
}

// ---- adding -------------------------------------------------------------------------------------------------------

function adding({ model, say }) {
    const body = make("div", {});
    const weights = (width) => 4 * width ** 2 + 2 * width * model.shape.d_ff * (width / model.shape.d_model);
    const update = (run) => {
        const embeddings = run.rows("source.embedding");
        const positions = run.rows("source.input").map((row, i) => row.map((value, d) => value - embeddings[i][d]));
        const alike = embeddings.map((row, i) => cosine(row, positions[i]));
        const rows = run.source.pieces.map((piece, i) => [
            make("bdi", {}, named(piece)), number(`order.add.${i}.embedding`, norm(embeddings[i])),
            number(`order.add.${i}.position`, norm(positions[i])), number(`order.add.${i}.cosine`, alike[i]),
        ]);
        const { d_model: width } = model.shape;
        const headed = (keys) => keys.map((key) => say(`order.${key}`));
        body.replaceChildren(
            figures(say("order.add"), headed(["token", "embedding", "place_length", "cosine"]), rows),
            readout(say("order.mean"), " ", number("order.add.mean", mean(alike)), ". ",
                say("order.chance"), " ", number("order.add.chance", Math.sqrt(1 / width)), "."),
            readout(say("order.weights"), " ", number("order.add.weights", weights(width), 0), ". ",
                say("order.doubled"), " ", number("order.add.doubled", weights(2 * width), 0), "."));
    };
    return { element: body, update };
}

// ---- break it -----------------------------------------------------------------------------------------------------

/** Of each word of both lists, whether it is in their longest common subsequence. */
function common(before, after) {
    const most = range(before.length + 1).map(() => new Uint16Array(after.length + 1));
    for (let i = before.length - 1; i >= 0; i--)
        for (let j = after.length - 1; j >= 0; j--)
            most[i][j] = before[i] === after[j] ? most[i + 1][j + 1] + 1 : Math.max(most[i + 1][j], most[i][j + 1]);
    const [old, own] = [before, after].map((words) => words.map(() => false));
    for (let i = 0, j = 0; i < before.length && j < after.length;) {
        if (before[i] === after[j]) old[i++] = own[j++] = true;
        else if (most[i + 1][j] >= most[i][j + 1]) i++;
        else j++;
    }
    return [old, own];
}

function breaking({ model, say, options, sentence }) {
    const state = { added: 10, base: 20 };
    const body = make("div", {});
    const kinds = () => [
        ["whole", []],
        ["unplaced", UNPLACED],
        ["unplaced_target", [{ what: "no_positions", stack: "decoder" }]],
        ["shifted", [{ what: "shift", stack: "encoder", place: state.added }]],
        ["rebased", ["encoder", "decoder"].map((stack) => ({ what: "base", stack, number: state.base }))],
    ];
    const show = latest(body, async (current) => {
        const before = state.run.target.text.split(" ");
        const rows = [];
        for (const [i, [key, changes]] of kinds().entries()) {
            const pick = (logps) => (current() ? best(logps) : model.shape.end_id); // stop if the reader goes on
            const ids = await model.decode(state.run.source.ids, { changes, pick });
            const after = (await model.translator.decode(ids)).split(" ");
            if (!current()) return;
            const [kept, known] = common(before, after);
            const text = word(`order.break.${i}.text`, "");
            text.setAttribute("lang", "de");
            text.append(...after.flatMap((one, j) => [j ? " " : "", known[j] ? one : make("ins", {}, one)]));
            const gone = before.filter((_, j) => !kept[j]).join(" ");
            rows.push([say(`order.${key}`, state), text, make("del", {}, word(`order.break.${i}.gone`, gone))]);
        }
        const head = ["change", "translation", "gone"].map((key) => say(`order.${key}`));
        body.replaceChildren(figures(say("order.break"), head, rows));
    });
    const examples = options.examples.split(" | ").map((text) =>
        make("button", { type: "button", class: "play", onclick: () => sentence.set(text) }, text));
    return {
        element: make("div", { class: "texts" },
            settings(say, state, show, { added: range(201), base: BASES }), controls(...examples), body),
        update(run) {
            state.run = run;
            return show();
        },
    };
}

export const order = {
    "order.shuffle": shuffle,
    "order.index": index,
    "order.fraction": fraction,
    "order.heat": heat,
    "order.rings": rings,
    "order.rotation": rotating,
    "order.similarity": similarity,
    "order.add": adding,
    "order.break": breaking,
};
