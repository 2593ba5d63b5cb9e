// Chapter 4: the whole machine, trained.

import { choice, controls, slider } from "../../inspection/views/page/controls.js";
import { allShown, thumbnail } from "../../inspection/views/page/matrix.js";
import { make } from "./dom.js";
import { figures, german, latest, number, word } from "./live.js";
import { best, cosine, logSoftmax, mean, norm, range, steps } from "./model.js";
import { lines } from "./plot.js";
import { searching } from "./search.js";

const deviation = (values) => Math.sqrt(mean(Array.from(values, (value) => (value - mean(values)) ** 2)));
const sum = (a, b) => a.map((value, i) => value + b[i]);

/** A vector as a row of coloured cells, as text its length. */
function strip(label, values) {
    const limit = Math.max(...Array.from(values, Math.abs), 1e-9);
    const canvas = thumbnail(label, () => ({
        rows: [0], columns: range(values.length), values, state: allShown, scale: { signed: true, limit },
    }));
    canvas.classList.add("strip");
    return canvas;
}

const headed = (say, ...keys) => keys.map((key) => say(`machine.${key}`));

/** Buttons for the tokens of a side. */
const tokenChoice = (label, pieces, value, change) =>
    choice({ label, value, change, options: pieces.map((text, i) => ({ value: i, text })) });

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
        const head = headed(say, "stage", "vector", "length", "cosine");
        body.replaceChildren(figures(say("machine.walk"), head, rows), ...guesses());
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
        return [figures(say("machine.guesses"), headed(say, "token", "probability"), rows)];
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
    let place = 1;
    let run;
    const table = () => {
        const x = run.rows("source.input")[place];
        const out = run.rows("encoder.0.attention")[place];
        const rows = [
            ["x", x],
            [say("machine.sublayer"), out],
            [say("machine.sum"), sum(x, out)],
            [say("machine.normalised"), run.rows("encoder.0.attention_residual.norm")[place]],
        ];
        const head = headed(say, "vector", "numbers", "mean", "deviation");
        body.replaceChildren(figures(say("machine.norm"), head, rows.map(([name, values], i) => [
            name, strip(name, values),
            number(`machine.norm.${i}.mean`, mean(values)), number(`machine.norm.${i}.deviation`, deviation(values)),
        ])));
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
    let layer = 0;
    let run;
    const table = () => {
        const rows = run.rows(`encoder.${layer}.feed_forward.hidden`).map((values, i) => [
            word(`machine.hidden.${i}.piece`, run.source.pieces[i]),
            strip(say("machine.neurons", { token: run.source.pieces[i] }), values),
            number(`machine.hidden.${i}.active`, values.filter((value) => value > 0).length, 0),
            number(`machine.hidden.${i}.greatest`, Math.max(...values)),
        ]);
        body.replaceChildren(
            figures(say("machine.hidden"), headed(say, "token", "numbers", "active", "greatest"), rows));
    };
    const layers = choice({
        label: say("machine.layer"),
        value: 0,
        options: range(model.shape.encoder_layers).map((value) => ({ value, text: String(value + 1) })),
        change(to) {
            layer = to;
            table();
        },
    });
    return {
        element: make("div", {}, controls(layers), body),
        update(next) {
            run = next;
            table();
        },
    };
}

// ---- training -----------------------------------------------------------------------------------------------------

const MOST_GIVEN = 200; // tokens of a given translation

/** Each token of a given translation: its probability after those before it, and the likeliest in its place. */
function forcing({ model, say }) {
    const field = make("input", {
        type: "text", maxlength: 200, spellcheck: "false", lang: "de", "aria-label": say("machine.given"),
    });
    const body = make("div", {});
    let run;
    const show = latest(body, async (current) => {
        const text = field.value.trim();
        const own = !text || text === run.target.text; // its tokens may be other ones than those of its text
        const target = own ? run.target.ids : await model.translator.encode(text, "target");
        if (target.length > MOST_GIVEN) {
            if (current()) body.replaceChildren(make("p", {}, say("long", { most: MOST_GIVEN })));
            return;
        }
        const given = await model.traced(run.source.text, run.source.ids, target);
        if (!current()) return;
        const ids = [...target, model.shape.end_id];
        const logs = given.rows("logits").map((row) => logSoftmax(row));
        const rows = ids.map((id, i) => [
            word(`machine.forcing.${i}.given`, model.pieces[id]),
            number(`machine.forcing.${i}.p`, Math.exp(logs[i][id]), 4),
            number(`machine.forcing.${i}.loss`, -logs[i][id]),
            word(`machine.forcing.${i}.best`, model.pieces[best(logs[i])]),
            number(`machine.forcing.${i}.chance`, Math.exp(logs[i][best(logs[i])]), 4),
        ]);
        const head = headed(say, "given_token", "probability", "nats", "likeliest", "probability");
        body.replaceChildren(figures(say("machine.forcing"), head, rows),
            make("p", {}, say("machine.mean_loss"), " ",
                number("machine.forcing.mean", model.loss(given, given.trace), 4)),
            make("p", {}, say("machine.free"), " ", make("bdi", { lang: "de" }, run.target.text)));
    });
    field.addEventListener("input", show);
    return {
        element: make("div", {},
            controls(make("label", { class: "control wide" }, make("span", {}, say("machine.given")), field)), body),
        update(next) {
            if (run && field.value === run.target.text) field.value = "";
            run = next;
            if (!field.value) field.value = run.target.text;
            return show();
        },
    };
}

/** Sliders, and below them what `show` gives for their values. */
function formula(sliders, show) {
    const box = make("div", {});
    const state = sliders.map(({ value }) => value);
    const draw = () => box.replaceChildren(...show(...state));
    const knobs = sliders.map((one, i) => slider({ ...one, change(to) {
        state[i] = to;
        draw();
    } }).element);
    draw();
    return { element: make("div", {}, controls(knobs), box) };
}

function loss({ say }) {
    const values = steps(0.01, 1, 0.01);
    const points = values.map((p) => [p, -Math.log(p)]);
    return formula([{ label: say("machine.right_p"), values, value: 0.5 }], (p) => [
        lines({
            title: say("machine.loss"), x: say("machine.right_p"), y: say("machine.nats"), numbers: say("machine.show"),
            curves: [{ name: "−log p", points }], mark: p,
        }),
        make("p", {}, `−log ${p} = `, number("machine.loss", -Math.log(p))),
    ]);
}

function smoothing({ model, say }) {
    const size = model.shape.target_vocab;
    const values = steps(0, 0.5, 0.01);
    const lowest = (e) => {
        const [right, other] = [1 - e + e / size, e / size];
        return -right * Math.log(right) - (other ? (size - 1) * other * Math.log(other) : 0);
    };
    const title = say("machine.lowest");
    return formula([{ label: "ε", values, value: 0.1 }], (e) => [
        figures(say("machine.smoothed"), headed(say, "what", "value"), [
            [say("machine.right"), number("machine.smoothing.right", 1 - e + e / size, 5)],
            [say("machine.other", { size: size - 1 }), number("machine.smoothing.other", e / size, 6)],
            [title, number("machine.smoothing.lowest", lowest(e), 4)],
        ]),
        lines({
            title, x: "ε", y: say("machine.nats"), numbers: say("machine.show"),
            curves: [{ name: title, points: values.map((x) => [x, lowest(x)]) }], mark: e,
        }),
    ]);
}

function rate({ say }) {
    const at = (step, width, warm) => width ** -0.5 * Math.min(step ** -0.5, step * warm ** -1.5);
    const name = say("machine.rate");
    return formula([
        { label: say("since.d"), values: [64, 128, 256, 512, 1024], value: 512 },
        { label: say("machine.warmup"), values: [100, 250, 500, 1000, 2000, 4000, 8000, 16000], value: 4000 },
    ], (width, warmup) => [
        lines({
            title: name, x: say("machine.step"), y: "", numbers: say("machine.show"), mark: warmup,
            curves: [{ name, points: steps(100, 30000, 100).map((step) => [step, at(step, width, warmup)]) }],
        }),
        make("p", {}, say("machine.peak"), " ", number("machine.rate.peak", at(warmup, width, warmup), 6)),
    ]);
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
    const entry = recorded[of];
    if (!entry) return { element: make("p", { class: "hint" }, say("machine.unrecorded")) };
    const numbers = say("machine.show");
    const chart = (values) => lines({
        title: say(`machine.${of}.${values}`), x: say("machine.step"), numbers,
        y: values === "valid" ? say("machine.nats") : "",
        curves: meanCurves(entry, VARIANTS[of], values)
            .map(([name, points]) => ({ name: say(`machine.curve.${name}`), points })),
    });
    const gradients = entry.gradients && lines({
        title: say("machine.gradients"), x: say("machine.depth"), y: say("machine.log10"), numbers,
        curves: entry.gradients.map(({ residual, step, encoder, decoder }) => ({
            name: say("machine.at_step", { which: say(`machine.curve.${residual ? "with" : "without"}`), step }),
            points: [...encoder, ...decoder].map((value, i) => [i + 1, Math.log10(Math.max(value, 1e-12))]),
        })),
    });
    const { seconds, processor, seeds } = entry;
    const told = { seeds: seeds.length ?? seeds, seconds: Math.round(seconds), processor };
    return {
        element: make("div", {}, gradients, chart("valid"), entry.curves[0].probability && chart("probability"),
            make("p", { class: "hint" }, say("machine.recorded", told))),
    };
}

// ---- break it -----------------------------------------------------------------------------------------------------

/** The loss of the model's own translation, and its new translation, without one of the shortcuts. */
function shortcuts({ model, say }) {
    const body = make("div", {});
    const names = ["attention", "cross_attention", "feed_forward"];
    const parts = ["encoder", "decoder"].flatMap((stack) => range(model.shape[`${stack}_layers`]).flatMap((layer) =>
        (stack === "encoder" ? [0, 2] : [0, 1, 2]).map((place) => ({ what: "no_residual", stack, layer, place }))));
    const named = ({ stack, layer, place }) => say("machine.cut",
        { stack: say(`machine.${stack}`), part: say(`machine.part.${names[place]}`), layer: layer + 1 });
    const update = latest(body, async (current, run) => {
        const rows = [];
        for (const [i, change] of [null, ...parts].entries()) {
            const changes = change ? [change] : [];
            const changed = await model.run(run.source.text, { changes });
            const forced = await model.traced(run.source.text, run.source.ids, run.target.ids, changes);
            if (!current()) return;
            rows.push([change ? named(change) : say("machine.whole"),
                number(`machine.break.${i}.loss`, model.loss(run, forced.trace)),
                german(`machine.break.${i}.text`, changed.target.text)]);
        }
        body.replaceChildren(
            figures(say("machine.breaks"), headed(say, "shortcut", "nats", "translation"), rows));
    });
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
    "machine.break": shortcuts,
    ...searching,
};
