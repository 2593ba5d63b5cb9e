// Chapter 3: attention.

import { WEIGHTS } from "../../inspection/views/page/colour.js";
import { choice, controls, heading, slider } from "../../inspection/views/page/controls.js";
import { fixed } from "../../inspection/views/page/data.js";
import { heatMap, MASKED, SHOWN, thumbnail } from "../../inspection/views/page/matrix.js";
import { make, scrolling } from "./dom.js";
import { figures, german, latest, matrix, named, number, scripted, word } from "./live.js";
import { best, dot, mean, range, softmax } from "./model.js";
import { lines } from "./plot.js";

const MODULES = { encoder: "encoder.N.attention", decoder: "decoder.N.attention", cross: "decoder.N.cross_attention" };
const STACKS = Object.keys(MODULES);
const FEW = 24; // tokens whose matrix is shown with its numbers
const LONGER = 20; // tokens that a changed translation may have more

const greatest = (values) => values.reduce((a, b) => Math.max(a, b));
const size = (values) => greatest(values.map(Math.abs));
const entropy = (weights) => -weights.reduce((sum, one) => sum + (one > 0 ? one * Math.log(one) : 0), 0);
const row = (values, width, i) => values.subarray(i * width, (i + 1) * width);
const note = (...children) => make("p", {}, ...children);

const moduleOf = ({ stack, layer }) => MODULES[stack].replace("N", layer);
const unrecorded = (say) => ({ element: note(say("unrecorded")) });
const headName = (say, { stack, layer, head }) =>
    say("head_name", { stack: say(stack), layer: layer + 1, head: head + 1 });
const allHeads = ({ shape: { heads, ...layers } }) => STACKS.flatMap((stack) =>
    range(layers[stack === "encoder" ? "encoder_layers" : "decoder_layers"]).flatMap((layer) =>
        range(heads).map((head) => ({ stack, layer, head, name: `${stack}.${layer + 1}.${head + 1}` }))));

/** The names of the queries and of the keys of a stack. */
function tokensOf({ pieces, shape }, { source, target }, stack) {
    const read = source.pieces.map(named);
    const written = [pieces[shape.start_id], ...target.pieces.slice(0, -1)].map(named);
    return { queries: stack === "encoder" ? read : written, keys: stack === "decoder" ? written : read };
}

/** The matrix of a head's weights, for pictures. */
function weightsOf(model, run, at) {
    const { queries, keys } = tokensOf(model, run, at.stack);
    const values = row(run.trace[`${moduleOf(at)}.weights`].values, queries.length * keys.length, at.head);
    const state = (r, c) => (at.stack === "decoder" && c > r ? MASKED : SHOWN);
    const labels = (list) => list.map((label) => ({ label }));
    return { rows: labels(queries), columns: labels(keys), values, state, scale: WEIGHTS };
}

/** A run with another trace. */
const withTrace = (run, trace) => Object.assign(Object.create(run), { trace });

/** The trace of a run's translation with changes to the model, its loss, and the translation that they lead to. */
async function changed(model, run, changes) {
    const { source, target } = run;
    const trace = await model.translator.trace(source.ids, target.ids, changes);
    const most = target.ids.length + LONGER;
    const ids = changes.length ? await model.decode(source.ids, { changes, most }) : target.ids;
    return { trace, loss: model.loss(run, trace), text: await model.translator.decode(ids) };
}

const translated = (say, key, text) => german(key, text || say("nothing"));

/** The translation of a run and a changed one, with the loss of the first for both models. */
function compared({ model, say }, key, run, { loss, text }) {
    const rows = [["before", run.target.text, model.loss(run, run.trace)], ["after", text, loss]];
    return figures(say("compared"), ["", say("translation"), say("loss")], rows.map(([when, text, loss]) =>
        [say(when), translated(say, `attention.${key}.${when}`, text), number(`attention.${key}.${when}.loss`, loss)]));
}

/** Controls that choose a head and one of its queries. `at` is what is chosen; `every` offers all layers and heads. */
function picker({ model, say }, show, { stacks = STACKS, query = true, every = false, start = {} } = {}) {
    const at = { stack: stacks[0], layer: 0, head: 0, query: 1, ...start };
    const words = make("div", {});
    let run;
    const choose = (key, options) => choice({
        label: say(key), value: at[key], options,
        change(value) {
            at[key] = value;
            renew(run);
            show(run);
        },
    });
    const all = every ? [{ value: -1, text: say("all") }] : [];
    const count = (length) => [...range(length).map((i) => ({ value: i, text: String(i + 1) })), ...all];
    const renew = (next) => {
        run = next;
        const { queries } = tokensOf(model, run, at.stack);
        at.query = Math.min(at.query, queries.length - 1);
        if (!query || words.shown === queries.join(" ")) return;
        words.shown = queries.join(" ");
        words.replaceChildren(choose("query", queries.map((text, i) => ({ value: i, text }))));
    };
    const kinds = stacks.map((stack) => ({ value: stack, text: say(stack) }));
    const element = controls(kinds.length > 1 && choose("stack", kinds),
        choose("layer", count(model.shape.encoder_layers)), choose("head", count(model.shape.heads)), words);
    return { element, at, renew };
}

/** One head in numbers: from a word's vector to the weighted sum of values. */
function oneHead(context) {
    const { model, say } = context;
    const [figure, dots, scores, values] = range(4).map(() => make("div", {}));
    const { element, at, renew } = picker(context, show);
    const width = model.shape.d_model / model.shape.heads;
    const wide = (key, rows, labels, caption) => matrix(key, rows, { caption, rows: labels, columns: width });
    const column = (key, list, caption, decimals = 2) =>
        matrix(`attention.${key}`, list.map((value) => [value]), { caption, rows: list.length, columns: 1, decimals });
    const dimension = slider({
        label: say("dimension"), values: range(width), value: 0, show: (i) => String(i + 1),
        change(to) {
            cell = to;
            project();
        },
    });
    let cell = 0;
    let run;

    function show(next) {
        run = next;
        project();
        const { keys } = tokensOf(model, run, at.stack);
        const names = keys.slice(0, at.stack === "decoder" ? at.query + 1 : keys.length);
        const of = (what) => run.rows(`${moduleOf(at)}.${what}`, at.head);
        const [k, v] = ["keys", "values"].map((what) => of(what).slice(0, names.length));
        const products = k.map((key) => dot(of("queries")[at.query], key));
        const scaled = products.map((product) => product / Math.sqrt(width));
        const weights = softmax(scaled);
        const sum = range(width).map((d) => dot(weights, v.map((value) => value[d])));
        scores.replaceChildren(scrolling(say("score_step"), make("div", { class: "steps" },
            wide("attention.k", k, names, say("keys")), column("product", products, "q · k"),
            column("score", scaled, `÷ √${width}`), column("weight", weights, "softmax", 3))));
        values.replaceChildren(scrolling(say("value_step"), make("div", { class: "steps" },
            column("times", weights, say("weight"), 3),
            wide("attention.v", [...v, sum], [...names, say("sum")], say("values")))));
    }

    /** x times W_Q, and one cell of it as a dot product. */
    function project() {
        const x = inputOf(run, at)[at.query];
        const w = model.weight(`${moduleOf(at)}.project.weight`).slice(at.head * width, (at.head + 1) * width);
        const strip = (label, values, columns) => thumbnail(label, () => ({
            rows: range(values.length / columns), columns: range(columns), values, state: () => SHOWN,
            scale: { signed: true, limit: size(values) },
        }));
        figure.replaceChildren(
            make("span", {}, `x (${x.length})`), make("span", {}, scripted(`W_Q (${x.length} × ${width})`)),
            strip(say("x_picture"), x, 1),
            make("div", { class: "marked", style: { "--at": cell, "--of": width } },
                strip(say("w_picture"), range(x.length).flatMap((i) => w.map((column) => column[i])), width)));
        const parts = [x, w[cell], x.map((value, i) => value * w[cell][i])];
        const limit = greatest(parts.map(size));
        const block = (b) => matrix(`attention.dot.${b}`, parts.map((part) => row(part, width, b)), {
            caption: say("dimensions", { first: b * width + 1, last: (b + 1) * width }),
            rows: ["x", scripted(`W_Q · ${cell + 1}`), say("product")], columns: width, limit,
        });
        dots.replaceChildren(...range(x.length / width).map(block),
            note(say("adds_up", { dimension: cell + 1 }), " ", number("attention.cell", dot(x, w[cell]), 2)),
            wide("attention.q", [run.rows(`${moduleOf(at)}.queries`, at.head)[at.query]], ["q"], say("the_query")));
    }

    figure.className = "product";
    return {
        element: make("div", {}, element, heading(scripted(say("query_step"))), dimension.element, figure, dots,
            heading(say("score_step")), scores, heading(say("value_step")), values),
        update(next) {
            renew(next);
            show(next);
        },
    };
}

/** What the queries of an attention are computed from. */
function inputOf(run, { stack, layer }) {
    if (stack === "cross") return run.rows(`decoder.${layer}.attention_residual.norm`);
    if (layer) return run.rows(`${stack}.${layer - 1}.feed_forward_residual.norm`);
    return run.rows(stack === "encoder" ? "source.input" : "target.input");
}

/** Numbers from 0 to 1, the same in every language: x = 1664525 x + 1013904223 modulo 2^32. */
function generator(seed) {
    let x = seed;
    return () => {
        x = (Math.imul(1664525, x) + 1013904223) >>> 0;
        return (x + 0.5) / 2 ** 32;
    };
}

/** Products of random queries and keys, and the weights that they become without and with 1 / sqrt(width). */
function study(width) {
    const next = generator(1);
    const normal = () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()); // Box and Muller 1958
    const vector = () => range(width).map(normal);
    const keys = range(8).map(vector);
    const products = range(200).map(vector).map((query) => keys.map((key) => dot(query, key)));
    return [1, Math.sqrt(width)].map((divisor) => {
        const scores = products.map((list) => list.map((one) => one / divisor));
        const weights = scores.map(softmax);
        const all = scores.flat();
        return {
            first: weights[0], variance: mean(all.map((one) => one ** 2)) - mean(all) ** 2,
            entropy: mean(weights.map(entropy)), greatest: mean(weights.map(greatest)),
        };
    });
}

/** Random vectors of growing width: dot products grow, and the softmax saturates. */
function randomVectors({ say }) {
    const widths = range(10).map((i) => 2 ** i);
    const found = widths.map(study);
    const kinds = ["unscaled", "scaled"];
    const measures = ["variance", "entropy", "greatest"];
    const shown = make("div", {});
    const show = (width) => {
        const both = found[widths.indexOf(width)];
        shown.replaceChildren(
            figures(say("random_table", { width }), ["", ...measures.map((key) => say(key))],
                kinds.map((kind, i) =>
                    [say(kind), ...measures.map((key) => number(`attention.random.${kind}.${key}`, both[i][key]))])),
            matrix("attention.random.weights", both.map(({ first }) => first), {
                caption: say("random_weights"), rows: kinds.map((kind) => say(kind)), columns: 8, limit: 1,
            }));
    };
    show(16);
    const chart = lines({
        title: say("entropy"), x: "log₂ d", y: say("nats"), numbers: say("show"),
        curves: kinds.map((kind, i) => ({ name: say(kind), points: found.map((both, at) => [at, both[i].entropy]) })),
    });
    const control = slider({ label: say("width"), values: widths, value: 16, change: show });
    return { element: make("div", {}, controls(control.element), shown, chart) };
}

/** The model without 1 / sqrt(d). */
function unscaled(context) {
    const { model, say } = context;
    const element = make("div", {});
    const update = latest(element, async (current, run) => {
        const after = await changed(model, run, STACKS.map((stack) => ({ what: "unscaled", stack })));
        if (!current()) return;
        const line = (stack, kind, of) => {
            const rows = allHeads(model).filter((at) => at.stack === stack)
                .flatMap((at) => of.rows(`${moduleOf(at)}.weights`, at.head));
            const key = `attention.model.${stack}.${kind}`;
            return [`${say(stack)}, ${say(kind)}`, number(`${key}.entropy`, mean(rows.map(entropy))),
                number(`${key}.greatest`, mean(rows.map(greatest)))];
        };
        const rows = STACKS.flatMap((stack) =>
            [line(stack, "scaled", run), line(stack, "unscaled", withTrace(run, after.trace))]);
        element.replaceChildren(figures(say("unscaled_table"), ["", say("entropy"), say("greatest")], rows),
            compared(context, "unscaled", run, after));
    });
    return { element, update };
}

const LOOKS = { // the key that a query may look at
    previous: (q) => q - 1,
    same: (q) => q,
    following: (q) => q + 1,
    first: () => 0,
    last: (_, length) => length - 1,
};

/** The mean weight of each of them in a head, over the queries that have such a key. */
function looks({ rows, columns, values }) {
    return Object.entries(LOOKS).map(([name, key]) => {
        const found = rows.flatMap((_, q) => row(values, columns.length, q)[key(q, columns.length)] ?? []);
        return { name, share: found.length ? mean(found) : 0 };
    });
}

/** The maps of all heads. The chosen one is large. */
function allMaps({ model, say }) {
    const maps = make("div", { class: "trio" });
    const title = heading("");
    const patterns = make("div", {});
    const read = ({ rows, columns, values, state }, r, c) => [
        `${rows[r].label} → ${columns[c].label}: `,
        state(r, c) === MASKED ? say("hidden") : fixed(values[r * columns.length + c], 3),
    ];
    const map = heatMap({ label: say("map"), arrows: say("arrows"), masked: say("hidden"), read });
    const heads = allHeads(model);
    let chosen = heads.findIndex(({ name }) => name === "encoder.2.2");
    let run;

    function choose(index) {
        chosen = index;
        const shown = weightsOf(model, run, heads[chosen]);
        const all = looks(shown).map(({ name, share }) => [name, share]);
        const spread = mean(run.rows(`${moduleOf(heads[chosen])}.weights`, heads[chosen].head).map(entropy));
        maps.querySelectorAll("button").forEach((one, i) => one.setAttribute("aria-pressed", String(i === chosen)));
        title.textContent = headName(say, heads[chosen]);
        map.show(shown);
        patterns.replaceChildren(figures(say("looks_table"), ["", say("mean_weight")],
            all.map(([name, value]) => [say(name), number(`attention.look.${name}`, value)])),
        make("p", {}, say("entropy"), ": ", number("attention.look.entropy", spread)));
    }

    function update(next) {
        run = next;
        const button = (at) => {
            const shown = weightsOf(model, run, at);
            const most = looks(shown).reduce((a, b) => (b.share > a.share ? b : a));
            const picture = thumbnail(headName(say, at), () => shown);
            return make("div", {},
                make("button", { type: "button", onclick: () => choose(heads.indexOf(at)) }, picture),
                make("div", {}, word(`attention.pattern.${at.name}`, say(most.name))),
                number(`attention.share.${at.name}`, most.share, 2));
        };
        maps.replaceChildren(...STACKS.map((stack) => make("div", {}, make("h4", {}, say(stack)),
            make("div", { class: "heads" }, heads.filter((at) => at.stack === stack).map(button)))));
        choose(chosen);
    }

    const large = make("div", { class: "twofold" }, make("div", {}, title, map.element), patterns);
    return { element: make("div", {}, maps, large), update };
}

/** Every head switched off: the recorded loss on many sentences and, if asked for, what happens to this one. */
function everyHead({ model, say, recorded: { heads } }) {
    if (!heads) return unrecorded(say);
    const box = make("div", {});
    const all = allHeads(model).sort((a, b) => heads.without[b.name] - heads.without[a.name]);
    const many = all.map(({ name }) => heads.without[name]);
    const head = [say("head_off"), say("recorded_loss", heads), "", say("loss_here"), "", say("translation")];
    const bar = (loss, least, list) => make("span", {
        class: "growth", style: { "--part": Math.max(loss - least, 0) / (greatest(list) - least || 1) },
    });
    let run;

    /** The table, with the results of the heads so far. */
    function show(found) {
        const before = model.loss(run, run.trace);
        const losses = found.map(({ loss }) => loss);
        const here = (at, { loss, text }) => [number(`attention.off.${at.name}`, loss), bar(loss, before, losses),
            text === run.target.text ? say("unchanged") : translated(say, `attention.off.${at.name}.text`, text)];
        const rows = all.map((at, i) => [headName(say, at), fixed(many[i], 3), bar(many[i], heads.loss, many),
            ...(found[i] ? here(at, found[i]) : ["", "", ""])]);
        const own = make("span", { lang: "de" }, run.target.text);
        const none = [say("none"), fixed(heads.loss, 3), "", number("attention.off.none", before), "", own];
        box.replaceChildren(figures(say("every_head", heads), head, [none, ...rows], "losses"));
    }

    const compute = latest(box, async (current) => {
        const own = run;
        const found = [];
        for (const at of all) {
            found.push(await changed(model, own, [{ what: "without", ...at }]));
            if (!current() || run !== own) return;
            show(found);
        }
    });
    const button = make("button", { type: "button", class: "play", onclick: compute }, say("compute"));
    return {
        element: make("div", {}, button, box),
        update(next) {
            run = next;
            show([]);
        },
    };
}

const TERMS = ["content_content", "content_position", "position_content", "position_position", "bias", "remainder"];

/** A logit as the sum of products of content and position. */
function terms(context) {
    const { model, say } = context;
    const pictures = make("div", { class: "terms" });
    const numbers = make("div", {});
    const { element, at, renew } = picker(context, show, { stacks: ["encoder", "decoder"] });
    const names = TERMS.map((term) => say(term));

    function show(run) {
        const { rows, columns, state } = weightsOf(model, run, at);
        const name = moduleOf(at);
        if (!(`${name}.terms` in run.trace)) {
            pictures.replaceChildren();
            numbers.replaceChildren(note(say("no_terms")));
            return;
        }
        const { values } = run.trace[`${name}.terms`];
        const six = TERMS.map((_, i) => row(values, rows.length * columns.length, i * model.shape.heads + at.head));
        const scale = { signed: true, limit: greatest(six.map(size)) };
        pictures.replaceChildren(...six.slice(0, 4).map((values, i) => make("div", {}, make("h4", {}, names[i]),
            thumbnail(say("term_picture", { name: names[i] }), () => ({ rows, columns, values, state, scale })))));
        const parts = six.map((values) => row(values, columns.length, at.query));
        const sum = columns.map((_, k) => parts.reduce((total, part) => total + part[k], 0));
        const logits = run.rows(`${name}.logits`, at.head)[at.query];
        numbers.replaceChildren(matrix("attention.term", [...parts, sum, logits], {
            caption: say("terms_table", { query: rows[at.query].label }), columns: columns.map(({ label }) => label),
            rows: [...names, say("sum"), say("logit")], hidden: (_, k) => state(at.query, k) === MASKED,
        }));
    }

    return {
        element: make("div", {}, element, pictures, numbers),
        update(run) {
            renew(run);
            show(run);
        },
    };
}

/** Two sentences in a batch: the shorter one is filled up, and nobody looks there. */
function padding({ model, say, options }) {
    const element = make("div", {});
    let other;
    const update = latest(element, async (current, run) => {
        other ??= await model.run(options.text);
        if (!current()) return;
        const [short, long] = [run, other].sort((a, b) => a.source.pieces.length - b.source.pieces.length);
        const own = short.source.pieces.length;
        const pad = Array(long.source.pieces.length - own).fill(model.pieces[model.shape.pad_id]);
        const names = [...short.source.pieces.map(named), ...pad].slice(0, FEW);
        const line = (tokens) => make("tr", {}, tokens.slice(0, FEW).map((token, i) =>
            make("td", { class: i >= own && token === pad[0] && "masked" }, make("bdi", {}, token))));
        const weights = short.rows("encoder.0.attention.weights", 0).slice(0, FEW);
        element.replaceChildren(
            scrolling(say("batch"), make("table", { class: "matrix batch" }, make("caption", {}, say("batch")),
                make("tbody", {}, line(long.source.pieces.map(named)), line(names)))),
            matrix("attention.padded", weights.map((of) => [...of, ...pad.map(() => 0)].slice(0, FEW)), {
                caption: say("padded"), rows: names.slice(0, own), columns: names, limit: 1, hidden: (_, c) => c >= own,
            }));
    });
    return { element, update };
}

/** Self-attention of the decoder with the look-ahead mask, or with `mask = off` without it. */
function triangle(context) {
    const { model, say, options: { mask } } = context;
    const shown = make("div", {});
    const show = latest(shown, async (current, run) => {
        const numbers = (of, what, limit = null) => {
            const names = tokensOf(model, run, "decoder").keys.slice(0, FEW);
            const values = of.rows(`${moduleOf(at)}.${what}`, at.head).slice(0, FEW).map((one) => one.slice(0, FEW));
            return matrix(`attention.mask_${mask}.${what}`, values, {
                caption: say(`${what}_table`), rows: names, columns: names, limit,
                hidden: (r, c) => c > r && mask === "on",
            });
        };
        if (mask === "on") return shown.replaceChildren(numbers(run, "logits"), numbers(run, "weights", 1));
        const after = await changed(model, run, [{ what: "no_mask", stack: "decoder" }]);
        if (!current()) return;
        const weights = numbers(withTrace(run, after.trace), "weights", 1);
        shown.replaceChildren(weights, compared(context, "mask_off", run, after));
    });
    const { element, at, renew } = picker(context, show, { stacks: ["decoder"], query: false });
    return {
        element: make("div", {}, element, shown),
        update(run) {
            renew(run);
            return show(run);
        },
    };
}

/** Recorded: training with the mask and without it, and how both translate. */
function cheating({ say, recorded: { cheating } }) {
    if (!cheating) return unrecorded(say);
    const { curves, translations, seeds, processor } = cheating;
    const { steps } = curves[0];
    const curve = (mask) => {
        const runs = curves.filter((one) => one.mask === mask).map(({ valid }) => valid);
        const points = steps.map((step, i) => [step, mean(runs.map((of) => of[i]))]);
        return { name: say(mask ? "with" : "without"), points };
    };
    const cell = (lang, text) => make("span", { lang }, text || say("nothing"));
    const rows = translations.map((one) => [cell("en", one.source), cell("de", one.with), cell("de", one.without)]);
    return { element: make("div", {},
        lines({
            title: say("cheating_chart"), x: say("step"), y: say("nats"), numbers: say("show"),
            curves: [true, false].map(curve),
        }), make("p", { class: "hint" }, say("recorded", { seeds: seeds.length, processor })),
        figures(say("cheating_table"), ["source", "with", "without"].map((key) => say(key)), rows)) };
}

/** Greedy search in which one query has the weights of the reader. It ends when it is no longer `current`. */
async function directed(model, run, { stack, layer, head, query }, weights, current) {
    const target = [];
    const changes = () => {
        if (stack !== "encoder" && target.length < query) return [];
        const values = stack === "decoder" ? range(target.length + 1).map((k) => weights[k] ?? 0) : weights;
        return [{ what: "weights", stack, layer, head, place: query, values }];
    };
    while (current() && target.length < run.target.ids.length + LONGER) {
        const id = best(await model.next(run.source.ids, target, changes()));
        if (id === model.shape.end_id) break;
        target.push(id);
    }
    return model.translator.decode(target);
}

/** The reader sets the weights of one query. */
function attend(context) {
    const { model, say } = context;
    const result = make("div", { "aria-live": "polite" });
    const rows = make("div", { class: "directed" });
    const start = { stack: "cross", layer: -1, head: -1, query: 2 };
    const { element, at, renew } = picker(context, reset, { every: true, start });
    let run;
    let amounts; // of each key that the query sees, before they are divided by their sum
    let own = true; // the model's weights, which the reader has not changed
    let sliders;

    const show = latest(result, async (current) => {
        const total = amounts.reduce((sum, one) => sum + one, 0) || 1;
        const weights = tokensOf(model, run, at.stack).keys.map((_, k) => (amounts[k] ?? 0) / total);
        const changes = [{ what: "weights", ...at, place: at.query, values: weights }];
        const trace = own ? run.trace : await model.translator.trace(run.source.ids, run.target.ids, changes);
        const text = own ? run.target.text : await directed(model, run, at, weights, current);
        if (!current()) return;
        const likely = (when, { logits: { shape, values } }) => {
            const p = softmax(row(values, shape[1], at.query));
            const first = range(p.length).sort((a, b) => p[b] - p[a]).slice(0, 3);
            return note(say(`next_${when}`), first.map((id, i) => [
                " ", word(`attention.next.${when}.${i}`, named(model.pieces[id])),
                " ", number(`attention.next.${when}.${i}.p`, p[id], 2)]));
        };
        result.replaceChildren(compared(context, "attend", run, { loss: model.loss(run, trace), text }),
            ...(at.stack === "encoder" ? [] : [likely("before", run.trace), likely("after", trace)]));
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
        const chosen = allHeads(model).filter(({ stack, layer, head }) =>
            stack === at.stack && [layer, -1].includes(at.layer) && [head, -1].includes(at.head));
        const weights = chosen.map((one) => run.rows(`${moduleOf(one)}.weights`, one.head)[at.query]);
        const seen = range(at.stack === "decoder" ? at.query + 1 : keys.length);
        amounts = seen.map((k) => mean(weights.map((of) => of[k])));
        sliders = seen.map((k) => slider({
            label: keys[k], values: range(101).map((i) => i / 100), value: amounts[k], show: (value) => fixed(value, 2),
            change: (value) => set(amounts.with(k, value)),
        }));
        rows.replaceChildren(...seen.map((k) => make("div", {}, sliders[k].element,
            number(`attention.attend.${k}`, amounts[k]),
            make("button", { type: "button", onclick: () => set(seen.map((i) => Number(i === k))) }, say("only")))));
        return show();
    }

    return {
        element: make("div", {}, element, rows,
            make("button", { type: "button", class: "play", onclick: () => reset(run) }, say("reset")), result),
        update(next) {
            renew(next);
            return reset(next);
        },
    };
}

/** Heads that the reader switches off. */
function switches(context) {
    const { model, say } = context;
    const off = new Set();
    const result = make("div", { "aria-live": "polite" });
    let run;
    const show = latest(result, async (current) => {
        const after = await changed(model, run, [...off].map((at) => ({ what: "without", ...at })));
        if (current()) result.replaceChildren(compared(context, "switches", run, after));
    });
    const toggle = (at) => make("button", {
        type: "button", "aria-pressed": "false", "aria-label": headName(say, at),
        onclick({ currentTarget }) {
            if (!off.delete(at)) off.add(at);
            currentTarget.setAttribute("aria-pressed", String(off.has(at)));
            show();
        },
    }, `${at.layer + 1}.${at.head + 1}`);
    const groups = STACKS.map((stack) => make("div", { class: "control" }, make("span", {}, say(stack)),
        make("div", { class: "choice" }, allHeads(model).filter((at) => at.stack === stack).map(toggle))));
    return {
        element: make("div", {}, controls(groups), result),
        update(next) {
            run = next;
            return show();
        },
    };
}

const WIDGETS = {
    head: oneHead, random: randomVectors, unscaled, maps: allMaps, every: everyHead, terms, padding, triangle, cheating,
    attend, switches,
};

export const attention = Object.fromEntries(Object.entries(WIDGETS).map(([name, build]) => [`attention.${name}`,
    (context) => build({ ...context, say: (key, values) => context.say(`attention.${key}`, values) })]));
