// Chapter 1: words to numbers.

import { asShort } from "../../inspection/views/page/colour.js";
import { choice, controls, factList, slider } from "../../inspection/views/page/controls.js";
import { draw, make, scrolling } from "./dom.js";
import { figures, german, knobs, latest, matrix, number, word } from "./live.js";
import { cosine, dot, mean, norm, range, softmax } from "./model.js";

const AROUND = 2; // rows of the matrix above and below that of the token
const WIDE = 8; // dimensions that are shown of an embedding
const PAGE = 120; // tokens of the vocabulary at a time
const NEAR = 8; // neighbours
const LIKELY = 6; // rows with the greatest products
const LONGER = 10; // tokens that a changed translation may have more, but no more than MOST in all
const MOST = 60;
const FACTORS = [0, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64];

const bar = (part) => make("div", { class: "bar", "aria-hidden": "true" }, make("span", { style: { "--part": part } }));
const sourceIds = (model, run) => [...run.source.ids, model.shape.end_id];
/** What the decoder reads: the start, then the translation. */
const targetIds = (model, run) => [model.shape.start_id, ...run.target.ids];
const scaled = (row, factor) => Array.from(row, (value) => value * factor);

/** Tokens in boxes, each with what `under` gives. */
function chips(key, pieces, { under = () => null, marked = () => false } = {}) {
    const text = (piece, i) => (key ? word(`${key}.${i}`, piece) : make("bdi", { class: "name" }, piece));
    return make("ol", { class: "chips" }, pieces.map((piece, i) =>
        make("li", { class: marked(i) ? "joined" : null }, text(piece, i), under(i))));
}

/** A field for a word. `change` gets the text. */
function field(label, value, change) {
    const input = make("input", { type: "text", value, maxlength: 40, autocomplete: "off", spellcheck: "false" });
    input.addEventListener("input", () => change(input.value));
    return { element: make("label", { class: "control field" }, make("span", {}, label), input), input };
}

/**
 * Buttons for some tokens above what `show(place)` gives for one of them. `fill(pieces, start)` offers others;
 * the choice stays if it is still there.
 */
function pick(label, show) {
    const bar = make("div", { class: "controls tall" });
    const body = make("div", {});
    let place = null;
    const choose = (to) => body.replaceChildren(...show(to));
    const change = (to) => {
        place = to;
        choose(to);
    };
    const fill = (pieces, start) => {
        const value = Math.min(place ?? start, pieces.length - 1);
        const options = pieces.map((text, i) => ({ value: i, text }));
        bar.replaceChildren(choice({ label, value, change, options }));
        choose(value);
    };
    return { bar, body, fill };
}

// ---- tokens -------------------------------------------------------------------------------------------------------

/** The tokens of the sentence, each with its id. */
function tokens({ model, say }) {
    const body = make("div", {});
    const update = (run) => {
        const ids = sourceIds(model, run);
        body.replaceChildren(
            chips("words.piece", run.source.pieces, {
                under: (i) => make("small", { "data-live": `words.id.${i}` }, ids[i]),
            }),
            factList([
                [say("words.letters"), number("words.letters", [...run.source.text.matchAll(/\p{L}/gu)].length, 0)],
                [say("words.count"), number("words.count", ids.length, 0)],
                [say("words.reads"), word("words.ids", ids.join(" "))],
            ]));
    };
    return { element: body, update };
}

/**
 * How byte-pair encoding cuts a text: all states, from letters to tokens. Of all neighbours that make a token
 * together, those are joined whose token was learned first, and so has the least id.
 */
function merges(text, ids) {
    let parts = [...`▁${text.replaceAll(" ", "▁")}`];
    const states = [{ parts, joined: -1 }];
    for (;;) {
        let at = -1;
        let least = Infinity;
        for (let i = 0; i + 1 < parts.length; i++) {
            const id = ids.get(parts[i] + parts[i + 1]) ?? Infinity;
            if (id < least) [at, least] = [i, id];
        }
        if (at < 0) return states;
        parts = [...parts.slice(0, at), parts[at] + parts[at + 1], ...parts.slice(at + 2)];
        states.push({ parts, joined: at });
    }
}

/** A word of the reader, cut step by step. */
function cut({ model, say }) {
    const ids = new Map(model.pieces.map((piece, id) => [piece, id]));
    const body = make("div", { "aria-live": "polite" });
    let newest = 0;
    let first = null;
    const show = async (text) => {
        const now = ++newest;
        const found = (await model.translator.encode(text)).map((id) => model.pieces[id]);
        if (now !== newest) return;
        if (!found.length) return body.replaceChildren();
        const states = merges(text, ids);
        if (states.at(-1).parts.join(" ") !== found.join(" ")) states.push({ parts: found, joined: -1 }); // bytes
        const row = ({ parts, joined }, i) =>
            make("li", {}, chips(`words.cut.${i}`, parts, { marked: (place) => place === joined }));
        const list = { class: "joints", start: 0, "aria-label": say("words.steps") };
        body.replaceChildren(make("ol", list, states.map(row)));
    };
    const { element, input } = field(say("words.word"), "gardening", show);
    return { element: make("div", {}, controls(element), body), update: () => (first ??= show(input.value)) };
}

/** All tokens, or those with some letters in them. */
function vocabulary({ model, say }) {
    const joined = model.pieces.findIndex((piece) => !piece.startsWith("<"));
    const state = { text: "", page: Math.max(Math.floor(joined / PAGE), 0) };
    const body = make("div", {});
    const all = range(model.pieces.length);
    const turn = (by) => make("button", {
        type: "button",
        onclick() {
            state.page += by;
            show();
        },
    }, say(by < 0 ? "words.before" : "words.after"));
    const [back, on] = [turn(-1), turn(1)];
    const place = make("span", { role: "status" });
    const show = () => {
        const wanted = state.text.replaceAll(" ", "▁");
        const found = all.filter((id) => model.pieces[id].includes(wanted));
        const pages = Math.max(Math.ceil(found.length / PAGE), 1);
        const ids = found.slice(state.page * PAGE, (state.page + 1) * PAGE);
        const list = chips(null, ids.map((id) => model.pieces[id]), { under: (i) => make("small", {}, ids[i]) });
        back.disabled = state.page === 0;
        on.disabled = state.page === pages - 1;
        place.textContent = say("words.page", { page: state.page + 1, pages });
        body.replaceChildren(
            factList([
                [say("words.size"), number("words.size", all.length, 0)],
                [say("words.found"), number("words.found", found.length, 0)],
            ]),
            scrolling(say("words.vocabulary"), list));
    };
    const search = field(say("words.search"), "", (text) => {
        Object.assign(state, { text, page: 0 });
        show();
    });
    show();
    const pages = make("div", { class: "turn" }, back, place, on);
    return { element: make("div", { class: "vocabulary" }, controls(search.element), body, pages) };
}

// ---- one-hot ------------------------------------------------------------------------------------------------------

/** The one-hot vector of a token times the matrix. Of the matrix, the rows around the token's are shown. */
function oneHot({ model, say }) {
    const W = model.embedding;
    const { d_model: width } = model.shape;
    let ids = [];
    let place = 0;
    let first = 0;
    const build = () => {
        const id = ids[place];
        const top = Math.min(Math.max(id - AROUND, 0), W.length - 2 * AROUND - 1);
        const shown = range(2 * AROUND + 1, top);
        const x = W.map((_, row) => (row === id ? 1 : 0));
        const product = range(width).map((c) => x.reduce((sum, value, row) => sum + value * W[row][c], 0));
        const columns = range(Math.min(WIDE, width), first);
        const limit = Math.max(...shown.flatMap((row) => Array.from(W[row], Math.abs)));
        const names = columns.map((c) => String(c + 1));
        const of = (row) => columns.map((c) => row[c]);
        const one = matrix("words.onehot", shown.map((row) => [x[row]]), {
            caption: say("words.x"),
            rows: shown.map((row) => `${row} ${model.pieces[row]}`),
            columns: ["x"],
            decimals: 0,
        });
        const rows = matrix("words.row", shown.map((row) => of(W[row])), {
            caption: say("words.W"), columns: names, limit,
        });
        const result = matrix("words.embedding", [of(product)], { caption: say("words.xW"), columns: names, limit });
        for (const part of [one, rows]) part.querySelectorAll("tbody tr")[id - top].classList.add("picked");
        return [
            make("div", { class: "onehot" }, one, rows, make("span", {}), result),
            factList([
                [say("words.zeros"), number("words.zeros", x.filter((value) => value === 0).length, 0)],
                [say("words.products"), number("words.products", W.length * width, 0)],
                [say("words.norm"), number("words.norm", norm(product))],
            ]),
        ];
    };
    const picked = pick(say("words.token"), (to) => {
        place = to;
        return build();
    });
    const dimension = slider({
        label: say("words.dimension"),
        values: range(Math.ceil(width / WIDE)).map((i) => i * WIDE),
        value: 0,
        show: (value) => String(value + 1),
        change(to) {
            first = to;
            picked.body.replaceChildren(...build());
        },
    });
    return {
        element: make("div", {}, picked.bar, controls(dimension.element), picked.body),
        update(run) {
            ids = sourceIds(model, run);
            picked.fill(run.source.pieces, 2);
        },
    };
}

// ---- near words ---------------------------------------------------------------------------------------------------

/** The rows of the matrix with the greatest cosine to that of a token. */
function near({ model, say }) {
    const ids = new Map(model.pieces.map((piece, id) => [piece, id]));
    const lengths = model.embedding.map(norm);
    let own = [];
    const rows = (id) => {
        const W = model.embedding;
        const similar = W.map((row, other) => dot(row, W[id]) / (lengths[other] * lengths[id] || 1));
        const found = range(W.length).filter((other) => other !== id)
            .sort((a, b) => similar[b] - similar[a]).slice(0, NEAR);
        const go = (other) => make("button", {
            type: "button",
            class: "token",
            onclick() {
                show(other);
                picked.body.querySelector("button").focus(); // the one that had it is gone
            },
        }, model.pieces[other]);
        const caption = make("span", {}, say("words.near"), " ", word("words.near.token", model.pieces[id]));
        const cells = found.map((other, i) => [
            make("span", { "data-live": `words.near.${i}` }, go(other)),
            String(other),
            number(`words.near.${i}.cosine`, similar[other]),
            bar(Math.max(similar[other], 0)),
        ]);
        const head = [say("words.token"), "id", say("words.cosine"), ""];
        return [figures(caption, head, cells)];
    };
    const picked = pick(say("words.token"), (place) => rows(own[place]));
    const show = (id) => picked.body.replaceChildren(...rows(id));
    const message = make("p", { class: "hint", role: "status" });
    const any = field(say("words.any"), "", (text) => {
        const id = text ? ids.get(`▁${text}`) ?? ids.get(text) : undefined;
        message.textContent = text && id === undefined ? say("words.none") : "";
        if (id !== undefined) show(id);
    });
    return {
        element: make("div", {}, picked.bar, controls(any.element), message, picked.body),
        update(run) {
            own = sourceIds(model, run);
            picked.fill(run.source.pieces, 2);
        },
    };
}

/**
 * Eigenvalues and unit eigenvectors of a symmetric matrix, the greatest first, by the method of Jacobi. The entry
 * of a vector with the greatest size is positive.
 */
function eigen(matrix) {
    const n = matrix.length;
    const a = matrix.map((row) => Float64Array.from(row));
    const v = range(n).map((i) => Float64Array.from({ length: n }, (_, j) => Number(i === j))); // a row each
    const size = a.reduce((sum, row) => sum + dot(row, row), 0);
    for (let sweep = 0; sweep < 30; sweep++) {
        const off = a.reduce((sum, row, i) => sum + dot(row, row) - row[i] ** 2, 0);
        if (off <= 1e-24 * size) break;
        for (let p = 0; p < n; p++) {
            for (let q = p + 1; q < n; q++) {
                if (a[p][q] === 0) continue;
                const tau = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                const t = (tau < 0 ? -1 : 1) / (Math.abs(tau) + Math.hypot(1, tau));
                const c = 1 / Math.hypot(1, t);
                const s = c * t;
                for (const row of a) [row[p], row[q]] = [c * row[p] - s * row[q], s * row[p] + c * row[q]];
                for (const rows of [a, v]) {
                    for (let k = 0; k < n; k++) {
                        [rows[p][k], rows[q][k]] = [c * rows[p][k] - s * rows[q][k], s * rows[p][k] + c * rows[q][k]];
                    }
                }
            }
        }
    }
    const greatest = (row) => row.reduce((most, value) => (Math.abs(value) > Math.abs(most) ? value : most), 0);
    return range(n).sort((i, j) => a[j][j] - a[i][i]).map((i) => ({
        value: Math.max(a[i][i], 0),
        vector: v[i].map((value) => value * (greatest(v[i]) < 0 ? -1 : 1)),
    }));
}

/** The two directions in which points vary most, and the points in them. `shares` are parts of the variance. */
function project(points) {
    const centre = range(points[0].length).map((c) => mean(points.map((point) => point[c])));
    const moved = points.map((point) => Float64Array.from(point, (value, c) => value - centre[c]));
    const products = centre.map((_, i) => centre.map((_, j) => moved.reduce((sum, row) => sum + row[i] * row[j], 0)));
    const found = eigen(products);
    const total = found.reduce((sum, { value }) => sum + value, 0) || 1;
    const axes = found.slice(0, 2);
    return {
        shares: axes.map(({ value }) => value / total),
        places: moved.map((point) => axes.map(({ vector }) => dot(point, vector))),
    };
}

/** For each point the nearest other one, or -1. */
function nearest(points) {
    const apart = (a, b) => a.reduce((sum, value, i) => sum + (value - b[i]) ** 2, 0);
    return points.map((point, i) => {
        let [found, least] = [-1, Infinity];
        points.forEach((other, j) => {
            const distance = i === j ? Infinity : apart(point, other);
            if (distance < least) [found, least] = [j, distance];
        });
        return found;
    });
}

/** The tokens of a sentence and its translation on a map. */
function map({ model, say }) {
    const body = make("div", {});
    const update = (run) => {
        const source = new Set(sourceIds(model, run));
        const ids = [...new Set([...source, ...run.target.ids])];
        const points = ids.map((id) => model.embedding[id]);
        const { shares, places } = project(points);
        const [here, there] = [nearest(places), nearest(points)];
        const name = (at) => (at < 0 ? "–" : model.pieces[ids[at]]);
        const kind = (id) => (source.has(id) ? "from" : "to");
        const other = here.filter((at, i) => at !== there[i]).length;
        const rows = ids.map((id, i) => [
            make("bdi", {}, model.pieces[id]),
            number(`words.map.${i}.x`, places[i][0]),
            number(`words.map.${i}.y`, places[i][1] ?? 0),
            word(`words.map.${i}.here`, name(here[i])),
            word(`words.map.${i}.there`, name(there[i])),
        ]);
        const head = ["token", "first", "second", "here", "there"].map((key) => say(`words.${key}`));
        const label = say("words.map.label", { tokens: ids.map((id) => model.pieces[id]).join(" ") });
        const open = body.querySelector("details")?.open;
        body.replaceChildren(
            scatter(label, places.map(([x, y = 0], i) => ({ x, y, text: name(i), kind: kind(ids[i]) }))),
            make("p", { class: "hint" }, make("span", { class: "from" }, "● "), say("words.english"), "  ",
                make("span", { class: "to" }, "● "), say("words.german")),
            factList([
                [say("words.share"), number("words.share", shares[0] + (shares[1] ?? 0))],
                [say("words.other"), number("words.other", other, 0)],
                [say("words.of"), number("words.of", ids.length, 0)],
            ]),
            make("details", { class: "numbers", open }, make("summary", {}, say("table")),
                figures(say("words.map"), head, rows)));
    };
    return { element: body, update };
}

/** Points with names, the same scale on both axes. A name is put where it hides no other, if there is room. */
function scatter(label, points) {
    const width = Math.min(640, document.documentElement.clientWidth - 32); // one unit is one pixel
    const [most, edge] = [420, 36];
    const ranges = ["x", "y"].map((axis) => {
        const values = points.map((point) => point[axis]);
        return [Math.min(...values), Math.max(...values)];
    });
    const [[left, right], [low, high]] = ranges;
    const unit = Math.min((width - 2 * edge) / (right - left || 1), (most - 2 * edge) / (high - low || 1));
    const height = Math.ceil(unit * (high - low)) + 2 * edge;
    const across = (x) => width / 2 + unit * (x - (left + right) / 2);
    const up = (y) => height / 2 - unit * (y - (low + high) / 2);
    const taken = points.map(({ x, y }) => ({ x: across(x) - 5, y: up(y) + 4, wide: 10 })); // by dots and names
    const dots = points.map(({ x, y, kind }) =>
        draw("circle", { class: kind, cx: across(x).toFixed(1), cy: up(y).toFixed(1), r: 4 }));
    const names = points.map(({ x, y, text }) => {
        const wide = 7.5 * [...text].length;
        const at = [across(x), up(y)];
        const spots = [[8, 4], [-8 - wide, 4], [-wide / 2, -11], [-wide / 2, 19], [8, -11], [8, 19]]
            .map(([dx, dy]) => ({ x: at[0] + dx, y: at[1] + dy, wide }));
        const out = (a) => a.x < 0 || a.x + a.wide > width;
        const hides = (a) => taken.some((b) => a.x < b.x + b.wide && b.x < a.x + a.wide && Math.abs(a.y - b.y) < 14);
        const spot = spots.find((one) => !out(one) && !hides(one)) ?? spots.find((one) => !out(one)) ?? spots[0];
        taken.push(spot);
        return draw("text", { x: spot.x.toFixed(1), y: spot.y.toFixed(1) }, text);
    });
    const style = { "min-width": 0, "max-width": `${width}px` };
    const frame = { class: "chart map", style, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label };
    return scrolling(label, draw("svg", frame,
        draw("line", { class: "rule", x1: 0, x2: width, y1: up(0), y2: up(0) }),
        draw("line", { class: "rule", x1: across(0), x2: across(0), y1: 0, y2: height }), dots, names));
}

// ---- the same rows, again -----------------------------------------------------------------------------------------

/** A state of the decoder times the rows of the matrix. */
function logits({ model, say }) {
    const W = model.embedding;
    const lengths = W.map(norm);
    let run;
    const last = `decoder.${model.shape.decoder_layers - 1}.feed_forward_residual`;
    const picked = pick(say("words.after.token"), (place) => {
        const state = run.rows("decoder_norm" in run.trace ? "decoder_norm" : last)[place];
        const theirs = run.rows("logits")[place];
        const products = W.map((row) => dot(row, state));
        const chances = softmax(products);
        const found = range(W.length).sort((a, b) => products[b] - products[a]).slice(0, LIKELY);
        const rows = found.map((id, i) => [
            word(`words.logit.${i}`, model.pieces[id]),
            number(`words.logit.${i}.length`, lengths[id]),
            number(`words.logit.${i}.cosine`, cosine(state, W[id])),
            number(`words.logit.${i}.product`, products[id]),
            number(`words.logit.${i}.model`, theirs[id]),
            number(`words.logit.${i}.p`, chances[id], 4),
        ]);
        const head = ["row", "rowLength", "cosine", "product", "logit", "probability"];
        return [
            factList([[say("words.state"), number("words.state", norm(state))]]),
            figures(say("words.logits"), head.map((key) => say(`words.${key}`)), rows),
            factList([
                [say("words.one"), number("words.one", W.length * W[0].length, 0)],
                [say("words.three"), number("words.three", 3 * W.length * W[0].length, 0)],
            ]),
        ];
    });
    return {
        element: make("div", {}, picked.bar, picked.body),
        update(next) {
            run = next;
            picked.fill(targetIds(model, run).map((id) => model.pieces[id]), 0);
        },
    };
}

// ---- sqrt(d) ------------------------------------------------------------------------------------------------------

/** How long embeddings are beside positions, with and without the factor. */
function lengths({ model, say }) {
    const body = make("div", {});
    const update = (run) => {
        const inputs = run.rows("source.input");
        const rows = run.rows("source.embedding").map((long, i) => {
            const short = model.embedding[sourceIds(model, run)[i]];
            const position = long.map((value, c) => inputs[i][c] - value);
            const sum = short.map((value, c) => value + position[c]);
            return [
                make("bdi", {}, run.source.pieces[i]),
                number(`words.short.${i}`, norm(short)),
                number(`words.long.${i}`, norm(long)),
                number(`words.position.${i}`, norm(position)),
                number(`words.short.${i}.cosine`, cosine(sum, short)),
                number(`words.long.${i}.cosine`, cosine(inputs[i], long)),
            ];
        });
        const head = ["token", "short", "long", "position", "kept.short", "kept.long"];
        body.replaceChildren(figures(say("words.lengths"), head.map((key) => say(`words.${key}`)), rows));
    };
    return { element: body, update };
}

/** The translation with another factor in the place of sqrt(d). */
function factor({ model, say }) {
    const W = model.embedding;
    const body = make("div", { "aria-live": "polite" });
    const trained = Math.sqrt(model.shape.d_model);
    let run;
    const state = { factor: 1 };
    const changes = (read, target) => [["encoder", read], ["decoder", [model.shape.start_id, ...target]]]
        .flatMap(([stack, ids]) => ids.map((id, place) => (
            { what: "embedding", stack, place, values: scaled(W[id], state.factor) })));
    const show = latest(body, async (current) => {
        const own = run;
        const { source, target } = own;
        const read = sourceIds(model, own);
        const cost = model.loss(own, await model.translator.trace(source.ids, target.ids, changes(read, target.ids)));
        const found = [];
        const most = Math.min(target.ids.length + LONGER, MOST);
        while (found.length < most) {
            const logps = await model.next(source.ids, found, changes(read, found));
            if (!current()) return;
            const id = logps.indexOf(Math.max(...logps));
            if (id === model.shape.end_id) break;
            found.push(id);
        }
        const text = (await model.translator.decode(found)) + (found.length < most ? "" : " …");
        if (!current()) return;
        const head = ["factor", "nats", "translation"].map((key) => say(`words.${key}`));
        body.replaceChildren(figures(say("words.break"), head, [
            [say("words.trained", { factor: asShort(trained) }),
                number("words.whole.loss", model.loss(own, own.trace)), german("words.whole.text", target.text)],
            [String(state.factor), number("words.break.loss", cost), german("words.break.text", text)],
        ]));
    });
    return {
        element: make("div", {}, controls(knobs(say, "words", state, show, { factor: FACTORS })), body),
        update(next) {
            run = next;
            return show();
        },
    };
}

export const words = {
    "words.tokens": tokens,
    "words.cut": cut,
    "words.vocabulary": vocabulary,
    "words.onehot": oneHot,
    "words.near": near,
    "words.map": map,
    "words.logits": logits,
    "words.lengths": lengths,
    "words.factor": factor,
};
