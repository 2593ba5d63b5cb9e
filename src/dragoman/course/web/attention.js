// Chapter 3: attention.

import { WEIGHTS } from "../../inspection/views/page/colour.js";
import { barCell, choice, controls, heading, slider } from "../../inspection/views/page/controls.js";
import { fixed } from "../../inspection/views/page/data.js";
import { heatMap, MASKED, SHOWN, thumbnail } from "../../inspection/views/page/matrix.js";
import { draw, make, scrolling } from "./dom.js";
import { matrix, number, word } from "./live.js";
import { best, dot, logSoftmax, softmax } from "./model.js";

const STACKS = ["encoder", "decoder", "cross"];
const FEW = 24; // tokens whose matrix is shown with its numbers

const range = (length) => Array.from({ length }, (_, i) => i);
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const entropy = (weights) => -weights.reduce((sum, one) => sum + (one > 0 ? one * Math.log(one) : 0), 0);
const greatest = (values) => values.reduce((a, b) => Math.max(a, b));
const named = (piece) => piece.replace(/^▁(?=.)/u, "");
const note = (...children) => make("p", {}, ...children);

const moduleOf = ({ stack, layer }) => (stack === "cross" ? `decoder.${layer}.cross_attention` : `${stack}.${layer}.attention`);
const allHeads = ({ shape }) => STACKS.flatMap((stack) => range(shape[stack === "encoder" ? "encoder_layers" : "decoder_layers"])
    .flatMap((layer) => range(shape.heads).map((head) => ({ stack, layer, head }))));

const headName = (say, { stack, layer, head }) =>
    say("attention.head_name", { stack: say(`attention.${stack}`), layer: layer + 1, head: head + 1 });

/** The names of the queries and of the keys of a stack. */
function tokensOf({ pieces, shape }, { source, target }, stack) {
    const read = source.pieces.map(named);
    const written = [pieces[shape.start_id], ...target.pieces.slice(0, -1)].map(named);
    return { queries: stack === "encoder" ? read : written, keys: stack === "decoder" ? written : read };
}

/** The mean of -log p of the tokens of a translation, in nats, as a changed model computes it. */
function lossOf({ shape }, { target }, { logits: { shape: [, width], values } }) {
    return -mean([...target.ids, shape.end_id].map((id, i) => logSoftmax(values.subarray(i * width, (i + 1) * width))[id]));
}

/** The loss of a run's translation with changes to the model, and the translation that they lead to. */
async function changed(model, { source, target }, changes) {
    const loss = lossOf(model, { target }, await model.translator.trace(source.ids, target.ids, changes));
    return { loss, text: await model.translator.decode(await model.decode(source.ids, { changes })) };
}

/** A translation that may have changed. */
const translated = (say, key, text) => make("span", { lang: "de", dir: "auto" }, word(key, text || say("attention.nothing")));

/** Call `work(current, ...)` and mark the element as busy; `current()` tells whether no later call has begun. */
function latest(element, work) {
    let newest = 0;
    return async (...values) => {
        const own = ++newest;
        element.setAttribute("aria-busy", "true");
        await work(() => own === newest, ...values);
        if (own === newest) element.removeAttribute("aria-busy");
    };
}

/** Controls that choose a head and one of its queries. `at` is what is chosen; `every` offers all layers and heads. */
function picker({ model, say }, show, { stacks = STACKS, query = true, every = false, start = {} } = {}) {
    const at = { stack: stacks[0], layer: 0, head: 0, query: 1, ...start };
    const words = make("div", {});
    let run;
    const change = (key) => (value) => {
        at[key] = value;
        renew(run);
        show(run);
    };
    const one = (key, options) => choice({ label: say(`attention.${key}`), value: at[key], options, change: change(key) });
    const count = (length) => [
        ...range(length).map((i) => ({ value: i, text: String(i + 1) })), every && { value: -1, text: say("attention.all") },
    ].filter(Boolean);
    const renew = (next) => {
        run = next;
        if (!query) return;
        const { queries } = tokensOf(model, run, at.stack);
        at.query = Math.min(at.query, queries.length - 1);
        if (words.shown !== queries.join(" ")) words.replaceChildren(one("query", queries.map((text, i) => ({ value: i, text }))));
        words.shown = queries.join(" ");
    };
    const element = controls(
        stacks.length > 1 && one("stack", stacks.map((stack) => ({ value: stack, text: say(`attention.${stack}`) }))),
        one("layer", count(model.shape.encoder_layers)), one("head", count(model.shape.heads)), words);
    return { element, at, renew };
}

/** The matrix of a head's weights, for pictures. */
function weightsOf(model, run, at) {
    const { queries, keys } = tokensOf(model, run, at.stack);
    const size = queries.length * keys.length;
    const values = run.trace[`${moduleOf(at)}.weights`].values.subarray(at.head * size, (at.head + 1) * size);
    const state = (r, c) => (at.stack === "decoder" && c > r ? MASKED : SHOWN);
    const labels = (list) => list.map((label) => ({ label }));
    return { rows: labels(queries), columns: labels(keys), values, state, scale: WEIGHTS };
}

/** One head in numbers: from a word's vector to the weighted sum of values. */
function oneHead(context) {
    const { model, say } = context;
    const parts = ["query_step", "score_step", "value_step"].map(() => make("div", {}));
    const { element, at, renew } = picker(context, show);
    const width = model.shape.d_model / model.shape.heads;
    let cell = 0;
    const dimension = slider({
        label: say("attention.dimension"), values: range(width), value: 0, show: (i) => String(i + 1),
        change(to) { cell = to; project(); },
    });
    const figure = make("div", {});
    let run;

    function show(next) {
        run = next;
        project();
        const name = moduleOf(at);
        const { keys } = tokensOf(model, run, at.stack);
        const visible = at.stack === "decoder" ? at.query + 1 : keys.length;
        const names = keys.slice(0, visible);
        const [k, v] = ["keys", "values"].map((of) => run.rows(`${name}.${of}`, at.head).slice(0, visible));
        const query = run.rows(`${name}.queries`, at.head)[at.query];
        const products = k.map((row) => dot(query, row));
        const column = (key, values, caption, decimals = 2) =>
            matrix(`attention.${key}`, values.map((value) => [value]), { caption, rows: visible, columns: 1, decimals });
        const weights = softmax(products.map((product) => product / Math.sqrt(width)));
        const sum = range(width).map((d) => dot(weights, v.map((row) => row[d])));
        const wide = (key, rows, labels, caption) =>
            matrix(`attention.${key}`, rows, { caption, rows: labels, columns: width });
        parts[1].replaceChildren(scrolling(say("attention.score_step"), make("div", { class: "steps" },
            wide("k", k, names, say("attention.keys")), column("qk", products, "q · k"),
            column("score", products.map((product) => product / Math.sqrt(width)), `÷ √${width}`),
            column("weight", weights, "softmax", 3))));
        parts[2].replaceChildren(scrolling(say("attention.value_step"), make("div", { class: "steps" },
            column("times", weights, say("attention.weight"), 3),
            wide("v", [...v, sum], [...names, say("attention.sum")], say("attention.values")))));
    }

    /** x times W_Q, and one cell of it as a dot product. */
    function project() {
        const name = moduleOf(at);
        const x = inputOf(run, at)[at.query];
        const rows = model.weight(`${name}.project.weight`).slice(at.head * width, (at.head + 1) * width);
        const query = run.rows(`${name}.queries`, at.head)[at.query];
        const strip = (label, values, columns) => thumbnail(label, () => ({
            rows: range(values.length / columns), columns: range(columns), values, state: () => SHOWN,
            scale: { signed: true, limit: greatest(values.map(Math.abs)) },
        }));
        figure.replaceChildren(
            make("span", {}, `x (${x.length})`), make("span", {}, `W_Q (${x.length} × ${width})`),
            strip(say("attention.x_picture"), x, 1),
            make("div", { class: "marked", style: { "--at": cell, "--of": width } },
                strip(say("attention.w_picture"), range(x.length).flatMap((i) => rows.map((row) => row[i])), width)));
        const terms = [x, rows[cell], x.map((value, i) => value * rows[cell][i])];
        const blocks = range(Math.ceil(x.length / 16)).map((b) => matrix(`attention.dot.${b}`,
            terms.map((row) => row.slice(16 * b, 16 * (b + 1))), {
                caption: say("attention.dimensions", { first: 16 * b + 1, last: Math.min(16 * (b + 1), x.length) }),
                rows: ["x", `W_Q · ${cell + 1}`, say("attention.product")], columns: 16, limit: greatest(terms.flatMap((row) => [...row.map(Math.abs)])),
            }));
        parts[0].replaceChildren(figure, ...blocks, note(say("attention.adds_up", { dimension: cell + 1 }), " ",
            number("attention.cell", dot(...terms), 2)), matrix("attention.q", [query], {
            caption: say("attention.the_query"), rows: ["q"], columns: width,
        }));
    }

    figure.className = "product";
    return {
        element: make("div", {}, element, heading(say("attention.query_step")), dimension.element, parts[0],
            heading(say("attention.score_step")), parts[1], heading(say("attention.value_step")), parts[2]),
        update(next) {
            renew(next);
            show(next);
        },
    };
}

/** What the queries of an attention are computed from. */
function inputOf(run, { stack, layer }) {
    if (stack === "cross") return run.rows(`decoder.${layer}.attention_residual.norm`);
    if (!layer) return run.rows(stack === "encoder" ? "source.input" : "target.input");
    return run.rows(`${stack}.${layer - 1}.feed_forward_residual.norm`);
}

/** Numbers from 0 to 1, the same in every language: x = 1664525 x + 1013904223 modulo 2^32. */
function generator(seed) {
    let x = seed;
    return () => {
        x = (Math.imul(1664525, x) + 1013904223) >>> 0;
        return (x + 0.5) / 2 ** 32;
    };
}

/** Products of random queries and keys of a width, and the weights that they become with and without 1 / sqrt(width). */
function study(width) {
    const next = generator(1);
    const normal = () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()); // Box and Muller 1958
    const vector = () => range(width).map(normal);
    const keys = range(8).map(vector);
    const products = range(200).map(vector).map((query) => keys.map((key) => dot(query, key)));
    return ["plain", "scaled"].map((kind) => {
        const scores = products.map((row) => row.map((one) => (kind === "plain" ? one : one / Math.sqrt(width))));
        const all = scores.flat();
        const weights = scores.map(softmax);
        return {
            kind, weights, variance: mean(all.map((one) => one ** 2)) - mean(all) ** 2,
            entropy: mean(weights.map(entropy)), greatest: mean(weights.map(greatest)),
        };
    });
}

/** A table with live numbers. Rows are [name, key, ...values]; the keys of a row are key.0, key.1, ... */
function numberTable(caption, head, rows, decimals = 3) {
    const columns = head.map((text) => make("th", { scope: "col" }, text));
    return scrolling(caption, make("table", {}, make("caption", {}, caption), make("thead", {}, make("tr", {}, make("td", {}), columns)),
        make("tbody", {}, rows.map(([name, key, ...values]) => make("tr", {}, make("th", { scope: "row" }, name),
            values.map((value, i) => make("td", {}, typeof value === "number" ? number(`${key}.${i}`, value, decimals) : value)))))));
}

/** Lines over numbers that are the same distance apart. `series` are {name, values}, `marks` the texts of the axis. */
function lines(label, series, marks) {
    const [width, height, left, top] = [640, 220, 40, 12];
    const most = greatest(series.flatMap(({ values }) => values));
    const x = (i, length) => left + (i / (length - 1)) * (width - left - 12);
    const y = (value) => top + (1 - value / most) * height;
    const text = (x, y, anchor, content, kind = null) => draw("text", { x, y, "text-anchor": anchor, class: kind }, content);
    const levels = [0, most / 2, most].map((value) => [
        draw("line", { class: "rule", x1: left, x2: width - 12, y1: y(value), y2: y(value) }),
        text(left - 6, y(value) + 4, "end", fixed(value, 1)),
    ]);
    const curve = ({ values }, i) => draw("polyline", {
        class: `curve hue${i} dash${i}`, points: values.map((value, at) => `${x(at, values.length)},${y(value)}`).join(" "),
    });
    const keys = series.map(({ name }, i) => make("li", {}, draw("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" },
        draw("line", { class: `curve hue${i} dash${i}`, x1: 0, x2: 16, y1: 8, y2: 8 })), name));
    const picture = draw("svg", { class: "chart", viewBox: `0 0 ${width} ${height + 40}`, role: "img", "aria-label": label },
        levels, marks.map((mark, i) => text(x(i, marks.length), height + 32, i === marks.length - 1 ? "end" : "middle", String(mark))),
        series.map(curve));
    return make("div", {}, note(label), make("ul", { class: "keys" }, keys), scrolling(label, picture));
}

/** Random vectors of growing width: dot products grow, and the softmax saturates. */
function randomVectors({ say }) {
    const widths = range(10).map((i) => 2 ** i);
    const found = widths.map(study);
    const shown = make("div", {});
    const show = (width) => {
        const kinds = found[widths.indexOf(width)];
        const names = [say("attention.unscaled"), say("attention.scaled")];
        shown.replaceChildren(
            numberTable(say("attention.random_table", { width }), ["variance", "entropy", "greatest"].map((key) => say(`attention.${key}`)),
                kinds.map(({ kind, variance, entropy, greatest }, i) => [names[i], `attention.random.${kind}`, variance, entropy, greatest])),
            matrix("attention.random.weights", kinds.map(({ weights: [first] }) => first), {
                caption: say("attention.random_weights"), rows: names, columns: 8, limit: 1,
            }));
    };
    show(16);
    const chart = lines(say("attention.random_chart"),
        [0, 1].map((i) => ({ name: say(`attention.${["unscaled", "scaled"][i]}`), values: found.map((kinds) => kinds[i].entropy) })), widths);
    const control = slider({ label: say("attention.width"), values: widths, value: 16, change: show });
    return { element: make("div", {}, controls(control.element), shown, chart) };
}

/** The model without 1 / sqrt(d). */
function unscaled({ model, say }) {
    const element = make("div", {});
    const update = latest(element, async (current, run) => {
        const changes = STACKS.map((stack) => ({ what: "unscaled", stack }));
        const trace = await model.translator.trace(run.source.ids, run.target.ids, changes);
        const { loss, text } = await changed(model, run, changes);
        if (!current()) return;
        const about = (stack, trace) => {
            const rows = allHeads(model).filter((at) => at.stack === stack).flatMap((at) => {
                const { columns, values } = weightsOf(model, { ...run, trace }, at);
                return range(values.length / columns.length).map((r) => values.subarray(r * columns.length, (r + 1) * columns.length));
            });
            return [mean(rows.map(entropy)), mean(rows.map(greatest))];
        };
        element.replaceChildren(
            numberTable(say("attention.unscaled_table"), ["scaled", "unscaled"].flatMap((kind) =>
                ["entropy", "greatest"].map((key) => `${say(`attention.${key}`)}, ${say(`attention.${kind}`)}`)),
            STACKS.map((stack) => [say(`attention.${stack}`), `attention.unscaled.${stack}`, ...about(stack, run.trace), ...about(stack, trace)])),
            compared(say, "unscaled", lossOf(model, run, run.trace), run.target.text, loss, text));
    });
    return { element, update };
}

/** Two translations with the loss of the first, before and after a change. */
const compared = (say, key, before, first, after, then) => make("div", { role: "status" },
    note(say("attention.before"), " ", translated(say, `attention.${key}.before`, first), " ", say("attention.loss"), " ",
        number(`attention.${key}.loss.before`, before)),
    note(say("attention.after"), " ", translated(say, `attention.${key}.after`, then), " ", say("attention.loss"), " ",
        number(`attention.${key}.loss.after`, after)));

const LOOKS = { // the key that a query looks at
    previous: (q) => q - 1,
    same: (q) => q,
    following: (q) => q + 1,
    first: () => 0,
    last: (_, length) => length - 1,
};

/** The mean weight of each pattern in a head's matrix, over the queries that have such a key. */
function looks({ rows, columns, values }) {
    return Object.entries(LOOKS).map(([name, key]) => {
        const found = rows.flatMap((_, q) => {
            const k = key(q, columns.length);
            return k >= 0 && k < columns.length ? [values[q * columns.length + k]] : [];
        });
        return { name, share: found.length ? mean(found) : 0 };
    });
}

/** The maps of all heads. The chosen one is large. */
function allMaps({ model, say }) {
    const maps = make("div", { class: "trio" });
    const title = heading("");
    const map = heatMap({ label: say("attention.map"), read: (of, r, c) => [
        `${of.rows[r].label} → ${of.columns[c].label}: `,
        of.state(r, c) === MASKED ? say("attention.hidden") : fixed(of.values[r * of.columns.length + c], 3),
    ] });
    const patterns = make("div", {});
    let chosen = 0;
    let run;

    const keyOf = ({ stack, layer, head }) => `${stack}.${layer}.${head}`;

    function choose(index) {
        chosen = index;
        const at = allHeads(model)[chosen];
        const of = weightsOf(model, run, at);
        const width = of.columns.length;
        maps.querySelectorAll("button").forEach((button, i) => button.setAttribute("aria-pressed", String(i === chosen)));
        title.textContent = headName(say, at);
        map.show(of);
        patterns.replaceChildren(numberTable(say("attention.looks_table"), [say("attention.mean_weight")], [
            ...looks(of).map(({ name, share }) => [say(`attention.${name}`), `attention.look.${name}`, share]),
            [say("attention.entropy"), "attention.look.entropy", mean(of.rows.map((_, r) => entropy(of.values.subarray(r * width, (r + 1) * width))))],
        ]));
    }

    function update(next) {
        run = next;
        const buttons = allHeads(model).map((at, i) => {
            const of = weightsOf(model, run, at);
            const most = looks(of).reduce((a, b) => (b.share > a.share ? b : a));
            const button = make("button", { type: "button", onclick: () => choose(i) }, thumbnail(headName(say, at), () => of));
            return make("div", {}, button, make("div", {}, word(`attention.pattern.${keyOf(at)}`, say(`attention.${most.name}`)), " ",
                number(`attention.share.${keyOf(at)}`, most.share, 2)));
        });
        const each = buttons.length / STACKS.length;
        maps.replaceChildren(...STACKS.map((stack, s) => make("section", {}, make("h4", {}, say(`attention.${stack}`)),
            make("div", { class: "heads", style: { "--columns": model.shape.heads - 1 } }, buttons.slice(s * each, (s + 1) * each)))));
        choose(chosen);
    }

    return { element: make("div", {}, maps, make("div", { class: "twofold" }, make("div", {}, title, map.element), patterns)), update };
}

/** Every head switched off: the recorded loss on many sentences, and what happens to this one. */
function everyHead({ model, say, recorded: { heads } }) {
    const element = make("div", {}, note(say("attention.working")));
    const nameOf = ({ stack, layer, head }) => `${stack}.${layer + 1}.${head + 1}`;
    const all = allHeads(model).sort((a, b) => heads.without[nameOf(b)] - heads.without[nameOf(a)]);
    const head = ["head_off", "recorded_loss", "", "loss_here", "", "translation"].map((key) =>
        (key ? make("th", { scope: "col" }, say(`attention.${key}`, heads)) : make("td", {})));
    const update = latest(element, async (current, run) => {
        const before = lossOf(model, run, run.trace);
        const found = [];
        for (const at of all) {
            found.push(await changed(model, run, [{ what: "without", ...at }]));
            if (!current()) return;
        }
        const most = greatest(Object.values(heads.without)) - heads.loss;
        const mostHere = greatest(found.map(({ loss }) => loss)) - before || 1;
        const bar = (part) => barCell(Math.max(part, 0));
        const line = (name, many, here, text, kind = null) => make("tr", { class: kind }, make("th", { scope: "row" }, name),
            make("td", {}, fixed(many, 3)), bar((many - heads.loss) / most), make("td", {}, here),
            bar((Number(here.textContent) - before) / mostHere), make("td", { class: "german" }, text));
        element.replaceChildren(scrolling(say("attention.every_head"), make("table", { class: "losses" },
            make("caption", {}, say("attention.every_head", heads)), make("thead", {}, make("tr", {}, head)), make("tbody", {},
                line(say("attention.none"), heads.loss, number("attention.off.none", before), translated(say, "attention.off.none.text", run.target.text)),
                all.map((at, i) => line(headName(say, at), heads.without[nameOf(at)], number(`attention.off.${nameOf(at)}`, found[i].loss),
                    found[i].text === run.target.text ? say("attention.unchanged") : translated(say, `attention.off.${nameOf(at)}.text`, found[i].text)))))));
    });
    return { element, update };
}

const TERMS = ["content_content", "content_position", "position_content", "position_position", "bias", "remainder"];

/** A logit as the sum of products of content and position. */
function terms(context) {
    const { model, say } = context;
    const pictures = make("div", { class: "terms" });
    const table = make("div", {});
    const { element, at, renew } = picker(context, show, { stacks: ["encoder", "decoder"] });
    const names = TERMS.map((term) => say(`attention.${term}`));

    function show(run) {
        const { rows, columns, state } = weightsOf(model, run, at);
        const [size, width] = [rows.length * columns.length, columns.length];
        const found = run.trace[`${moduleOf(at)}.terms`];
        if (!found) {
            pictures.replaceChildren();
            table.replaceChildren(note(say("attention.no_terms")));
            return;
        }
        const part = ({ values }, i) => values.subarray(i * size, (i + 1) * size);
        const six = TERMS.map((_, i) => part(found, i * model.shape.heads + at.head));
        const scale = { signed: true, limit: greatest(six.map((values) => greatest(values.map(Math.abs)))) };
        pictures.replaceChildren(...six.slice(0, 4).map((values, i) => make("div", {}, make("h4", {}, names[i]),
            thumbnail(say("attention.term_picture", { name: names[i] }), () => ({ rows, columns, values, state, scale })))));
        const row = (values) => values.subarray(at.query * width, (at.query + 1) * width);
        const parts = six.map(row);
        const sum = columns.map((_, k) => parts.reduce((total, one) => total + one[k], 0));
        table.replaceChildren(matrix("attention.term", [...parts, sum, row(part(run.trace[`${moduleOf(at)}.logits`], at.head))], {
            caption: say("attention.terms_table", { query: rows[at.query].label }), columns: columns.map(({ label }) => label),
            rows: [...names, say("attention.sum"), say("attention.logit")], hidden: (_, k) => state(at.query, k) === MASKED,
        }));
    }

    return { element: make("div", {}, element, pictures, table), update: (run) => { renew(run); show(run); } };
}

/** Two sentences in a batch: the shorter one is filled up, and nobody looks there. */
function padding({ model, say, options }) {
    const element = make("div", {});
    const update = latest(element, async (current, run) => {
        const other = await model.run(options.text);
        if (!current()) return;
        const [short, long] = [run, other].sort((a, b) => a.source.pieces.length - b.source.pieces.length);
        const [length, own] = [long.source.pieces.length, short.source.pieces.length];
        const pad = Array(length - own).fill(model.pieces[model.shape.pad_id]);
        const names = [...tokensOf(model, short, "encoder").keys, ...pad];
        const line = (tokens) => make("tr", {}, tokens.map((token, i) =>
            make("td", { class: token === names[i] && i >= own ? "masked" : null }, make("bdi", {}, token))));
        element.replaceChildren(scrolling(say("attention.batch"), make("table", { class: "matrix batch" },
            make("caption", {}, say("attention.batch")), make("tbody", {}, line(tokensOf(model, long, "encoder").keys), line(names)))),
        matrix("attention.padded", weightRows(model, short, { stack: "encoder", layer: 0, head: 0 }).map((row) => [...row, ...pad.map(() => 0)].slice(0, FEW)), {
            caption: say("attention.padded"), rows: names.slice(0, own), columns: names.slice(0, FEW), limit: 1, hidden: (_, c) => c >= own,
        }));
    });
    return { element, update };
}

/** The first rows of a head's weights, or of its logits. */
function weightRows(model, run, at, what = "weights") {
    return run.rows(`${moduleOf(at)}.${what}`, at.head).slice(0, FEW);
}

/** Self-attention of the decoder with the look-ahead mask, or with `mask = off` without it. */
function triangle(context) {
    const { model, say, options } = context;
    const key = options.mask === "off" ? "unmasked" : "masked";
    const shown = make("div", {});
    const { element, at, renew } = picker(context, (run) => show(run), { stacks: ["decoder"], query: false });
    const table = (run, what, limit = null) => {
        const names = tokensOf(model, run, "decoder").keys.slice(0, FEW);
        return matrix(`attention.${key}.${what}`, weightRows(model, run, at, what).map((row) => row.slice(0, FEW)), {
            caption: say(`attention.${what}_table`), rows: names, columns: names, limit, hidden: (r, c) => c > r && key === "masked",
        });
    };
    const show = latest(shown, async (current, run) => {
        if (key === "masked") return shown.replaceChildren(table(run, "logits"), table(run, "weights", 1));
        const changes = [{ what: "no_mask", stack: "decoder" }];
        const trace = await model.translator.trace(run.source.ids, run.target.ids, changes);
        const { loss, text } = await changed(model, run, changes);
        if (!current()) return;
        const cheated = Object.assign(Object.create(run), { trace });
        shown.replaceChildren(table(cheated, "weights", 1), compared(say, key, lossOf(model, run, run.trace), run.target.text, loss, text));
    });
    return { element: make("div", {}, element, shown), update: (run) => { renew(run); return show(run); } };
}

/** Recorded: training with the mask and without it, and how both translate. */
function cheating({ say, recorded: { cheating: { curves, translations } } }) {
    const series = [true, false].map((mask) => {
        const runs = curves.filter((one) => one.mask === mask);
        return { name: say(`attention.${mask ? "with" : "without"}`), values: runs[0].valid.map((_, i) => mean(runs.map(({ valid }) => valid[i]))) };
    });
    const steps = curves[0].steps;
    const cell = (lang, text) => make("td", { lang, class: "german" }, text || say("attention.nothing"));
    const rows = translations.map((one) => make("tr", {}, make("th", { scope: "row", lang: "en", class: "german" }, one.source),
        cell("de", one.with), cell("de", one.without)));
    const head = ["source", "with", "without"].map((key) => make("th", { scope: "col" }, say(`attention.${key}`)));
    return { element: make("div", {},
        lines(say("attention.cheating_chart"), series, [0, 1, 2, 3].map((i) => steps[Math.round((i / 3) * (steps.length - 1))])),
        scrolling(say("attention.cheating_table"), make("table", { class: "losses" }, make("caption", {}, say("attention.cheating_table")),
            make("thead", {}, make("tr", {}, head)), make("tbody", {}, rows)))) };
}

/** Greedy search in which one query has the weights of the reader. */
async function directed(model, run, { stack, layer, head, query }, weights) {
    const target = [];
    const changes = () => {
        if (stack !== "encoder" && target.length < query) return [];
        const values = stack === "decoder" ? range(target.length + 1).map((k) => weights[k] ?? 0) : weights;
        return [{ what: "weights", stack, layer, head, place: query, values }];
    };
    while (target.length < run.source.ids.length + 20) {
        const id = best(await model.next(run.source.ids, target, changes()));
        if (id === model.shape.end_id) break;
        target.push(id);
    }
    return model.translator.decode(target);
}

/** The reader sets the weights of one query. */
function attend(context) {
    const { model, say } = context;
    const result = make("div", {});
    const rows = make("div", { class: "directed" });
    const { element, at, renew } = picker(context, reset, { every: true, start: { stack: "cross", layer: -1, head: -1 } });
    let run;
    let amounts; // of each key that the query sees, before they are divided by their sum
    let own = true; // the model's weights, which the reader has not changed
    let sliders;

    const show = latest(result, async (current) => {
        const { keys } = tokensOf(model, run, at.stack);
        const total = amounts.reduce((sum, one) => sum + one, 0) || 1;
        const weights = keys.map((_, k) => (amounts[k] ?? 0) / total);
        const changes = own ? [] : [{ what: "weights", ...at, place: at.query, values: weights }];
        const trace = own ? run.trace : await model.translator.trace(run.source.ids, run.target.ids, changes);
        const text = own ? run.target.text : await directed(model, run, at, weights);
        if (!current()) return;
        const row = ({ logits: { shape, values } }) => softmax(values.subarray(at.query * shape[1], (at.query + 1) * shape[1]));
        const places = [row(run.trace), row(trace)];
        const likely = (probabilities, when) => {
            const first = range(probabilities.length).sort((a, b) => probabilities[b] - probabilities[a]).slice(0, 3);
            return note(say(`attention.next_${when}`), first.map((id, i) => [" ", word(`attention.next.${when}.${i}`, named(model.pieces[id])), " ",
                number(`attention.next.${when}.${i}.p`, probabilities[id], 2)]));
        };
        result.replaceChildren(compared(say, "attend", lossOf(model, run, run.trace), run.target.text, lossOf(model, run, trace), text),
            at.stack === "encoder" ? "" : make("div", {}, likely(places[0], "before"), likely(places[1], "after")));
        rows.querySelectorAll("[data-live]").forEach((one, k) => (one.textContent = fixed(weights[k], 3)));
    });

    function set(to) {
        amounts = to;
        own = false;
        amounts.forEach((one, k) => sliders[k].set(one));
        show();
    }

    /** Begin with the weights of the model: the mean of the heads. */
    function reset(next) {
        run = next;
        own = true;
        const { keys } = tokensOf(model, run, at.stack);
        const maps = allHeads(model).filter(({ stack, layer, head }) =>
            stack === at.stack && [layer, -1].includes(at.layer) && [head, -1].includes(at.head)).map((one) => weightsOf(model, run, one));
        amounts = keys.slice(0, at.stack === "decoder" ? at.query + 1 : keys.length)
            .map((_, k) => mean(maps.map(({ values }) => values[at.query * keys.length + k])));
        sliders = amounts.map((one, k) => slider({
            label: keys[k], values: range(101).map((i) => i / 100), value: one, show: () => "",
            change: (value) => set(amounts.map((old, i) => (i === k ? value : old))),
        }));
        rows.replaceChildren(...sliders.map((one, k) => make("div", {}, one.element, number(`attention.attend.${k}`, amounts[k]),
            make("button", { type: "button", onclick: () => set(amounts.map((_, i) => Number(i === k))) }, say("attention.only")))));
        return show();
    }

    const button = make("button", { type: "button", class: "play", onclick: () => reset(run) }, say("attention.reset"));
    return { element: make("div", {}, element, rows, button, result), update: (next) => { renew(next); return reset(next); } };
}

/** Heads that the reader switches off. */
function switches({ model, say }) {
    const off = new Set();
    const result = make("div", {});
    let run;
    const show = latest(result, async (current) => {
        const { loss, text } = await changed(model, run, [...off].map((at) => ({ what: "without", ...at })));
        if (current()) result.replaceChildren(compared(say, "switched", lossOf(model, run, run.trace), run.target.text, loss, text));
    });
    const toggle = (at) => make("button", { type: "button", "aria-pressed": "false", "aria-label": headName(say, at), onclick({ currentTarget }) {
        if (!off.delete(at)) off.add(at);
        currentTarget.setAttribute("aria-pressed", String(off.has(at)));
        show();
    } }, `${at.layer + 1}.${at.head + 1}`);
    const groups = STACKS.map((stack) => make("div", { class: "control" }, make("span", {}, say(`attention.${stack}`)),
        make("div", { class: "choice", role: "group", "aria-label": say(`attention.${stack}`) }, allHeads(model).filter((at) => at.stack === stack).map(toggle))));
    return { element: make("div", {}, controls(groups), result), update(next) { run = next; return show(); } };
}

export const attention = {
    "attention.head": oneHead,
    "attention.random": randomVectors,
    "attention.unscaled": unscaled,
    "attention.maps": allMaps,
    "attention.every": everyHead,
    "attention.terms": terms,
    "attention.padding": padding,
    "attention.triangle": triangle,
    "attention.cheating": cheating,
    "attention.attend": attend,
    "attention.switches": switches,
};
