// The model of the course: translations, everything it computes for a sentence, and its weights.

import { load } from "../../translation/native/web/engine.js";

/** A sentence and its translation, with all that the model computes for them. */
class Run {
    /** `source` and `target` are {text, ids, pieces}; the pieces of both, and the ids of neither, have the end. */
    constructor(source, target, trace) {
        Object.assign(this, { source, target, trace });
    }

    /** The numbers of an array of the trace at the first few indices: rows(name, head) is one matrix as rows. */
    rows(name, ...indices) {
        const { shape, values } = this.trace[name];
        const [height, width] = shape.slice(-2);
        const first = indices.reduce((at, index, axis) => at * shape[axis] + index, 0) * height * width;
        return Array.from({ length: height }, (_, r) => values.subarray(first + r * width, first + (r + 1) * width));
    }
}

export class CourseModel {
    #tensors = {};
    #embedding;

    /** `files` are those of a model folder by name. `progress` gets {stage, share}. */
    static async open(files, wasm, progress) {
        const model = new CourseModel();
        model.translator = await load(files, { wasm, dtype: "float32", progress });
        model.shape = model.translator.shape;
        model.#read(files["model.safetensors"]);
        model.pieces = await model.translator.pieces(Array.from({ length: model.shape.target_vocab }, (_, id) => id));
        return model;
    }

    #read(bytes) {
        const view = new DataView(bytes.buffer, bytes.byteOffset);
        const length = Number(view.getBigUint64(0, true));
        const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
        const kinds = { F32: Float32Array, I8: Int8Array };
        for (const [name, { dtype, shape, data_offsets: [begin, end] = [] }] of Object.entries(header)) {
            if (name === "__metadata__") continue;
            const raw = bytes.slice(8 + length + begin, 8 + length + end).buffer;
            this.#tensors[name] = { shape, values: new kinds[dtype](raw) };
        }
    }

    /** A tensor of the model folder as rows of float32 numbers, int8 ones times the scale of their row. */
    weight(name) {
        const { shape, values } = this.#tensors[name];
        const [rows, columns] = shape.length > 1 ? shape : [1, ...shape];
        const scales = this.#tensors[`${name}.scale`]?.values;
        return Array.from({ length: rows }, (_, r) =>
            Float32Array.from(values.subarray(r * columns, (r + 1) * columns), (value) => value * (scales?.[r] ?? 1)),
        );
    }

    /** The matrix of embeddings, a row for each token. Both sides and the output share it. */
    get embedding() {
        return (this.#embedding ??= this.weight("target_embedding.weight"));
    }

    /** Translate a sentence, or take `target` as its translation, and compute all of it. */
    async run(text, { changes = [], target = null } = {}) {
        const ids = await this.translator.encode(text);
        const found =
            target === null ? await this.decode(ids, { changes }) : await this.translator.encode(target, "target");
        return this.traced(text, ids, found, changes);
    }

    /** The run of given ids. */
    async traced(text, source, target, changes = []) {
        const side = async (text, ids) => ({
            text,
            ids,
            pieces: [...ids, this.shape.end_id].map((id) => this.pieces[id]),
        });
        const trace = await this.translator.trace(source, target, changes);
        return new Run(await side(text, source), await side(await this.translator.decode(target), target), trace);
    }

    /** The mean of -log p of the tokens of a run's translation, in nats, by the logits of a trace. */
    loss({ target }, { logits: { shape: [, width], values } }) {
        return -mean([...target.ids, this.shape.end_id].map((id, i) =>
            logSoftmax(values.subarray(i * width, (i + 1) * width))[id]));
    }

    /** The log-probability of each token after the ids of `target`. */
    async next(source, target, changes = []) {
        const { shape, values } = (await this.translator.trace(source, target, changes)).logits;
        return logSoftmax(values.subarray(values.length - shape[1]));
    }

    /** Greedy search with changes to the model. `pick` chooses from the log-probabilities of a step. */
    async decode(source, { changes = [], pick = best, most = source.length + 20 } = {}) {
        if (!changes.length && pick === best) {
            const [[found]] = await this.translator.search([source], { beam: 1, nBest: 1, maxTokens: most });
            return found.ids;
        }
        const target = []; // the engine searches with some changes only
        while (target.length < most) {
            const id = pick(await this.next(source, target, changes));
            if (id === this.shape.end_id) break;
            target.push(id);
        }
        return target;
    }
}

/** Whole numbers from `first`. */
export const range = (length, first = 0) => Array.from({ length }, (_, i) => first + i);

/** Numbers from `low` to `high`. */
export const steps = (low, high, step) =>
    range(Math.round((high - low) / step) + 1).map((i) => Number((low + i * step).toFixed(6)));

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** The place of the greatest number. */
export const best = (values) => values.reduce((at, value, i) => (value > values[at] ? i : at), 0);

/** x - log(sum of exp(x)). */
export function logSoftmax(values) {
    const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
    const sum = values.reduce((total, value) => total + Math.exp(value - most), 0);
    return Array.from(values, (value) => value - most - Math.log(sum));
}

/** The probabilities of logits, eq. 1. */
export const softmax = (values) => logSoftmax(values).map(Math.exp);

export const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
export const norm = (a) => Math.sqrt(dot(a, a));
export const cosine = (a, b) => dot(a, b) / (norm(a) * norm(b) || 1);
