// Chapter 4, continued: search and sampling.

import { controls } from "../../inspection/views/page/controls.js";
import { make } from "./dom.js";
import { figures, german, knobs, latest, number } from "./live.js";
import { best, logSoftmax, steps } from "./model.js";

const PENALTY = (length, alpha) => ((5 + length) / 6) ** alpha;
const SAMPLES = 5;

/**
 * Beam search, section 6.1: the hypotheses of each step, and the finished ones with their log-probabilities. Null if it is
 * no longer `current`.
 */
async function beamSearch(model, source, size, current) {
    let open = [{ ids: [], logp: 0 }];
    const [finished, history] = [[], []];
    const end = model.shape.end_id;
    const most = source.length + 20;
    while (open.length && finished.length < size) {
        const candidates = [];
        for (const { ids, logp } of open) {
            const next = await model.next(source, ids);
            if (!current()) return null;
            const likely = Array.from(next, (value, id) => [value, id]).sort((a, b) => b[0] - a[0]).slice(0, 2 * size);
            for (const [value, id] of likely) candidates.push({ ids: [...ids, id], logp: logp + value });
        }
        candidates.sort((a, b) => b.logp - a.logp);
        const step = candidates.slice(0, 2 * size).map((one) => ({ ...one, ended: one.ids.at(-1) === end }));
        open = step.filter(({ ended }) => !ended).slice(0, size);
        const last = open.length ? step.indexOf(open.at(-1)) : step.length;
        finished.push(...step.filter(({ ended }, i) => ended && i < Math.max(last, size)));
        history.push(step.map((one) => (
            { ...one, kept: open.includes(one), ended: one.ended && finished.includes(one) })));
        if (history.length >= most) break;
    }
    return { finished, history };
}

function search({ model, say }) {
    const state = { beam: 3, alpha: 0.6 };
    const body = make("div", {});
    let run;
    let found;
    const scored = ({ logp, ids }) => logp / PENALTY(ids.length, state.alpha);
    const chip = ({ ids, logp, kept, ended }) => {
        const kind = ended ? "ended" : kept ? "kept" : "dropped";
        return make("span", { class: `beam ${kind}`, title: logp.toFixed(3) },
            make("bdi", {}, ids.slice(-3).map((id) => model.pieces[id]).join("")),
            make("span", { class: "unseen" }, ` ${say(`machine.${kind}`)}`));
    };
    const show = async () => {
        if (!found) return;
        const all = [...found.finished].sort((a, b) => scored(b) - scored(a)).slice(0, state.beam);
        const texts = await Promise.all(all.map(({ ids }) => model.translator.decode(ids.slice(0, -1))));
        const rows = all.map((one, i) => [
            german(`machine.search.${i}.text`, texts[i]),
            number(`machine.search.${i}.logp`, one.logp),
            number(`machine.search.${i}.length`, one.ids.length, 0),
            number(`machine.search.${i}.score`, scored(one)),
        ]);
        const open = body.querySelector("details")?.open;
        body.replaceChildren(
            figures(say("machine.search"),
                ["translation", "logp", "tokens", "score"].map((key) => say(`machine.${key}`)), rows),
            make("details", { open }, make("summary", {}, say("machine.steps")), make("ol", { class: "beams" },
                found.history.map((step) => make("li", {}, step.slice(0, state.beam + 3).map(chip))))));
    };
    const renew = latest(body, async (current) => {
        const next = await beamSearch(model, run.source.ids, state.beam, current);
        if (!next) return;
        found = next;
        await show();
    });
    return {
        element: make("div", {}, controls(knobs(say, "machine", state, renew, { beam: steps(1, 6, 1) }),
            knobs(say, "machine", state, show, { alpha: steps(-1, 3, 0.1) })), body),
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
    let run;
    const renew = latest(body, async (current) => {
        const draw = random(state.seed);
        const rows = [];
        for (let i = 0; i < SAMPLES; i++) {
            let logp = 0;
            const pick = (logs) => {
                if (!current()) return model.shape.end_id; // stop if the reader goes on
                const chances = logSoftmax(logs.map((value) => value / state.temperature)).map(Math.exp);
                let left = draw();
                let id = chances.findIndex((chance) => (left -= chance) < 0);
                if (id < 0) id = best(chances);
                logp += logs[id];
                return id;
            };
            const ids = await model.decode(run.source.ids, { pick });
            if (!current()) return;
            const text = await model.translator.decode(ids);
            rows.push([german(`machine.sample.${i}.text`, text), number(`machine.sample.${i}.logp`, logp)]);
        }
        body.replaceChildren(figures(say("machine.samples"), [say("machine.translation"), say("machine.logp")], rows));
    });
    const again = make("button", { type: "button", class: "play", onclick() {
        state.seed++;
        renew();
    } }, say("machine.again"));
    const heat = knobs(say, "machine", state, renew, { temperature: steps(0.1, 2, 0.1) });
    return {
        element: make("div", {}, controls(heat, again), body),
        update(next) {
            run = next;
            return renew();
        },
    };
}

export const searching = { "machine.search": search, "machine.sampling": sampling };
