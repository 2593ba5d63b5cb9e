// Chapter 4: the whole machine, trained.

import { choice, slider } from "../../inspection/views/page/controls.js";
import { allShown, thumbnail } from "../../inspection/views/page/matrix.js";
import { make } from "./dom.js";
import { number, word } from "./live.js";
import { best, cosine, logSoftmax, norm } from "./model.js";
import { lines } from "./plot.js";

const PENALTY = (length, alpha) => ((5 + length) / 6) ** alpha;
const steps = (low, high, step) =>
    Array.from({ length: Math.round((high - low) / step) + 1 }, (_, i) => Number((low + i * step).toFixed(6)));
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const deviation = (values) => Math.sqrt(mean(Array.from(values, (value) => (value - mean(values)) ** 2)));
const sum = (a, b) => a.map((value, i) => value + b[i]);

/** A vector as a row of coloured cells, as text its length. */
function strip(label, values) {
    const limit = Math.max(...Array.from(values, Math.abs), 1e-9);
    const canvas = thumbnail(label, () => ({
        rows: [0],
        columns: Array.from(values, (_, i) => i),
        values,
        state: allShown,
        scale: { signed: true, limit },
    }));
    canvas.classList.add("strip");
    return canvas;
}

/** A table with a caption, column heads by their labels, and rows whose first cell is their name. */
function grid(say, caption, head, rows) {
    return make(
        "div",
        { class: "scroll", tabindex: 0, role: "group", "aria-label": say(caption) },
        make(
            "table",
            {},
            make("caption", {}, say(caption)),
            make(
                "thead",
                {},
                make(
                    "tr",
                    {},
                    head.map((key) => make("th", { scope: "col" }, say(key))),
                ),
            ),
            make(
                "tbody",
                {},
                rows.map(([name, ...cells]) =>
                    make(
                        "tr",
                        {},
                        make("th", { scope: "row" }, name),
                        cells.map((cell) => make("td", {}, cell)),
                    ),
                ),
            ),
        ),
    );
}

/** Buttons for the tokens of a side. The last choice stays if the token is still there. */
function tokenChoice(label, pieces, value, change) {
    return choice({ label, value, change, options: pieces.map((text, i) => ({ value: i, text })) });
}

// ---- a sentence walks through -------------------------------------------------------------------------------------

/** The vectors of a side on its way: [key of the label, name of the array, number of the layer]. */
function stages(shape, side) {
    const input = side === "encoder" ? "source" : "target";
    const parts = side === "encoder" ? ["attention", "feed_forward"] : ["attention", "cross_attention", "feed_forward"];
    const layers = Array.from({ length: shape[`${side}_layers`] }, (_, layer) =>
        parts.map((part) => [part, `${side}.${layer}.${part}_residual`, layer + 1]),
    );
    return [["embedding", `${input}.embedding`, 0], ["input", `${input}.input`, 0], ...layers.flat()];
}

function walk({ model, say }) {
    const state = { side: "encoder", place: 1 };
    const bar = make("div", { class: "controls" });
    const body = make("div", {});
    let run;
    const show = () => {
        const pieces = state.side === "encoder" ? run.source.pieces : ["<s>", ...run.target.pieces.slice(0, -1)];
        state.place = Math.min(state.place, pieces.length - 1);
        bar.replaceChildren(
            choice({
                label: say("machine.side"),
                value: state.side,
                options: ["encoder", "decoder"].map((value) => ({ value, text: say(`machine.${value}`) })),
                change(side) {
                    state.side = side;
                    show();
                },
            }),
            tokenChoice(say("machine.token"), pieces, state.place, (place) => {
                state.place = place;
                table();
            }),
        );
        table();
    };
    const table = () => {
        let before = null;
        const rows = stages(model.shape, state.side).map(([part, name, layer], i) => {
            const vector = run.rows(name)[state.place];
            const same = before && cosine(before, vector);
            before = vector;
            return [
                say(`machine.stage.${part}`, { layer }),
                strip(say("machine.strip", { length: norm(vector).toFixed(2) }), vector),
                number(`machine.walk.${i}.length`, norm(vector)),
                i ? number(`machine.walk.${i}.cosine`, same) : "",
            ];
        });
        body.replaceChildren(
            grid(say, "machine.walk", ["machine.stage", "machine.vector", "machine.length", "machine.cosine"], rows),
            ...guesses(),
        );
    };
    const guesses = () => {
        if (state.side === "encoder") return [];
        const chances = logSoftmax(run.rows("logits")[state.place])
            .map((logp, id) => [logp, id])
            .sort((a, b) => b[0] - a[0])
            .slice(0, 5);
        const rows = chances.map(([logp, id], i) => [
            word(`machine.guess.${i}`, model.pieces[id]),
            number(`machine.guess.${i}.p`, Math.exp(logp), 4),
        ]);
        return [grid(say, "machine.guesses", ["machine.token", "machine.probability"], rows)];
    };
    return {
        element: make("div", {}, bar, body),
        update(next) {
            run = next;
            show();
        },
    };
}

// ---- normalisation and feed-forward -------------------------------------------------------------------------------

function layerNorm({ say }) {
    const bar = make("div", { class: "controls" });
    const body = make("div", {});
    let place = 1,
        run;
    const table = () => {
        const x = run.rows("source.input")[place],
            out = run.rows("encoder.0.attention")[place];
        const rows = [
            ["x", x],
            [say("machine.sublayer"), out],
            [say("machine.sum"), sum(x, out)],
            [say("machine.normalised"), run.rows("encoder.0.attention_residual.norm")[place]],
        ];
        body.replaceChildren(
            grid(
                say,
                "machine.norm",
                ["machine.vector", "machine.numbers", "machine.mean", "machine.deviation"],
                rows.map(([name, values], i) => [
                    name,
                    strip(name, values),
                    number(`machine.norm.${i}.mean`, mean(values)),
                    number(`machine.norm.${i}.deviation`, deviation(values)),
                ]),
            ),
        );
    };
    return {
        element: make("div", {}, bar, body),
        update(next) {
            run = next;
            place = Math.min(place, run.source.pieces.length - 1);
            bar.replaceChildren(
                tokenChoice(say("machine.token"), run.source.pieces, place, (to) => {
                    place = to;
                    table();
                }),
            );
            table();
        },
    };
}

function hidden({ model, say }) {
    const body = make("div", {});
    let layer = 0,
        run;
    const table = () =>
        body.replaceChildren(
            grid(
                say,
                "machine.hidden",
                ["machine.token", "machine.numbers", "machine.active", "machine.greatest"],
                run
                    .rows(`encoder.${layer}.feed_forward.hidden`)
                    .map((values, i) => [
                        word(`machine.hidden.${i}.piece`, run.source.pieces[i]),
                        strip(say("machine.neurons", { token: run.source.pieces[i] }), values),
                        number(`machine.hidden.${i}.active`, values.filter((value) => value > 0).length, 0),
                        number(`machine.hidden.${i}.greatest`, Math.max(...values)),
                    ]),
            ),
        );
    const layers = choice({
        label: say("machine.layer"),
        value: 0,
        change(to) {
            layer = to;
            table();
        },
        options: Array.from({ length: model.shape.encoder_layers }, (_, value) => ({ value, text: String(value + 1) })),
    });
    return {
        element: make("div", {}, make("div", { class: "controls" }, layers), body),
        update(next) {
            run = next;
            table();
        },
    };
}

// ---- training -----------------------------------------------------------------------------------------------------

/** Each token of a given translation: its probability after those before it, and the likeliest in its place. */
function forcing({ model, say }) {
    const field = make("input", {
        type: "text",
        maxlength: 200,
        spellcheck: "false",
        lang: "de",
        "aria-label": say("machine.given"),
    });
    const body = make("div", {});
    let run,
        newest = 0;
    const show = async () => {
        const count = ++newest;
        const text = field.value.trim();
        const own = !text || text === run.target.text; // its tokens may be other ones than those of its text
        const target = own ? run.target.ids : await model.translator.encode(text, "target");
        const given = await model.traced(run.source.text, run.source.ids, target);
        if (count !== newest) return;
        const ids = [...target, model.shape.end_id];
        const logs = given.rows("logits").map((row) => logSoftmax(row));
        const rows = ids.map((id, i) => [
            word(`machine.forcing.${i}.given`, model.pieces[id]),
            number(`machine.forcing.${i}.p`, Math.exp(logs[i][id]), 4),
            number(`machine.forcing.${i}.loss`, -logs[i][id]),
            word(`machine.forcing.${i}.best`, model.pieces[best(logs[i])]),
            number(`machine.forcing.${i}.chance`, Math.exp(logs[i][best(logs[i])]), 4),
        ]);
        body.replaceChildren(
            grid(
                say,
                "machine.forcing",
                [
                    "machine.given_token",
                    "machine.probability",
                    "machine.nats",
                    "machine.likeliest",
                    "machine.probability",
                ],
                rows,
            ),
            make(
                "p",
                {},
                say("machine.mean_loss"),
                " ",
                number("machine.forcing.mean", -mean(ids.map((id, i) => logs[i][id])), 4),
            ),
            make("p", {}, say("machine.free"), " ", make("bdi", { lang: "de" }, run.target.text)),
        );
    };
    field.addEventListener("input", show);
    return {
        element: make(
            "div",
            {},
            make("label", { class: "control wide" }, make("span", {}, say("machine.given")), field),
            body,
        ),
        update(next) {
            if (run && field.value === run.target.text) field.value = "";
            run = next;
            if (!field.value) field.value = run.target.text;
            return show();
        },
    };
}

/** A formula with sliders: `values(...)` gives the numbers, `curve(...)` the chart. */
function formula(sliders, show) {
    const box = make("div", {});
    const state = sliders.map(({ value }) => value);
    const draw = () => box.replaceChildren(...show(...state));
    const knobs = sliders.map(
        (one, i) =>
            slider({
                ...one,
                change(to) {
                    state[i] = to;
                    draw();
                },
            }).element,
    );
    draw();
    return { element: make("div", {}, make("div", { class: "controls" }, knobs), box) };
}

function loss({ say }) {
    const points = steps(0.01, 1, 0.01).map((p) => [p, -Math.log(p)]);
    return formula([{ label: say("machine.right_p"), values: steps(0.01, 1, 0.01), value: 0.5 }], (p) => [
        lines({
            title: say("machine.loss"),
            x: say("machine.right_p"),
            y: say("machine.nats"),
            curves: [{ name: "−log p", points }],
            numbers: say("machine.show"),
            mark: p,
        }),
        make("p", {}, `−log ${p} = `, number("machine.loss", -Math.log(p))),
    ]);
}

function smoothing({ model, say }) {
    const size = model.shape.target_vocab;
    const lowest = (e) => {
        const [right, other] = [1 - e + e / size, e / size];
        return -right * Math.log(right) - (other ? (size - 1) * other * Math.log(other) : 0);
    };
    return formula([{ label: "ε", values: steps(0, 0.5, 0.01), value: 0.1 }], (e) => [
        grid(
            say,
            "machine.smoothed",
            ["machine.what", "machine.value"],
            [
                [say("machine.right"), number("machine.smoothing.right", 1 - e + e / size, 5)],
                [say("machine.other", { size: size - 1 }), number("machine.smoothing.other", e / size, 6)],
                [say("machine.lowest"), number("machine.smoothing.lowest", lowest(e), 4)],
            ],
        ),
        lines({
            title: say("machine.lowest"),
            x: "ε",
            y: say("machine.nats"),
            curves: [{ name: say("machine.lowest"), points: steps(0, 0.5, 0.01).map((x) => [x, lowest(x)]) }],
            numbers: say("machine.show"),
            mark: e,
        }),
    ]);
}

function rate({ say }) {
    const at = (step, width, warm) => width ** -0.5 * Math.min(step ** -0.5, step * warm ** -1.5);
    const powers = [64, 128, 256, 512, 1024],
        warm = [100, 250, 500, 1000, 2000, 4000, 8000, 16000];
    return formula(
        [
            { label: "d_model", values: powers, value: 512 },
            { label: say("machine.warmup"), values: warm, value: 4000 },
        ],
        (width, warmup) => [
            lines({
                title: say("machine.rate"),
                x: say("machine.step"),
                y: "",
                mark: warmup,
                numbers: say("machine.show"),
                curves: [
                    {
                        name: say("machine.rate"),
                        points: steps(100, 30000, 100).map((step) => [step, at(step, width, warmup)]),
                    },
                ],
            }),
            make("p", {}, say("machine.peak"), " ", number("machine.rate.peak", at(warmup, width, warmup), 6)),
        ],
    );
}

const VARIANTS = {
    residual: ({ residual }) => (residual ? "with" : "without"),
    norm: ({ norm, warmup }) => `${norm}.${warmup ? "warmup" : "cold"}`,
    smoothing: ({ smoothing }) => `smoothing.${smoothing ? "some" : "none"}`,
};

/** The curves of a recorded entry by variant, each the mean of its seeds. */
function meanCurves(entry, variant, values) {
    const groups = Map.groupBy(entry.curves, variant);
    return [...groups].map(([name, runs]) => [
        name,
        runs[0].steps.map((step, i) => [step, mean(runs.map((run) => run[values][i] ?? NaN))]),
    ]);
}

/** What training runs recorded, under the name in the options. */
function recordedRuns({ recorded, say, options: { of } }) {
    const entry = recorded[of],
        show = say("machine.show");
    if (!entry) return { element: make("p", { class: "hint" }, say("machine.unrecorded")) };
    const chart = (values) =>
        lines({
            title: say(`machine.${of}.${values}`),
            x: say("machine.step"),
            y: values === "valid" ? say("machine.nats") : "",
            numbers: show,
            curves: meanCurves(entry, VARIANTS[of], values).map(([name, points]) => ({
                name: say(`machine.curve.${name}`),
                points,
            })),
        });
    const gradients =
        entry.gradients &&
        lines({
            title: say("machine.gradients"),
            x: say("machine.depth"),
            y: say("machine.log10"),
            numbers: show,
            curves: entry.gradients.map(({ residual, step, encoder, decoder }) => ({
                name: say("machine.at_step", { which: say(`machine.curve.${residual ? "with" : "without"}`), step }),
                points: [...encoder, ...decoder].map((value, i) => [i + 1, Math.log10(Math.max(value, 1e-12))]),
            })),
        });
    const charts = [gradients, chart("valid"), entry.curves[0].probability && chart("probability")].filter(Boolean);
    const { seconds, processor, seeds } = entry;
    return {
        element: make(
            "div",
            {},
            charts,
            make(
                "p",
                { class: "hint" },
                say("machine.recorded", { seeds: seeds.length ?? seeds, seconds: Math.round(seconds), processor }),
            ),
        ),
    };
}

// ---- search -------------------------------------------------------------------------------------------------------

/** Beam search, section 6.1: the hypotheses of each step, and the finished ones with their log-probabilities. */
async function beamSearch(model, source, size) {
    let open = [{ ids: [], logp: 0 }];
    const finished = [],
        history = [],
        end = model.shape.end_id,
        most = source.length + 20;
    while (open.length && finished.length < size) {
        const candidates = [];
        for (const { ids, logp } of open) {
            const next = await model.next(source, ids);
            const likely = Array.from(next, (value, id) => [value, id])
                .sort((a, b) => b[0] - a[0])
                .slice(0, 2 * size);
            for (const [value, id] of likely) candidates.push({ ids: [...ids, id], logp: logp + value });
        }
        candidates.sort((a, b) => b.logp - a.logp);
        const step = candidates.slice(0, 2 * size).map((one) => ({ ...one, ended: one.ids.at(-1) === end }));
        open = step.filter(({ ended }) => !ended).slice(0, size);
        const last = open.length ? step.indexOf(open.at(-1)) : step.length;
        finished.push(...step.filter(({ ended }, i) => ended && i < Math.max(last, size)));
        history.push(
            step.map((one) => ({ ...one, kept: open.includes(one), ended: one.ended && finished.includes(one) })),
        );
        if (history.length >= most) break;
    }
    return { finished, history };
}

function search({ model, say }) {
    const state = { size: 3, alpha: 0.6 };
    const body = make("div", {});
    let run,
        found,
        newest = 0;
    const ranked = () =>
        [...found.finished].sort(
            (a, b) => b.logp / PENALTY(b.ids.length, state.alpha) - a.logp / PENALTY(a.ids.length, state.alpha),
        );
    const show = async () => {
        const all = ranked().slice(0, state.size);
        const texts = await Promise.all(all.map(({ ids }) => model.translator.decode(ids.slice(0, -1))));
        const rows = all.map(({ ids, logp }, i) => [
            word(`machine.search.${i}.text`, texts[i]),
            number(`machine.search.${i}.logp`, logp),
            number(`machine.search.${i}.length`, ids.length, 0),
            number(`machine.search.${i}.score`, logp / PENALTY(ids.length, state.alpha)),
        ]);
        const history = found.history.map((step, i) =>
            make(
                "li",
                {},
                step.slice(0, state.size + 3).map(({ ids, logp, kept, ended }) =>
                    make(
                        "span",
                        { class: ended ? "beam ended" : kept ? "beam kept" : "beam", title: logp.toFixed(3) },
                        make(
                            "bdi",
                            {},
                            ids
                                .slice(-3)
                                .map((id) => model.pieces[id])
                                .join(""),
                        ),
                        make(
                            "span",
                            { class: "unseen" },
                            ` ${say(ended ? "machine.ended" : kept ? "machine.kept" : "machine.dropped")}`,
                        ),
                    ),
                ),
            ),
        );
        body.replaceChildren(
            grid(
                say,
                "machine.search",
                ["machine.translation", "machine.logp", "machine.tokens", "machine.score"],
                rows,
            ),
            make("details", {}, make("summary", {}, say("machine.steps")), make("ol", { class: "beams" }, history)),
        );
    };
    const renew = async () => {
        const count = ++newest;
        const next = await beamSearch(model, run.source.ids, state.size);
        if (count !== newest) return;
        found = next;
        await show();
    };
    const knobs = [
        slider({
            label: say("machine.beam"),
            values: steps(1, 6, 1),
            value: state.size,
            change(to) {
                state.size = to;
                renew();
            },
        }),
        slider({
            label: say("machine.alpha"),
            values: steps(-1, 3, 0.1),
            value: state.alpha,
            change(to) {
                state.alpha = to;
                show();
            },
        }),
    ];
    return {
        element: make(
            "div",
            {},
            make(
                "div",
                { class: "controls" },
                knobs.map(({ element }) => element),
            ),
            body,
        ),
        update(next) {
            run = next;
            return renew();
        },
    };
}

/** Random numbers from 0 to 1, the same for the same seed: mulberry32. */
function random(seed) {
    return () => {
        seed = (seed + 0x6d2b79f5) | 0;
        let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
    };
}

function sampling({ model, say }) {
    const state = { temperature: 1, seed: 1 };
    const body = make("div", {});
    let run,
        newest = 0;
    const renew = async () => {
        const count = ++newest,
            draw = random(state.seed),
            rows = [];
        for (let i = 0; i < 5; i++) {
            let logp = 0;
            const pick = (logs) => {
                const chances = logSoftmax(logs.map((value) => value / state.temperature)).map(Math.exp);
                let left = draw(),
                    id = chances.findIndex((chance) => (left -= chance) < 0);
                if (id < 0) id = best(chances);
                logp += logs[id];
                return id;
            };
            const ids = await model.decode(run.source.ids, { pick });
            if (count !== newest) return;
            rows.push([
                word(`machine.sample.${i}.text`, await model.translator.decode(ids)),
                number(`machine.sample.${i}.logp`, logp),
            ]);
        }
        body.replaceChildren(grid(say, "machine.samples", ["machine.translation", "machine.logp"], rows));
    };
    const heat = slider({
        label: say("machine.temperature"),
        values: steps(0.1, 2, 0.1),
        value: 1,
        change(to) {
            state.temperature = to;
            renew();
        },
    });
    const again = make(
        "button",
        {
            type: "button",
            class: "play",
            onclick() {
                state.seed++;
                renew();
            },
        },
        say("machine.again"),
    );
    return {
        element: make("div", {}, make("div", { class: "controls" }, heat.element, again), body),
        update(next) {
            run = next;
            return renew();
        },
    };
}

// ---- break it -----------------------------------------------------------------------------------------------------

/** The loss of the model's own translation, and its new translation, without one of the shortcuts. */
function shortcuts({ model, say }) {
    const body = make("div", {});
    const parts = ["encoder", "decoder"].flatMap((stack) =>
        Array.from({ length: model.shape[`${stack}_layers`] }, (_, layer) =>
            (stack === "encoder" ? [0, 2] : [0, 1, 2]).map((place) => ({ what: "no_residual", stack, layer, place })),
        ).flat(),
    );
    const names = ["attention", "cross_attention", "feed_forward"];
    let newest = 0;
    const update = async (run) => {
        const count = ++newest,
            rows = [];
        for (const [i, change] of [null, ...parts].entries()) {
            const changes = change ? [change] : [];
            const changed = await model.run(run.source.text, { changes });
            const forced = await model.traced(run.source.text, run.source.ids, run.target.ids, changes);
            if (count !== newest) return;
            const ids = [...run.target.ids, model.shape.end_id];
            const cost = -mean(forced.rows("logits").map((row, t) => logSoftmax(row)[ids[t]]));
            const name = change
                ? say("machine.cut", {
                      stack: say(`machine.${change.stack}`),
                      part: say(`machine.part.${names[change.place]}`),
                      layer: change.layer + 1,
                  })
                : say("machine.whole");
            rows.push([
                name,
                number(`machine.break.${i}.loss`, cost),
                word(`machine.break.${i}.text`, changed.target.text),
            ]);
        }
        body.replaceChildren(
            grid(say, "machine.breaks", ["machine.shortcut", "machine.nats", "machine.translation"], rows),
        );
    };
    return { element: body, update };
}

export const machine = {
    "machine.walk": walk,
    "machine.norm": layerNorm,
    "machine.hidden": hidden,
    "machine.forcing": forcing,
    "machine.loss": loss,
    "machine.smoothing": smoothing,
    "machine.rate": rate,
    "machine.recorded": recordedRuns,
    "machine.search": search,
    "machine.sampling": sampling,
    "machine.break": shortcuts,
};
