// Chapter 5: before and since.

import { choice, controls } from "../../inspection/views/page/controls.js";
import { LAYERS } from "../../inspection/views/page/complexity.js";
import { make } from "./dom.js";
import { figures, german, knobs, latest, matrix, number } from "./live.js";
import { mean, range } from "./model.js";
import { lines } from "./plot.js";

/** The standard deviation of a sample. */
const spread = (values) =>
    Math.sqrt(values.reduce((sum, value) => sum + (value - mean(values)) ** 2, 0) / (values.length - 1));
const headed = (say, ...keys) => keys.map((key) => say(`since.${key}`));

/** The recorded runs of the ladder by system, or a note that there are none. */
function systems(recorded) {
    return recorded.ladder ? [...Map.groupBy(recorded.ladder.systems, ({ system }) => system)] : [];
}

const missing = (say) => ({ element: make("p", { class: "hint" }, say("since.unrecorded")) });

/** One row for each system: size, time and BLEU, the mean of its seeds. */
function ladder({ recorded, say }) {
    if (!recorded.ladder) return missing(say);
    const rows = systems(recorded).map(([name, runs]) => {
        const bleu = runs.map((run) => run.bleu);
        return [
            say(`since.system.${name}`),
            runs[0].parameters.toLocaleString("en"),
            Math.round(mean(runs.map((run) => run.updates))).toLocaleString("en"),
            (mean(runs.map((run) => run.seconds)) / 60).toFixed(1),
            mean(bleu).toFixed(1) + (bleu.length > 1 ? ` ± ${spread(bleu).toFixed(1)}` : ""),
        ];
    });
    const { seeds, processor } = recorded.ladder;
    return {
        element: make("div", {},
            figures(say("since.ladder"), headed(say, "system", "parameters", "updates", "minutes", "bleu"), rows),
            make("p", { class: "hint" }, say("since.recorded", { seeds: seeds.length, processor }))),
    };
}

/** BLEU by the length of the source. */
function lengths({ recorded, say }) {
    if (!recorded.ladder) return missing(say);
    const { buckets } = recorded.ladder;
    const curves = systems(recorded).map(([name, runs]) => ({
        name: say(`since.system.${name}`),
        points: buckets.map(({ from }, i) => [from, mean(runs.map((run) => run.by_length[i]))]),
    }));
    const [x, y] = [say("since.words"), say("since.bleu")];
    return { element: lines({ title: say("since.lengths"), x, y, curves, numbers: say("since.show") }) };
}

/** The attention of the systems that have one, for a recorded sentence. */
function attention({ recorded, say }) {
    if (!recorded.ladder) return missing(say);
    const all = [...Map.groupBy(recorded.ladder.attention, ({ source }) => source.join(" "))];
    const box = make("div", {});
    const show = (at) => box.replaceChildren(...all[at][1].map(({ system, source, target, weights }) =>
        make("div", { class: "system" }, matrix(null, weights, {
            caption: say("since.attends", { system: say(`since.system.${system}`) }),
            rows: target, columns: source, limit: 1,
        }))));
    show(0);
    const bar = choice({
        label: say("since.sentence"),
        value: 0,
        change: show,
        options: all.map(([, [{ source }]], value) => ({
            value,
            text: source.slice(0, -1).join("").replaceAll("▁", " ").trim(),
        })),
    });
    return { element: make("div", {}, controls(bar), box) };
}

// ---- complexity ---------------------------------------------------------------------------------------------------

const KERNEL = 3;
const KINDS = ["attention", "recurrent", "convolutional"]; // as in LAYERS

/** Table 1 of the paper, with numbers. */
function complexity({ say }) {
    const state = { n: 20, d: 512 };
    const body = make("div", {});
    const show = () => {
        const rows = KINDS.map((name, i) => {
            const cell = (key, value, decimals = 0) =>
                number(`since.complexity.${name}.${key}`, value[1]({ ...state, k: KERNEL }), decimals);
            const { cost, steps, path } = LAYERS[i];
            return [say(`since.${name}`), cell("operations", cost), cell("steps", steps), cell("path", path, 1)];
        });
        const head = headed(say, "layer", "operations", "steps", "path");
        body.replaceChildren(figures(say("since.complexity"), head, rows));
    };
    show();
    return {
        element: make("div", {}, controls(knobs(say, "since", state, show, {
            n: [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000], d: [64, 128, 256, 512, 1024],
        })), body),
    };
}

/** c[n, m] += a[n, k] b[k, m] of matrices as rows. */
function product(a, b, c, n, k, m) {
    for (let i = 0; i < n; i++)
        for (let j = 0; j < k; j++) {
            const x = a[i * k + j];
            for (let l = 0; l < m; l++) c[i * m + l] += x * b[j * m + l];
        }
}

/** The products of each kind of layer for n vectors of d numbers: what its row of table 1 counts. */
const WORK = {
    attention(n, d, x) {
        product(x, x, new Float32Array(n * n), n, d, n);
    },
    recurrent(n, d, x, w) {
        for (let i = 0; i < n; i++) product(x.subarray(i * d, (i + 1) * d), w, new Float32Array(d), 1, d, d);
    },
    convolutional(n, d, x, w) {
        for (let k = 0; k < KERNEL; k++) product(x, w, new Float32Array(n * d), n, d, d);
    },
};
const WIDTH = 64;
const LENGTHS = [16, 32, 64, 128, 256, 512];

/** Milliseconds of one call, the least of several. */
function milliseconds(work) {
    let least = Infinity;
    for (let i = 0; i < 5; i++) {
        const before = performance.now();
        let calls = 0;
        while (performance.now() - before < 4 || !calls) {
            work();
            calls++;
        }
        least = Math.min(least, (performance.now() - before) / calls);
    }
    return least;
}

/** The same table, measured here. */
function measured({ say }) {
    const box = make("div", { "aria-live": "polite" });
    const measure = async () => {
        button.disabled = true;
        const curves = KINDS.map((name) => ({ name: say(`since.${name}`), points: [] }));
        const filled = (size) => Float32Array.from({ length: size }, (_, i) => Math.sin(i) / WIDTH);
        for (const n of LENGTHS) {
            const [x, w] = [filled(n * WIDTH), filled(WIDTH * WIDTH)];
            for (const [i, work] of Object.values(WORK).entries()) {
                curves[i].points.push([n, milliseconds(() => work(n, WIDTH, x, w))]);
                await new Promise((resolve) => setTimeout(resolve)); // the page stays alive
            }
            const title = say("since.measured", { d: WIDTH });
            box.replaceChildren(lines({ title, x: say("since.n"), y: "ms", curves, numbers: say("since.show") }));
        }
        button.disabled = false;
    };
    const button = make("button", { type: "button", class: "play", onclick: measure }, say("since.measure"));
    return { element: make("div", {}, button, box) };
}

// ---- break it -----------------------------------------------------------------------------------------------------

const MOST = 4;

/** The sentence once, twice ..., and how sure the model is of its translation. */
function longer({ model, say }) {
    const body = make("div", {});
    const update = latest(body, async (current, run) => {
        const rows = [];
        for (const k of range(MOST, 1)) {
            const text = `${Array(k).fill(run.source.text.replace(/[.?!]$/, "")).join(" and ")}.`;
            const once = k === 1 ? run : await model.run(text);
            if (!current()) return;
            rows.push([number(`since.longer.${k}.tokens`, once.source.pieces.length, 0),
                number(`since.longer.${k}.logp`, -model.loss(once, once.trace)),
                german(`since.longer.${k}.text`, once.target.text)]);
        }
        body.replaceChildren(figures(say("since.longer"), headed(say, "tokens", "sure", "translation"), rows));
    });
    return { element: body, update };
}

export const since = {
    "since.ladder": ladder,
    "since.lengths": lengths,
    "since.attention": attention,
    "since.complexity": complexity,
    "since.measured": measured,
    "since.longer": longer,
};
