// The report on a translation, computed in the page: what `GET` and `POST /v1/how` answer, but by the engine in
// WebAssembly. See inspection/inspect.py and contrast.py.
//
// A search and a pass compute each run, both in the type of the loaded model, with keys and values in float32. Load any
// model with dtype float32, one in int8 too: the numbers are then PyTorch's, and those of tree and steps agree to 1e-5.
// In int8 the rounding of activations may move a log-probability of a large model by some hundredths between them.

import { readReport } from "../page/data.js";
import { OF_POSITIONS, noteOfTerms } from "./notes.js";
import { differing, endsOfPrefixes, sideOf, specialToken, spelled, squeezed } from "./words.js";

export const LIMITS = { characters: 500, beam: 10 };
const TOKENS = 200; // of the source: the attention of all heads grows with their square
const LONGEST = 512; // steps
const ALTERNATIVES = 20;
const FATES = ["kept", "pruned", "finished", "banned"];
const TERMS = ["content·content", "content·position", "position·content", "position·position", "bias", "remainder"];
const NOTHING = { without: [], force: [], ban: [], shift: 0, no_positions: false, length_penalty: null };

/** The parts of a model that can be changed: an entry of `models` in the answer of `GET /v1/how`. `pairs`: its sources and targets. */
export async function about({ shape }, pairs) {
    const { architecture, positions, heads, encoder_layers: encoder, decoder_layers: decoder } = shape;
    const own = architecture === "ssru" ? {} : { decoder: [decoder, heads] };
    return {
        ...pairs, architecture,
        heads: { encoder: [encoder, heads], ...own, cross: [decoder, heads] },
        shift: !["none", "relative", "t5", "alibi", "rotary"].includes(positions),
        no_positions: positions !== "none",
    };
}

/**
 * The report of a sentence, as `readReport` returns it. A question is what `POST /v1/how` takes: the text,
 * interventions with tokens as ids, and options: `beam` and `length_penalty`. `title` names the model, `languages` are
 * source and target, `tags` says how a model of several writes them: {source, to}. `banned` are ids that are never
 * generated, if others than the model's own. `version` is that of dragoman. Throws an Error for what cannot be inspected.
 */
export async function reportOf(translator, question, { title, languages, tags = {}, banned, version = "" } = {}) {
    const { text, interventions = {}, options = {} } = question;
    if ([...text].length > LIMITS.characters)
        throw new Error(`The text is too long. At most ${LIMITS.characters} characters can be inspected.`);
    const words = squeezed(text);
    if (!words) throw new Error("The text is empty.");
    const { before, start } = await translator.addressed(tags);
    const intervention = { ...NOTHING, ...interventions };
    const inspect = (changes) => runOf(translator, before + words, changes, options, { title, languages, start, banned, version });
    const changed = await inspect(intervention);
    if (JSON.stringify(intervention) === JSON.stringify(NOTHING))
        return readReport({ traces: [changed], difference: null, positions: null });
    const untouched = await inspect(NOTHING);
    const difference = await differenceOf(translator, intervention, untouched, changed, start.length);
    return readReport({ traces: [untouched, changed], difference, positions: null });
}

/** One run, as a trace of inspection/record.py with its arrays unpacked. */
async function runOf(translator, line, intervention, options, { title, languages, start, banned, version }) {
    const { shape, generation } = translator, [sourceLanguage, targetLanguage] = languages ?? [translator.sourceLanguage, translator.targetLanguage];
    const source = await translator.cut(line);
    if (!source.ids.length) throw new Error("The text is empty.");
    if (source.ids.length > TOKENS)
        throw new Error(`The text has ${source.ids.length} tokens. At most ${TOKENS} can be inspected.`);
    const search = { size: 4, length_penalty: 0.6, normalization: "gnmt", stop: "full", banned: [], renormalize: false,
        ...generation, ...(banned && { banned }), n_best: 1 };
    search.size = Math.min(options.beam ?? search.size, LIMITS.beam);
    search.length_penalty = intervention.length_penalty ?? options.length_penalty ?? search.length_penalty;
    const changes = changesOf(intervention);
    if ([...intervention.force, ...intervention.ban].some(({ step }) => step && step <= start.length)) throw new Error("Step 1 is the mark of the language.");
    const found = await translator.record(source.ids, { beam: search.size, nBest: search.size, prefixIds: start, unscored: start.length,
        lengthPenalty: search.length_penalty, banned: search.banned, ...tokensOf(shape, search, intervention) }, changes);
    const { nodes, hypotheses } = treeOf(found.tree, search);
    const predicted = hypotheses[0].tokens;
    const arrays = await translator.trace(source.ids, predicted, changes);
    const steps = stepsOf(arrays.logits, [...predicted, shape.end_id]);

    const named = [...nodes, ...steps, ...steps.flatMap((step) => step.alternatives)];
    const known = [...new Set([shape.start_id, ...named.map(({ token }) => token)])];
    const pieces = new Map((await translator.pieces(known)).map((piece, i) => [known[i], piece]));
    const spell = (one) => ({ ...one, piece: pieces.get(one.token), text: spelled(pieces.get(one.token)) });
    const texts = await Promise.all(hypotheses.map(({ tokens }) => translator.decode(tokens)));
    const prefixes = await Promise.all(predicted.map((_, i) => translator.decode(predicted.slice(0, i + 1))));
    const special = (id) => ({ id, piece: pieces.get(id) });
    const sides = {
        source: sideOf({ ...source, language: sourceLanguage, pieces: await translator.pieces(source.ids, "source"),
            end: special(shape.end_id) }),
        target: sideOf({ text: texts[0], language: targetLanguage, ids: predicted, ends: endsOfPrefixes(prefixes),
            pieces: predicted.map((id) => pieces.get(id)), end: special(shape.end_id), marks: start.length }),
    };
    const attention = attentionOf(arrays);
    const config = Object.fromEntries(Object.entries(shape).filter(([, value]) => value !== null));
    return {
        dragoman: version,
        model: { title: title ?? `${sourceLanguage} to ${targetLanguage}`, architecture: shape.architecture,
            parameters: translator.parameters, source_language: sourceLanguage,
            target_language: targetLanguage, config },
        search,
        ...sides,
        inputs: [specialToken(special(shape.start_id)), ...sides.target.tokens.slice(0, -1)],
        translations: hypotheses.map(({ score, logp, truncated }, i) => ({ text: texts[i], score, logp, truncated })),
        attention,
        steps: steps.map((step) => ({ ...spell(step), alternatives: step.alternatives.map(spell) })),
        ...alignmentOf(attention.at(-1).weights, sides),
        beam: { size: search.size, nodes: nodes.map(spell) },
        positions: { kind: shape.positions, note: OF_POSITIONS[shape.positions],
            tables: tablesOf(found, shape, intervention.no_positions) },
        terms: termsOf(arrays, translator),
    };
}

/** The changes of the model, as the engine takes them. */
function changesOf({ without, shift, no_positions: none }) {
    if (shift && none) throw new Error("Positions are shifted and left out: choose one of them.");
    return [
        ...without.map((name) => {
            const [, stack, layer, head] = /^(encoder|decoder|cross)\.([1-9]\d*)\.([1-9]\d*)$/.exec(name) ?? [];
            if (!stack) throw new Error(`Head ${name}: write KIND.LAYER.HEAD, such as encoder.2.3.`);
            return { what: "without", stack, layer: layer - 1, head: head - 1 };
        }),
        ...(shift ? [{ what: "shift", place: shift }] : []),
        ...(none ? [{ what: "no_positions" }] : []),
    ];
}

/** The forced and banned tokens, as options of a search. */
function tokensOf({ pad_id: pad, start_id: start, end_id: end }, { banned }, { force, ban }) {
    const last = Math.max(...force.map(({ step }) => step));
    for (const { step, token } of force) {
        if (!(step >= 1 && step <= LONGEST)) throw new Error(`Step ${step}: steps are from 1 to ${LONGEST}.`);
        if (token === end && step < last) throw new Error("A token is forced after the end.");
        if (ban.some((one) => one.token === token && (one.step ?? step) === step))
            throw new Error(`Step ${step}: a token is forced and banned.`);
    }
    const never = [...force, ...ban].find(({ token }) => token !== end && [pad, start, ...banned].includes(token));
    if (never) throw new Error(`Token ${never.token} is never generated.`);
    const pairs = (list) => list.map(({ step, token }) => [(step ?? 0) - 1, token]);
    return { forced: pairs(force), bannedAt: pairs(ban) };
}

/** The candidates of a search, and the translations among them, best first. */
function treeOf({ values, shape: [count] }, { size, length_penalty: alpha, normalization }) {
    const penalty = (length) => Math.max((normalization === "gnmt" ? (5 + length) / 6 : length) ** alpha, 2 ** -1022);
    const nodes = [];
    const hypotheses = [];
    for (let i = 0; i < count; i++) {
        const [parent, token, logp, total, fate, cut] = values.subarray(6 * i, 6 * i + 6);
        const step = parent < 0 ? 0 : nodes[parent].step + 1;
        nodes.push({ parent: parent < 0 ? null : parent, step, token, logp, total, score: total / penalty(step + 1),
            fate: FATES[fate], best: false });
        if (FATES[fate] !== "finished") continue;
        const path = pathTo(nodes, i);
        const sum = path.reduce((total, node) => total + node.logp, 0);
        hypotheses.push({ path, tokens: path.slice(0, -1).map((node) => node.token), logp: sum,
            score: sum / penalty(step + 1), truncated: Boolean(cut) });
    }
    hypotheses.sort((a, b) => b.score - a.score);
    hypotheses[0].path.forEach((node) => (node.best = true));
    return { nodes, hypotheses: hypotheses.slice(0, size) };
}

function pathTo(nodes, place) {
    const path = [];
    for (let at = place; at !== null; at = nodes[at].parent) path.unshift(nodes[at]);
    return path;
}

/** The probability of each token, and the most probable tokens in its place. */
function stepsOf({ values, shape: [, vocab] }, tokens) {
    return tokens.map((token, t) => {
        const logits = values.subarray(t * vocab, (t + 1) * vocab);
        const most = logits.reduce((a, b) => Math.max(a, b));
        const sum = logits.reduce((total, logit) => total + Math.exp(logit - most), 0);
        const logpOf = (id) => logits[id] - most - Math.log(sum);
        let entropy = 0;
        const best = []; // ids
        for (let id = 0; id < vocab; id++) {
            const logp = logpOf(id);
            if (logp > -Infinity) entropy -= Math.exp(logp) * logp;
            if (best.length === ALTERNATIVES && logits[id] <= logits[best.at(-1)]) continue;
            const at = best.findIndex((other) => logits[other] < logits[id]);
            best.splice(at < 0 ? best.length : at, 0, id);
            best.length = Math.min(best.length, ALTERNATIVES);
        }
        return { token, probability: Math.exp(logpOf(token)), logp: logpOf(token), entropy,
            alternatives: best.map((id) => ({ token: id, probability: Math.exp(logpOf(id)) })) };
    });
}

const array = ({ shape, values }) => ({ shape, raw: values, scale: 1 });

/** Arrays of the layers, as one. */
function stacked(layers) {
    const size = layers[0].values.length;
    const raw = new Float32Array(size * layers.length);
    layers.forEach(({ values }, i) => raw.set(values, i * size));
    return { shape: [layers.length, ...layers[0].shape], raw, scale: 1 };
}

/** The arrays of each layer that have the end of a name, until a layer has none. */
function layersOf(arrays, stack, end) {
    const layers = [];
    for (let one; (one = arrays[`${stack}.${layers.length}.${end}`]); ) layers.push(one);
    return layers;
}

function attentionOf(arrays) {
    const kinds = [
        { kind: "encoder", queries: "source", keys: "source", causal: false, name: ["encoder", "attention"] },
        { kind: "decoder", queries: "inputs", keys: "inputs", causal: true, name: ["decoder", "attention"] },
        { kind: "cross", queries: "inputs", keys: "source", causal: false, name: ["decoder", "cross_attention"] },
    ];
    return kinds.flatMap(({ name: [stack, part], ...kind }) => {
        const layers = layersOf(arrays, stack, `${part}.weights`);
        return layers.length ? [{ ...kind, weights: stacked(layers) }] : [];
    });
}

/** The attention of target words to source words: mean of the heads in the last layer but one (Garg et al. 2019). */
function alignmentOf({ shape: [layers, heads, queries, keys], raw }, { source, target }) {
    const layer = Math.max(layers - 2, 0);
    const columns = source.words.length;
    const sums = new Float64Array(target.words.length * columns);
    target.tokens.forEach(({ word: row }, q) => source.tokens.forEach(({ word: column }, k) => {
        if (row === null || column === null) return;
        for (let h = 0; h < heads; h++)
            sums[row * columns + column] += raw[((layer * heads + h) * queries + q) * keys + k] / heads;
    }));
    const tokens = target.words.map((_, row) => target.tokens.filter(({ word }) => word === row).length);
    const raws = Float32Array.from(sums, (sum, i) => sum / tokens[Math.floor(i / columns)]);
    return {
        alignment: { shape: [target.words.length, columns], raw: raws, scale: 1 },
        alignment_note: `Attention to the source in decoder layer ${layer + 1} of ${layers}, mean of the heads.`,
    };
}

/** The numbers of the model for each position or distance. Without positions, the encoder has none for distances. */
function tablesOf(found, { positions: kind }, none) {
    const table = (name, values, more) =>
        ({ name, rows: "position", first: 0, columns: "dimension", layout: null, ...more, values: array(values) });
    const byDistance = (name, values, columns = "dimension") =>
        table(name, values, { rows: "distance", first: -(values.shape[0] - 1) / 2, columns });
    if (kind === "learned") return [table("learned vectors", found["positions.input"])];
    if (kind === "learned-apart")
        return ["input", "target"].map((side, i) => table(`learned vectors, ${["source", "target"][i]}`, found[`positions.${side}`]));
    const layout = ["sinusoidal", "rotary"].includes(kind) ? "interleaved" : "halves";
    if (kind.startsWith("sinusoidal")) return [table("sinusoidal table", found["positions.input"], { layout })];
    const stacks = (none ? ["decoder"] : ["encoder", "decoder"]).filter((stack) => found[`${stack}.positions.bias`]);
    return stacks.flatMap((stack) => {
        const part = (name) => found[`${stack}.positions.${name}`];
        const where = `, first layer of the ${stack}`;
        const { values: angles, shape } = found["positions.angles"];
        const values = angles.map((_, i) => angles[i ^ 1]); // sines first
        if (kind === "rotary") return [table(`sine and cosine of the angles${where}`, { shape, values }, { layout })];
        if (kind === "relative")
            return ["keys", "values"].map((side) => byDistance(`added to ${side}${where}`, part(`of_${side}`)));
        if (kind !== "t5" && kind !== "alibi") return [];
        const { values: bias, shape: [heads, distances] } = part("bias");
        const rows = bias.map((_, i) => bias[(i % heads) * distances + Math.floor(i / heads)]);
        return [byDistance(`added to the logits${where}`, { shape: [distances, heads], values: rows }, "head")];
    });
}

/** The logits of self-attention in the first layers, and their parts. */
function termsOf(arrays, { shape: { norm, embedding_norm: embedded, positions }, dtype }) {
    const normed = norm === "pre" || embedded; // before the first attention
    const stacks = ["encoder", "decoder"].flatMap((kind) => {
        const parts = layersOf(arrays, kind, "attention.terms");
        if (!parts.length) return [];
        const logits = layersOf(arrays, kind, "attention.logits").slice(0, parts.length);
        return [{ kind, causal: kind === "decoder", values: stacked(parts), logits: stacked(logits),
            exact: parts.map((_, i) => !i && !normed && dtype === "float32"),
            notes: parts.map((_, i) => noteOfTerms(i, normed, positions)) }];
    });
    return { names: TERMS, stacks };
}

/** The effect of an intervention: Contrast of inspection/contrast.py. The first `marks` tokens do not count. */
async function differenceOf(translator, intervention, untouched, changed, marks) {
    const changes = changesOf(intervention);
    const idsOf = ({ tokens }) => tokens.slice(0, -1).map(({ id }) => id);
    const same = idsOf(untouched.target).join() === idsOf(changed.target).join();
    const logpOf = ({ steps }) => steps.map(({ logp }) => logp);
    /** The log-probabilities of the translation of `run` in the model of the `other` run. */
    const inOther = async (run, other, applied) => {
        if (same) return logpOf(other);
        if (!changes.length) return logpOf(run);
        const ids = idsOf(run.target);
        const { logits } = await translator.trace(idsOf(run.source), ids, applied);
        return stepsOf(logits, [...ids, translator.shape.end_id]).map(({ logp }) => logp);
    };
    const tokens = ({ target }, before, after) => target.tokens.map(({ text, piece, word }, i) =>
        ({ text, piece, word, before: before[i], after: after[i] })).slice(marks);
    const words = ({ target }) => target.words.map(({ text }) => text);
    return {
        intervention,
        of_untouched: tokens(untouched, logpOf(untouched), await inOther(untouched, changed, changes)),
        of_changed: tokens(changed, await inOther(changed, untouched, []), logpOf(changed)),
        words: differing(words(untouched), words(changed)),
    };
}
