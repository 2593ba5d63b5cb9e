// Chapter 5: before and since.

import { choice, slider } from "../../inspection/views/page/controls.js";
import { LAYERS } from "../../inspection/views/page/complexity.js";
import { make } from "./dom.js";
import { matrix, number, word } from "./live.js";
import { logSoftmax } from "./model.js";
import { lines } from "./plot.js";

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const spread = (values) =>
    Math.sqrt(
        mean(values.map((value) => (value - mean(values)) ** 2)) * (values.length / Math.max(values.length - 1, 1)),
    );

/** The recorded runs of the ladder by system, or a note that there are none. */
function systems(recorded) {
    return recorded.ladder ? [...Map.groupBy(recorded.ladder.systems, ({ system }) => system)] : [];
}

const missing = (say) => ({ element: make("p", { class: "hint" }, say("since.unrecorded")) });

/** One row for each system: size, time and BLEU, the mean of its seeds. */
function ladder({ recorded, say }) {
    if (!recorded.ladder) return missing(say);
    const columns = ["system", "parameters", "updates", "minutes", "bleu"];
    const rows = systems(recorded).map(([name, runs]) => {
        const bleu = runs.map((run) => run.bleu);
        const cells = [
            runs[0].parameters.toLocaleString("en"),
            Math.round(mean(runs.map((run) => run.updates))).toLocaleString("en"),
            (mean(runs.map((run) => run.seconds)) / 60).toFixed(1),
            `${mean(bleu).toFixed(1)} ± ${spread(bleu).toFixed(1)}`,
        ];
        return make(
            "tr",
            {},
            make("th", { scope: "row" }, say(`since.system.${name}`)),
            cells.map((cell) => make("td", {}, cell)),
        );
    });
    const head = make(
        "tr",
        {},
        columns.map((key) => make("th", { scope: "col" }, say(`since.${key}`))),
    );
    const { seeds, processor } = recorded.ladder;
    return {
        element: make(
            "div",
            {},
            make(
                "div",
                { class: "scroll", tabindex: 0, role: "group", "aria-label": say("since.ladder") },
                make(
                    "table",
                    {},
                    make("caption", {}, say("since.ladder")),
                    make("thead", {}, head),
                    make("tbody", {}, rows),
                ),
            ),
            make("p", { class: "hint" }, say("since.recorded", { seeds: seeds.length, processor })),
        ),
    };
}

/** BLEU by the length of the source. */
function lengths({ recorded, say }) {
    if (!recorded.ladder) return missing(say);
    const { buckets } = recorded.ladder;
    const curves = systems(recorded).map(([name, runs]) => ({
        name: say(`since.system.${name}`),
        points: buckets.map(({ from }, i) => [
            from,
            mean(runs.map((run) => run.by_length[i])),
        ]),
    }));
    return {
        element: lines({
            title: say("since.lengths"),
            x: say("since.words"),
            y: "",
            curves,
            numbers: say("since.show"),
        }),
    };
}

/** The attention of the systems that have one, for a recorded sentence. */
function attention({ recorded, say }) {
    if (!recorded.ladder) return missing(say);
    const all = [...Map.groupBy(recorded.ladder.attention, ({ source }) => source.join(" "))];
    const box = make("div", {});
    const show = (at) =>
        box.replaceChildren(
            ...all[at][1].map(({ system, source, target, weights }) =>
                make(
                    "div",
                    { class: "system" },
                    matrix(null, weights, {
                        caption: say("since.attends", { system: say(`since.system.${system}`) }),
                        rows: target,
                        columns: source,
                        limit: 1,
                    }),
                ),
            ),
        );
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
    return { element: make("div", {}, make("div", { class: "controls" }, bar), box) };
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
            const { cost, steps, path } = LAYERS[i];
            const cells = { operations: cost, steps, path };
            return make(
                "tr",
                {},
                make("th", { scope: "row" }, say(`since.${name}`)),
                Object.entries(cells).map(([key, value]) =>
                    make(
                        "td",
                        {},
                        number(
                            `since.complexity.${name}.${key}`,
                            value[1]({ ...state, k: KERNEL }),
                            key === "path" ? 1 : 0,
                        ),
                    ),
                ),
            );
        });
        const head = ["layer", "operations", "steps", "path"].map((key) =>
            make("th", { scope: "col" }, say(`since.${key}`)),
        );
        body.replaceChildren(
            make(
                "table",
                {},
                make("caption", {}, say("since.complexity")),
                make("thead", {}, make("tr", {}, head)),
                make("tbody", {}, rows),
            ),
        );
    };
    const knobs = [
        slider({
            label: say("since.n"),
            values: [5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000],
            value: 20,
            change(n) {
                state.n = n;
                show();
            },
        }),
        slider({
            label: say("since.d"),
            values: [64, 128, 256, 512, 1024],
            value: 512,
            change(d) {
                state.d = d;
                show();
            },
        }),
    ];
    show();
    return {
        element: make(
            "div",
            {},
            make(
                "div",
                { class: "controls" },
                knobs.map(({ element }) => element),
            ),
            make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": say("since.complexity") }, body),
        ),
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
            box.replaceChildren(
                lines({
                    title: say("since.measured", { d: WIDTH }),
                    x: say("since.n"),
                    y: "ms",
                    curves,
                    numbers: say("since.show"),
                }),
            );
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
    let newest = 0;
    const update = async (run) => {
        const count = ++newest,
            rows = [];
        for (let k = 1; k <= MOST; k++) {
            const text =
                Array(k)
                    .fill(run.source.text.replace(/[.?!]$/, ""))
                    .join(" and ") + ".";
            const once = await model.run(text);
            if (count !== newest) return;
            const logits = once.rows("logits"),
                { source, target } = once;
            const ids = [...target.ids, model.shape.end_id];
            const sure = mean(ids.map((id, i) => logSoftmax(logits[i])[id]));
            rows.push(
                make(
                    "tr",
                    {},
                    make("th", { scope: "row" }, number(`since.longer.${k}.tokens`, source.pieces.length, 0)),
                    make("td", {}, number(`since.longer.${k}.logp`, sure)),
                    make("td", { class: "long", lang: "de" }, word(`since.longer.${k}.text`, target.text)),
                ),
            );
        }
        const head = ["tokens", "sure", "translation"].map((key) => make("th", { scope: "col" }, say(`since.${key}`)));
        body.replaceChildren(
            make(
                "table",
                {},
                make("caption", {}, say("since.longer")),
                make("thead", {}, make("tr", {}, head)),
                make("tbody", {}, rows),
            ),
        );
    };
    return {
        element: make("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": say("since.longer") }, body),
        update,
    };
}

export const since = {
    "since.ladder": ladder,
    "since.lengths": lengths,
    "since.attention": attention,
    "since.complexity": complexity,
    "since.measured": measured,
    "since.longer": longer,
};
