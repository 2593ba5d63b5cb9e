/**
 * The native engine as WebAssembly: a model from bytes, translations in a worker. It needs no server.
 *
 *     import {load} from "./engine.js";
 *     const translator = await load(files, {wasm});
 *     const [[best]] = await translator.translate(["A dog."], {beam: 4});
 *
 * The worker is made from the text of the classes in this file, so a page opened from file:// can have one. What they
 * use must therefore be in `IN_WORKER`, and a bundler must not rename it.
 */

/** A model or a request that cannot be used. The message says why. */
export class EngineError extends Error {
    name = "EngineError";
}

/**
 * What the caller reads and writes in the memory of the instance. Memory may grow with each call, and moves then.
 * Calls return addresses above 2 GiB as negative numbers: `>>> 0` mends them.
 */
class Instance {
    /**
     * @param {WebAssembly.Module} module
     * @returns {Promise<Instance>}
     */
    static async of(module) {
        const self = new Instance();
        const missing = () => 52; // ENOSYS of WASI
        const instance = await WebAssembly.instantiate(module, {
            dragoman: {
                fail: (at, size) => { throw new EngineError(self.text(at, size)); },
            },
            wasi_snapshot_preview1: {
                clock_time_get: (_clock, _precision, at) => {
                    self.view.setBigUint64(at, BigInt(Math.round(performance.now() * 1e6)), true);
                    return 0;
                },
                environ_sizes_get: (count, size) => {
                    self.view.setUint32(count, 0, true);
                    self.view.setUint32(size, 0, true);
                    return 0;
                },
                environ_get: () => 0,
                fd_close: missing, fd_seek: missing, fd_write: missing,
                proc_exit: (code) => { throw new EngineError(`the engine ended with ${code}`); },
            },
        });
        const guard = (call) => (...values) => {
            try {
                return call(...values);
            } catch (error) {
                self.broken = true; // the calls in between have not ended as they should
                throw error;
            }
        };
        self.calls = Object.fromEntries(Object.entries(instance.exports).map(
            ([name, one]) => [name, typeof one === "function" ? guard(one) : one]));
        self.calls._initialize();
        return self;
    }

    get view() { return new DataView(this.calls.memory.buffer); }

    text(at, size) {
        const bytes = new Uint8Array(this.calls.memory.buffer, at >>> 0, size);
        return new TextDecoder("utf-8", {ignoreBOM: true}).decode(bytes.slice());
    }

    /** The text up to its zero. */
    message(at) { return this.text(at, new Uint8Array(this.calls.memory.buffer).indexOf(0, at >>> 0) - (at >>> 0)); }

    /** Copy bytes into new memory and return where. */
    place(bytes) {
        const at = this.calls.dragoman_allocate(bytes.byteLength) >>> 0;
        const own = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        new Uint8Array(this.calls.memory.buffer).set(own, at);
        return at;
    }

    /** Call `work` with the places of copies, which it may not keep. */
    with(parts, work) {
        const places = parts.map((part) => this.place(typeof part === "string" ? new TextEncoder().encode(part + "\0") : part));
        try {
            return work(...places);
        } finally {
            if (!this.broken) for (const place of places) this.calls.dragoman_release(place);
        }
    }

    /** Return what `open` opens, or throw the message that it writes instead. */
    opened(parts, open) {
        const SIZE = 400;
        return this.with([...parts, new Uint8Array(SIZE)], (...places) => {
            const handle = open(...places, SIZE);
            if (!handle) throw new EngineError(this.message(places.at(-1)));
            return handle;
        });
    }
}

/** The vocabulary of one side. */
class Vocabulary {
    constructor(instance, kind, model, list, specials, lowercase, languages) {
        this.instance = instance;
        this.lowercase = lowercase;
        this.languages = languages;
        this.handle = instance.opened([kind, model, list, Int32Array.from(specials)], (kind, data, listed, ids, message, size) =>
            instance.calls.dragoman_tokenizer_open(kind, data, model.length, listed, list.length, ids, message, size));
    }

    encode(line) { return this.tokens(line).ids; }

    /** The line in lower case, except marks of languages that begin it. */
    lowered(line) {
        let marks = "";
        for (let found; (found = /^>>(.+?)<< ?/.exec(line)) && this.languages.includes(found[1]); line = line.slice(found[0].length))
            marks += found[0];
        return marks + line.toLowerCase();
    }

    /** The text that is cut, the ids of its tokens, and where each of them ends, in characters. */
    cut(line) {
        const {text, bytes, ids, ends} = this.tokens(line), characters = new Uint32Array(bytes.length + 1);
        for (const [i, byte] of bytes.entries()) characters[i + 1] = characters[i] + Number((byte & 0xc0) !== 0x80);
        return {text, ids, ends: ends.map((end) => characters[end])};
    }

    /** The same, with the ends in `bytes`, those of the text. */
    tokens(line) {
        const {calls} = this.instance, text = this.lowercase ? this.lowered(line) : line, bytes = new TextEncoder().encode(text);
        for (let room = bytes.length + 1; ; ) {
            const tokens = this.instance.with([bytes, new Int32Array(room), new Int32Array(room)], (text, ids, ends) => {
                const count = calls.dragoman_tokenizer_encode(this.handle, text, bytes.length, ids, ends, room);
                return count > room ? count : [ids, ends].map((at) => Array.from(new Int32Array(calls.memory.buffer, at, count)));
            });
            if (Array.isArray(tokens)) return {text, bytes, ids: tokens[0], ends: tokens[1]};
            room = tokens;
        }
    }

    decode(ids) {
        const {calls} = this.instance;
        return this.instance.with([Int32Array.from(ids)], (at) => {
            const size = calls.dragoman_tokenizer_decode(this.handle, at, ids.length, 0, 0);
            if (size < 0) throw new EngineError("an id is not in the vocabulary");
            return this.instance.with([new Uint8Array(size)], (out) => {
                calls.dragoman_tokenizer_decode(this.handle, at, ids.length, out, size);
                return this.instance.text(out, size);
            });
        });
    }

    pieces(ids) {
        const {calls} = this.instance;
        return this.instance.with([new Int32Array(1)], (size) => Array.from(ids, (id) => {
            const at = calls.dragoman_tokenizer_piece(this.handle, id, size);
            if (!at) throw new EngineError(`id ${id} is not in the vocabulary`);
            return this.instance.text(at, this.instance.view.getInt32(size, true));
        }));
    }
}

/** Throw an error unless an option is a whole number within limits. */
function whole(what, value, least, most) {
    if (!Number.isInteger(value) || value < least || value > most)
        throw new EngineError(`${what} = ${value}: it must be a whole number from ${least} to ${most}`);
}

/** A model in this thread. `Translator` has one in each of its workers. */
class Model {
    static ACTIVATIONS = ["relu", "gelu", "quick-gelu", "swish", "swiglu"];
    static POSITIONS = ["sinusoidal", "sinusoidal-halves", "sinusoidal-t2t", "learned", "learned-apart", "index", "fraction",
        "none", "relative", "t5", "alibi", "rotary"];
    static STORED = {F32: [0, 4], F64: [1, 8], F16: [2, 2], BF16: [3, 2], I8: [4, 1], I32: [-1, 4]}; // its number, bytes
    static TYPES = ["float32", "bfloat16", "int8"];
    static STOPS = ["full", "patient", "shrinking", "exact"];
    static NORMALIZATIONS = ["gnmt", "power"];
    static BROKEN = "the engine has failed before: load the model again";
    static OPTIONS = ["beam", "nBest", "lengthPenalty", "normalization", "stop", "prefix", "prefixIds", "attention", "minimumLength",
        "noRepeatNgram", "maxExtraTokens", "maxTokens", "maxSourceTokens", "banned", "renormalize", "source", "to", "unscored", "batchTokens", "shortlist"];
    static SPACE = /[^\S\ufeff]|[\x1c-\x1f\x85]/;
    static BLANK = /^[\s\p{Cc}\p{DI}\u2800\ufff9-\ufffb]*$/u; // as text/blank.py: such a line is not translated
    // The options that a model may have, with what they are where config.json leaves them out.
    static DEFAULTS = {
        d_model: 512, d_ff: 2048, heads: 8, kv_heads: null, encoder_layers: 6, decoder_layers: 6, source_vocab: 0,
        target_vocab: 0, pad_id: 0, start_id: 1, end_id: 2, tie: "all", positions: "sinusoidal", activation: "relu",
        window: null, norm: "post", norm_kind: "layer", norm_epsilon: 1e-5, final_norm: true, embedding_scale: true,
        embedding_norm: false,        attention_bias: false, output_bias: false, dropout: 0, attention_dropout: 0, activation_dropout: 0,
        architecture: "",
    };

    /**
     * @param {Record<string, Uint8Array>} files
     * @param {{module: WebAssembly.Module, dtype?: string}} options
     * @param {(progress: {stage: string, share: number}) => void} progress
     */
    static async load(files, options, progress) {
        const self = new Model();
        progress({stage: "engine", share: 0});
        self.instance = await Instance.of(options.module);
        const config = Model.json(files, "config.json");
        self.shape = Model.shape(config);
        self.languages = [config.source_language, config.target_language];
        self.generation = "generation.json" in files ? Model.json(files, "generation.json") : {};
        progress({stage: "tokenizer", share: 0.1});
        self.readTokenizer(files);
        progress({stage: "weights", share: 0.2});
        self.readWeights(files, options.dtype ?? "auto");
        if ("shortlist.safetensors" in files) self.readShortlist(files);
        progress({stage: "ready", share: 1});
        return self;
    }

    static file(files, name) {
        if (!(files?.[name] instanceof Uint8Array))
            throw new EngineError(`the model has no file ${name}${files?.[name] ? " as a Uint8Array" : ""}`);
        return files[name];
    }

    static json(files, name) {
        const bytes = Model.file(files, name);
        let value, reason = "not a table";
        try {
            value = JSON.parse(new TextDecoder().decode(bytes));
        } catch (error) {
            reason = error.message;
        }
        if (typeof value !== "object" || !value) throw new EngineError(`${name} is damaged (${reason})`);
        return value;
    }

    /** The shape of a Transformer, or an error for a model that the engine does not run. */
    static shape(config) {
        if (!["transformer", "ssru"].includes(config.architecture))
            throw new EngineError(`the engine in the page has no ${config.architecture} models`);
        const given = {...config.model, architecture: config.architecture};
        for (const [name, value] of Object.entries(given))
            if (!(name in Model.DEFAULTS)) throw new EngineError(`the engine in the page does not know model.${name} = ${value}`);
        const shape = {...Model.DEFAULTS, ...given};
        for (const [name, values] of [["positions", Model.POSITIONS], ["activation", Model.ACTIVATIONS], ["tie", ["all", "decoder", "none"]],
            ["norm", ["post", "pre"]], ["norm_kind", ["layer", "rms"]]])
            if (!values.includes(shape[name]))
                throw new EngineError(`the engine in the page does not know model.${name} = ${shape[name]}`);
        for (const name of ["d_model", "d_ff", "heads", "kv_heads", "encoder_layers", "decoder_layers", "source_vocab", "target_vocab", "window"])
            whole(`model.${name}`, shape[name] ?? 1, 1, 2 ** 31 - 1);
        for (const name of ["pad_id", "start_id", "end_id"]) whole(`model.${name}`, shape[name], 0, shape.target_vocab - 1);
        return shape;
    }

    readTokenizer(files) {
        const {config = {}, files: names = {}, specials = {}} = Model.json(files, "tokenizer.json");
        if (config.kind === "words" || config.punctuation)
            throw new EngineError(`the engine in the page has no tokenizer ${config.punctuation ? "that normalises punctuation" : config.kind}`);
        const ids = [specials.pad ?? 0, specials.start ?? 1, specials.end ?? 2, specials.unknown ?? 3];
        const open = (side) => {
            const stem = `tokenizer.${side}.spm` in names ? `tokenizer.${side}` : "tokenizer";
            const list = config.kind === "mapped" ? Model.file(files, `${stem}.vocab.json`) : new Uint8Array(0);
            const lowercase = [true, side].includes(config.lowercase);
            return new Vocabulary(this.instance, config.kind, Model.file(files, `${stem}.spm`), list, ids, lowercase, config.languages ?? []);
        };
        this.marks = {source: config.source_mark ?? false, target: config.target_mark ?? "source"};
        this.source = open("source");
        this.target = "tokenizer.target.spm" in names || config.lowercase === "source" ? open("target") : this.source;
    }

    /** The tensors of a safetensors file, checked, and where its numbers begin. */
    static tensors(files, file) {
        const bytes = Model.file(files, file), view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        const length = bytes.length < 8 ? Infinity : Number(view.getBigUint64(0, true));
        if (8 + length > bytes.length) throw new EngineError(`${file} is cut or damaged`);
        const {__metadata__, ...header} = Model.json({[file]: bytes.subarray(8, 8 + length)}, file);
        for (const [name, {shape, dtype, data_offsets}] of Object.entries(header).map(([name, one]) => [name, one ?? {}])) {
            const width = Model.STORED[dtype]?.[1], [begin, end] = data_offsets ?? [];
            const count = Array.isArray(shape) ? shape.reduce((a, b) => a * b, 1) : NaN;
            if (!(begin >= 0) || end - begin !== count * width || 8 + length + end > bytes.length)
                throw new EngineError(`${file}: ${name} is damaged`);
        }
        return {bytes, header, length};
    }

    /** The target tokens that a sentence may use: translation/folder/shortlist.py. */
    readShortlist(files) {
        const {bytes, header, length} = Model.tensors(files, "shortlist.safetensors");
        const [candidates, frequent] = ["candidates", "frequent"].map((name) => {
            const {dtype, data_offsets: [begin, end]} = header[name] ?? {data_offsets: []};
            if (dtype !== "I32") throw new EngineError(`shortlist.safetensors: ${name} is damaged`);
            return new Int32Array(bytes.slice(8 + length + begin, 8 + length + end).buffer);
        });
        const [rows, width] = header.candidates.shape;
        if (rows !== this.shape.source_vocab) throw new EngineError("shortlist.safetensors was made for another model");
        this.shortlist = {candidates, frequent, width};
    }

    /** The ids that translations of a source may use, sorted. */
    allowed(source, prefix) {
        if (!this.shortlist) throw new EngineError("the model has no shortlist");
        const {candidates, frequent, width} = this.shortlist, ids = new Set([...frequent, ...prefix, this.shape.end_id]);
        for (const token of new Set(source))
            for (const id of candidates.subarray(token * width, (token + 1) * width)) if (id >= 0) ids.add(id);
        return Int32Array.from(ids).sort();
    }

    readWeights(files, dtype) {
        const {bytes, header, length} = Model.tensors(files, "model.safetensors"), {instance} = this;
        const names = Object.keys(header).filter((name) => !/\.(scale|input_multiplier)$/.test(name));
        this.parameters = names.reduce((sum, name) => sum + header[name].shape.reduce((a, b) => a * b, 1), 0);
        const quantised = names.some((name) => header[name].dtype === "I8");
        this.dtype = dtype === "auto" ? (quantised ? "int8" : "float32") : dtype;
        const type = Model.TYPES.indexOf(this.dtype);
        if (type < 0) throw new EngineError(`dtype = ${dtype}: use auto or ${Model.TYPES.join(", ")}`);
        const start = instance.place(bytes) + 8 + length; // the embeddings stay there
        const ROW = 40, table = new DataView(new ArrayBuffer(ROW * names.length));
        const texts = names.map((name) => instance.place(new TextEncoder().encode(name + "\0")));
        names.forEach((name, i) => {
            const {shape: [rows = 1, columns = 1], dtype, data_offsets: [begin]} = header[name], scale = header[name + ".scale"];
            const multiplier = header[name + ".input_multiplier"];
            if (dtype === "I8" && !(scale?.dtype === "F32" && scale.shape.length === 1 && scale.shape[0] === rows))
                throw new EngineError(`model.safetensors: ${name} is int8 without a scale for each of its ${rows} rows`);
            if (multiplier && !(multiplier.dtype === "F32" && multiplier.shape.length === 1))
                throw new EngineError(`model.safetensors: ${name}.input_multiplier is damaged`);
            table.setUint32(i * ROW, texts[i], true);
            table.setUint32(i * ROW + 4, start + begin, true);
            table.setUint32(i * ROW + 8, dtype === "I8" ? start + scale.data_offsets[0] : 0, true);
            table.setUint32(i * ROW + 12, multiplier ? start + multiplier.data_offsets[0] : 0, true);
            table.setBigInt64(i * ROW + 16, BigInt(rows), true);
            table.setBigInt64(i * ROW + 24, BigInt(columns), true);
            table.setInt32(i * ROW + 32, Model.STORED[dtype][0], true);
            table.setInt32(i * ROW + 36, multiplier ? multiplier.shape[0] : 0, true);
        });
        const engine = instance.opened([this.shapeNumbers(), new Uint8Array(table.buffer)], (shape, weights, message, size) =>
            instance.calls.dragoman_open(shape, weights, BigInt(names.length), type, 0, 0, message, BigInt(size)));
        for (const text of texts) instance.calls.dragoman_release(text);
        this.engine = engine;
    }

    /** `Shape` of cpp/shape.h. */
    shapeNumbers() {
        const s = this.shape, numbers = Int32Array.of(
            s.source_vocab, s.target_vocab, s.d_model, s.d_ff, s.heads, s.kv_heads ?? s.heads, s.encoder_layers,
            s.decoder_layers, s.pad_id, s.start_id, s.end_id, ["all", "decoder", "none"].indexOf(s.tie),
            Model.POSITIONS.indexOf(s.positions), Model.ACTIVATIONS.indexOf(s.activation),
            Math.min(s.window ?? 0, 2 ** 30), s.architecture === "ssru", s.norm === "pre", s.norm_kind === "rms",
            s.final_norm, s.embedding_scale, s.embedding_norm, s.attention_bias, s.output_bias, 0);
        new Float32Array(numbers.buffer)[numbers.length - 1] = s.norm_epsilon;
        return numbers;
    }

    /** A request as `dragoman_submit` of cpp/api.cpp reads it: whole numbers and three fractions. */
    request(number, source, options) {
        const o = {size: 4, length_penalty: 0.6, normalization: "gnmt", n_best: 1, stop: "full", banned: [], renormalize: false,
            ...this.generation};
        const size = options.beam ?? o.size, best = options.nBest ?? Math.min(o.n_best, size);
        const stop = Model.STOPS.indexOf(options.stop ?? o.stop);
        const normalization = Model.NORMALIZATIONS.indexOf(options.normalization ?? o.normalization);
        const {prefixIds: prefix = [], minimumLength: minimum = 0, noRepeatNgram: ngram = 0, maxExtraTokens: extra = 50, unscored = 0} = options;
        for (const [what, value, least, most] of [["beam", size, 1, 1000], ["nBest", best, 1, size], ["maxExtraTokens", extra, 0, 1e5],
            ["maxTokens", options.maxTokens ?? 0, 0, 1e5], ["unscored", unscored, 0, prefix.length],
            ["minimumLength", minimum, 0, 1e5], ["noRepeatNgram", ngram, 0, 2 ** 30]])
            whole(what, value, least, most);
        const penalty = options.lengthPenalty ?? o.length_penalty;
        if (!(Math.abs(penalty) <= 100)) throw new EngineError(`lengthPenalty = ${penalty}: it must be a number from -100 to 100`);
        if (stop < 0 || normalization < 0)
            throw new EngineError(`stop is one of ${Model.STOPS.join(", ")}, normalization one of ${Model.NORMALIZATIONS.join(", ")}`);
        const {source_vocab, target_vocab, pad_id, start_id, end_id, decoder_layers, heads} = this.shape;
        const check = (what, ids, vocab) => {
            for (const id of ids)
                if (!Number.isInteger(id) || id < 0 || id >= vocab) throw new EngineError(`${what}: ${id} is no id below ${vocab}`);
        };
        const banned = [...o.banned, ...(options.banned ?? [])];
        check("source", source, source_vocab);
        check("prefix", prefix, target_vocab);
        check("banned", banned, target_vocab);
        const never = [...new Set([pad_id, start_id, ...banned])].filter((id) => id !== end_id).sort((a, b) => a - b);
        const match = /^(\d+)(?:\.(\d+))?$/.exec(options.attention ?? "0"), [layer, head] = [Number(match?.[1]) - 1, Number(match?.[2] ?? 0) - 1];
        if (!match || layer >= decoder_layers || head >= heads || (options.attention && (layer < 0 || match[2] === "0")))
            throw new EngineError(`attention = ${options.attention}: write LAYER or LAYER.HEAD, of ${decoder_layers} layers and ${heads} heads`);
        const limit = Math.max(options.maxTokens ?? unscored + source.length + extra, prefix.length), ngrams = ngram ? [ngram] : [];
        const lists = [[...source, end_id], prefix, ngrams, [], [], [], [], never, []];
        const ruled = prefix.length || minimum || ngram ? 1 : 0, allowed = options.shortlist ? this.allowed(source, prefix) : [];
        check("shortlist", allowed, target_vocab);
        return {
            length: source.length,
            numbers: [number, 0, size, size, best, stop, normalization, 0, options.renormalize ?? o.renormalize ? 1 : 0, limit, minimum,
                layer, layer < 0 ? -1 : head, ruled, -1, unscored, ...lists.map((list) => list.length), options.shortlist ? allowed.length : -1, ...lists.flat(), ...allowed],
            fractions: [penalty, 1, 1],
        };
    }

    /**
     * Translate token ids. Yields [place, hypotheses] as they are finished, and null now and then, so that the caller
     * can look at its messages.
     */
    *search(sources, options) {
        const {calls} = this.instance, requests = [], MOST = 1024n, MILLISECONDS = 20, {batchTokens = 4096} = options;
        whole("batchTokens", batchTokens, 1, 2 ** 31);
        Model.check(options);
        for (const [number, source] of sources.entries()) {
            const request = this.request(number, source, {...options, prefixIds: options.prefixIds?.[number]});
            if (source.length) requests.push(request);
            else yield [number, [{ids: [], score: 0, logp: 0, tokenLogp: [], truncated: false, attention: []}]];
        }
        requests.sort((a, b) => b.length - a.length); // the longest first, as the native engine does
        const session = calls.dragoman_begin(this.engine, BigInt(batchTokens));
        let left = requests.length;
        try {
            const refused = this.instance.with([Int32Array.from(requests.flatMap((one) => one.numbers)),
                Float64Array.from(requests.flatMap((one) => one.fractions))],
            (numbers, fractions) => calls.dragoman_submit(session, BigInt(requests.length), numbers, fractions));
            if (refused) throw new EngineError("a token id or an option is out of range for this model");
            while (left) {
                const collected = calls.dragoman_collect(session, MOST, MILLISECONDS) >>> 0;
                let answers;
                try {
                    answers = this.answers(collected, sources);
                } finally {
                    calls.dragoman_free(collected);
                }
                left -= answers.length;
                yield* answers;
                yield null;
                if (this.instance.broken) throw new EngineError(Model.BROKEN); // by another call
            }
        } finally {
            if (!this.instance.broken) calls.dragoman_end(session);
        }
    }

    /** Read `Collected` of cpp/api.cpp. */
    answers(collected, sources) {
        const {buffer} = this.instance.calls.memory, {view} = this.instance;
        const count = (at) => Number(view.getBigInt64(collected + at, true)), place = (at) => view.getUint32(collected + at, true);
        const numbers = new Int32Array(buffer, place(8), count(24)), fractions = new Float32Array(buffer, place(12), count(32));
        const scores = new Float64Array(buffer, place(16), count(40)), answers = [];
        for (let i = 0, n = 0, f = 0, s = 0; i < count(0); i++) {
            const [number, failed, hypotheses] = numbers.subarray(n, n + 3), found = [];
            n += 3;
            if (failed >= 0) throw new EngineError(`the model gives no probabilities after ${failed} tokens: its weights are damaged`);
            if (!hypotheses) throw new EngineError("the model gives every translation of a sentence probability 0");
            for (let h = 0; h < hypotheses; h++) {
                const [length, truncated, weights] = numbers.subarray(n, n + 3), width = sources[number].length + 1;
                const ids = Array.from(numbers.subarray(n + 3, (n += 3 + length)));
                const tokenLogp = Array.from(fractions.subarray(f, (f += length + 1)));
                const attention = Array.from({length: weights / width}, (_, row) => Array.from(fractions.subarray(f + row * width, f + (row + 1) * width)));
                f += weights;
                found.push({ids, score: scores[s], logp: scores[s + 1], tokenLogp, truncated: Boolean(truncated), attention});
                s += 2;
            }
            answers.push([number, found]);
        }
        return answers;
    }

    /**
     * What the model computes for a source and a target, with changes (cpp/trace.h).
     *
     * @param {number[]} source ids, as `target` without start and end
     * @param {Change[]} changes
     * @returns {Record<string, {shape: number[], values: Float32Array}>}
     */
    trace(source, target, changes) {
        const {calls} = this.instance, {table, values} = Model.changes(changes);
        return this.kept([Int32Array.from(source), Int32Array.from(target), table, Float32Array.from(values)],
            (from, to, list, all, message, size) => calls.dragoman_trace(
                this.engine, from, source.length, to, target.length, list, changes.length, all, values.length, message, size));
    }

    /** The search for one source, with changes: `dragoman_trace_search` of cpp/trace_api.cpp. */
    record(source, {forced = [], bannedAt = [], ...options}, changes) {
        Model.check(options);
        const {calls} = this.instance, {numbers, fractions} = this.request(0, source, options), rules = [...forced, ...bannedAt].flat();
        return this.kept([Int32Array.from(numbers), Float64Array.from(fractions), Int32Array.from(rules), Model.changes(changes).table],
            (first, second, pairs, list, message, size) => calls.dragoman_trace_search(this.engine, first, second, pairs,
                forced.length, bannedAt.length, list, changes.length, message, size));
    }

    /** Refuse names that are no options. */
    static check(options) {
        for (const name of Object.keys(options))
            if (!Model.OPTIONS.includes(name)) throw new EngineError(`${name} is not an option: use ${Model.OPTIONS.join(", ")}`);
    }

    /** Changes as `Change` of cpp/trace.h. */
    static changes(changes) {
        const STACKS = ["encoder", "decoder", "cross"];
        const WHAT = ["without", "shift", "no_positions", "base", "unscaled", "no_residual", "no_mask", "embedding", "weights"];
        const ROW = 8, values = changes.flatMap((one) => Array.from(one.values ?? []));
        const table = new Int32Array(ROW * changes.length), numbers = new Float32Array(table.buffer);
        let first = 0;
        for (const [i, one] of changes.entries()) {
            const {stack = "encoder", layer = -1, head = -1, place = -1, number = 0} = one, count = one.values?.length ?? 0;
            if (!WHAT.includes(one.what) || !STACKS.includes(stack))
                throw new EngineError(`${one.what} in ${stack} is no intervention: use one of ${WHAT.join(", ")}`);
            table.set([WHAT.indexOf(one.what), STACKS.indexOf(stack), layer, head, place, first, count], ROW * i);
            numbers[ROW * i + 7] = number;
            first += count;
        }
        return {table, values};
    }

    /** The arrays of the trace that `open` opens. */
    kept(parts, open) {
        const {calls} = this.instance, trace = this.instance.opened(parts, open);
        try {
            const at = calls.dragoman_trace_numbers(trace) >>> 0, {buffer} = calls.memory;
            return Object.fromEntries(JSON.parse(this.instance.message(calls.dragoman_trace_directory(trace))).map(
                ({name, shape, first}) => {
                    const count = shape.reduce((a, b) => a * b, 1);
                    return [name, {shape, values: new Float32Array(buffer, at + 4 * first, count).slice()}];
                }));
        } finally {
            calls.dragoman_trace_free(trace);
        }
    }

    /** The text without the characters around it that Python counts as spaces. */
    static strip(text) {
        let begin = 0, end = text.length;
        while (Model.SPACE.test(text.charAt(begin))) begin++;
        while (end > begin && Model.SPACE.test(text.charAt(end - 1))) end--;
        return text.slice(begin, end);
    }

    /**
     * What the model reads for a translation: the marks before its source, as text, and the ids that it begins with.
     * As `address` and `target_start` in text/tokenizers/tokenizer.py.
     */
    addressed({source, to}) {
        const marked = (side, language) => {
            const mark = `>>${language}<<`, ids = language ? this[side].encode(mark) : [];
            return ids.length === 1 && this[side].pieces(ids)[0] === mark ? ids : [];
        };
        const start = this.marks.target === "target" ? marked("target", to) : [];
        const own = [this.marks.source && source, this.marks.target === "source" && to].filter((one) => marked("source", one).length);
        if (to && !start.length && !own.includes(to) && to !== this.languages[1])
            throw new EngineError(`to = ${to}: this model does not translate to it`);
        return {before: own.map((one) => `>>${one}<< `).join(""), start};
    }

    /** Translate lines. Yields as `search`; each translation has its text and the ids of its source. */
    *translate(texts, {source, to, ...options}) {
        const {maxSourceTokens = 4096} = options, {before, start} = this.addressed({source, to}), unscored = start.length;
        whole("maxSourceTokens", maxSourceTokens, 1, 1e5);
        const lines = texts.map(Model.strip);
        const encode = (line) => (Model.BLANK.test(line) ? [] : this.source.encode(before + line));
        const sources = lines.map((line) => encode(line).slice(0, maxSourceTokens));
        const prefixes = [options.prefix ?? ""].flat();
        const prefixIds = texts.map((_, i) => [...start, ...this.target.encode(Model.strip(prefixes[i] ?? prefixes[0]))]);
        whole("minimumLength", options.minimumLength ?? 0, 0, 1e5);
        const minimumLength = options.minimumLength && options.minimumLength + unscored; // the mark is no word
        for (const answer of this.search(sources, {...options, minimumLength, prefixIds, unscored})) {
            if (!answer) { yield null; continue; }
            const [number, hypotheses] = answer;
            yield [number, hypotheses.map(({ids, tokenLogp, attention, ...one}) => ({
                text: sources[number].length ? this.target.decode(ids.slice(unscored)) : lines[number], source: sources[number], ...one,
                ids: ids.slice(unscored), tokenLogp: tokenLogp.slice(unscored), attention: attention.slice(unscored),
            }))];
        }
    }
}

/** Answer the messages of `Remote`, in a worker. */
function serve(port) {
    const stopped = new Set(), turn = new MessageChannel(), waiting = [];
    turn.port1.onmessage = () => waiting.shift()();
    turn.port1.unref?.(); // Node may end
    // Let messages in: a timer would wait 4 ms in a browser, and Node handles those of one channel first.
    const messages = () => new Promise((resolve) => {
        if (typeof setImmediate === "function") return setImmediate(resolve);
        waiting.push(resolve);
        turn.port2.postMessage(0);
    });
    let model;
    const work = async (id, call, args) => {
        if (call === "load") {
            model = await Model.load(...args, (progress) => port.postMessage({id, progress}));
            const {shape, generation, languages, dtype, parameters} = model;
            return {shape, generation, languages, dtype, parameters};
        }
        if (!model || model.instance.broken) throw new EngineError(Model.BROKEN);
        if (["encode", "cut", "decode", "pieces"].includes(call)) return model[args[0]][call](args[1]);
        if (["trace", "record", "addressed"].includes(call)) return model[call](...args);
        for (const answer of model[call](...args)) {
            if (answer) port.postMessage({id, answer});
            else await messages();
            if (stopped.delete(id)) throw new DOMException("stopped", "AbortError");
        }
    };
    port.onmessage = async ({data: {id, call, args}}) => {
        if (call === "stop") return stopped.add(id);
        try {
            port.postMessage({id, result: await work(id, call, args)});
        } catch (error) {
            port.postMessage({id, error: {name: error.name, message: error.message}});
        }
        stopped.delete(id);
    };
}

const IN_WORKER = [EngineError, Instance, Vocabulary, whole, Model, serve];

/** One model behind a port. */
class Remote {
    constructor(worker) {
        this.calls = new Map();
        this.next = 0;
        this.ended = null; // the error of later calls
        if (worker) {
            const source = IN_WORKER.map(String).join("\n") + "\nserve(self);";
            const address = URL.createObjectURL(new Blob([source], {type: "text/javascript"}));
            try {
                this.port = this.worker = new Worker(address);
            } catch (error) {
                throw new EngineError(`this browser starts no worker (${error.message})`);
            }
            URL.revokeObjectURL(address);
            this.worker.onerror = (event) => this.fail(new EngineError(`the worker failed: ${event.message ?? "it did not start"}`));
        } else {
            const {port1, port2} = new MessageChannel();
            serve(port2);
            this.port = port1;
        }
        this.port.onmessage = ({data}) => this.receive(data);
    }

    receive({id, progress, answer, result, error}) {
        const call = this.calls.get(id);
        if (!call) return;
        if (progress) return call.each?.(progress);
        if (answer) return call.each?.(answer);
        this.calls.delete(id);
        if (!error) return call.resolve(result);
        const failure = error.name === "AbortError" ? new DOMException(error.message, error.name) : new EngineError(error.message);
        call.reject(failure);
    }

    fail(error) {
        this.ended ??= error;
        for (const call of this.calls.values()) call.reject(error);
        this.calls.clear();
    }

    call(call, args, each, signal) {
        const id = this.next++;
        return new Promise((resolve, reject) => {
            if (this.ended) throw this.ended;
            this.port.postMessage({id, call, args});
            this.calls.set(id, {resolve, reject, each});
            const stop = () => { if (this.calls.has(id)) this.port.postMessage({id, call: "stop"}); };
            if (signal?.aborted) stop();
            signal?.addEventListener("abort", stop, {once: true});
        });
    }

    close() {
        for (const id of this.calls.keys()) this.port.postMessage({id, call: "stop"}); // without a worker, it would go on
        this.fail(new DOMException("the translator is closed", "AbortError"));
        this.worker?.terminate();
        this.port.close?.();
    }
}

/**
 * A translation.
 *
 * @typedef {object} Hypothesis
 * @property {string} text
 * @property {number[]} ids of its tokens, without the end
 * @property {number[]} source ids of the text, without the end
 * @property {number} score log-probability divided by the length penalty
 * @property {number} logp
 * @property {number[]} tokenLogp of each token and of the end
 * @property {boolean} truncated whether it reached its limit of tokens
 * @property {number[][]} attention of each token and of the end to each token of the source and its end, if asked for
 *
 * Options of a search. What is left out is as in the model's generation.json.
 *
 * @typedef {object} Options
 * @property {number} [beam] width; 1 is greedy search
 * @property {number} [nBest] translations of each text, the best first
 * @property {number} [lengthPenalty]
 * @property {"gnmt" | "power"} [normalization]
 * @property {"full" | "patient" | "shrinking" | "exact"} [stop] when a search ends
 * @property {string | string[]} [prefix] the beginning of each translation, or of all
 * @property {string} [attention] LAYER or LAYER.HEAD, counted from 1
 * @property {number} [minimumLength] @property {number} [noRepeatNgram]
 * @property {number} [maxExtraTokens] tokens more than the source has, at most
 * @property {number} [maxTokens] tokens at most, the prefix included, instead
 * @property {number[]} [banned] ids that are never generated
 * @property {boolean} [renormalize]
 * @property {string} [source] the language of the text, for a model that reads it
 * @property {string} [to] target language, for a model of several
 * @property {number} [unscored] with `search`: the first tokens of each prefix, whose log-probabilities do not count
 * @property {number} [maxSourceTokens] a longer text is cut there
 * @property {number} [batchTokens] source tokens of the texts that are translated together, times the beam
 * @property {AbortSignal} [signal] stops the search; the promise is rejected with an AbortError
 * @property {(place: number, translations: Hypothesis[]) => void} [each] is called as soon as a text is finished
 *
 * An intervention in a trace. Layers, heads and places count from 0; left out, all of them.
 *
 * @typedef {object} Change
 * @property {"without" | "shift" | "no_positions" | "base" | "unscaled" | "no_residual" | "no_mask" | "embedding" | "weights"} what
 * @property {"encoder" | "decoder" | "cross"} [stack]
 * @property {number} [layer] @property {number} [head] @property {number} [place] @property {number} [number]
 * @property {number[]} [values]
 */

/** A model that translates. Made by `load`. */
export class Translator {
    /** @param {Remote[]} remotes @param {object} about */
    constructor(remotes, about) {
        this.remotes = remotes;
        /** The options of the model in config.json, with defaults. */
        this.shape = about.shape;
        /** The search in generation.json. */
        this.generation = about.generation;
        [this.sourceLanguage, this.targetLanguage] = about.languages;
        /** float32, bfloat16 or int8 */
        this.dtype = about.dtype;
        /** How many weights the model has. */
        this.parameters = about.parameters;
    }

    /**
     * @param {string[]} texts each a sentence or a line
     * @param {Options} [options]
     * @returns {Promise<Hypothesis[][]>} the translations of each text, the best first
     */
    translate(texts, options = {}) { return this.#spread("translate", texts, options, ["prefix"]); }

    /**
     * The same for token ids, which are those of `encode`. `options.prefixIds` has the ids of each prefix.
     *
     * @param {number[][]} sources
     * @param {Options & {prefixIds?: number[][]}} [options]
     * @returns {Promise<Omit<Hypothesis, "text" | "source">[][]>}
     */
    search(sources, options = {}) { return this.#spread("search", sources, options, ["prefixIds"]); }

    /** @returns {Promise<{before: string, start: number[]}>} what stands before a text in a language, and begins its translation */
    addressed(languages) { return this.remotes[0].call("addressed", [languages]); }

    /** @returns {Promise<number[]>} ids of a text. `side`: the vocabulary, "source" or "target". */
    encode(text, side = "source") { return this.remotes[0].call("encode", [side, text]); }

    /** @returns {Promise<{text: string, ids: number[], ends: number[]}>} with where each token ends, in characters */
    cut(text, side = "source") { return this.remotes[0].call("cut", [side, text]); }

    /** @returns {Promise<string>} */
    decode(ids, side = "target") { return this.remotes[0].call("decode", [side, ids]); }

    /** @returns {Promise<string[]>} ▁ is a space */
    pieces(ids, side = "target") { return this.remotes[0].call("pieces", [side, ids]); }

    /**
     * Every intermediate result of the model for a source and a target, by name. Its names are those of the modules in
     * models/transformer.py, with .queries, .keys, .values, .logits, .weights and .heads for attention.
     *
     * @param {number[]} source ids, as `target` without start and end
     * @param {number[]} target
     * @param {Change[]} [changes]
     * @returns {Promise<Record<string, {shape: number[], values: Float32Array}>>}
     */
    trace(source, target, changes = []) { return this.remotes[0].call("trace", [source, target, changes]); }

    /**
     * A beam search that keeps each candidate in `tree`: its parent or -1, token, log-probability, their sum, what became of it
     * (0 kept, 1 pruned, 2 finished, 3 banned), and 1 if the limit of tokens cut it. Heads may be off, and the source may have
     * other positions. The model's positions come with it.
     *
     * @param {number[]} source ids
     * @param {Options & {forced?: [number, number][], bannedAt?: [number, number][]}} [options] pairs of a position, counted from 0,
     *     and an id; it is banned everywhere at -1
     * @param {Change[]} [changes]
     * @returns {Promise<Record<string, {shape: number[], values: Float32Array}>>}
     */
    record(source, options = {}, changes = []) { return this.remotes[0].call("record", [source, options, changes]); }

    /** End the workers. What still runs, and later calls, are rejected with an AbortError. */
    close() { for (const remote of this.remotes) remote.close(); }

    /** Each worker takes every n-th text. `perText` names options with a value for each text. */
    async #spread(call, texts, {signal, each, ...options}, perText) {
        if (!Array.isArray(texts)) throw new EngineError(`${call} takes a list`);
        for (const name of perText) {
            const list = options[name], one = name === "prefix" ? 1 : NaN; // a prefix may be that of all texts
            if (Array.isArray(list) && list.length !== texts.length && list.length !== one)
                throw new EngineError(`${list.length} ${name === "prefix" ? "prefixes" : name} for ${texts.length} texts`);
        }
        const found = new Array(texts.length), n = Math.min(this.remotes.length, texts.length);
        await Promise.all(this.remotes.slice(0, n).map((remote, first) => {
            const own = (list) => list.filter((_, place) => place % n === first), part = {...options};
            for (const name of perText) if (options[name]?.length === texts.length && Array.isArray(options[name])) part[name] = own(options[name]);
            return remote.call(call, [own(texts), part], ([number, translations]) => {
                const place = number * n + first;
                found[place] = translations;
                each?.(place, translations);
            }, signal);
        }));
        return found;
    }
}

/** The options of the model in a config.json, with defaults. Throws an EngineError for one that the engine does not run. */
export const shapeOf = (config) => Model.shape(config);

/** Whether this browser runs engine.wasm: it needs WebAssembly with SIMD, which all browsers have since 2023. */
export function supported() {
    // () -> v128: i32.const 0, i8x16.splat
    return typeof WebAssembly === "object" && WebAssembly.validate(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123,
        3, 2, 1, 0, 10, 8, 1, 6, 0, 65, 0, 253, 15, 11));
}

/**
 * Load a model.
 *
 * @param {Record<string, Uint8Array>} files the files of a model folder by name: config.json, generation.json,
 *     tokenizer.json, model.safetensors and tokenizer.spm (and what else tokenizer.json names)
 * @param {object} options
 * @param {Uint8Array | WebAssembly.Module} options.wasm engine.wasm
 * @param {"auto" | "float32" | "bfloat16" | "int8"} [options.dtype] auto: int8 if the weights are, else float32
 * @param {number} [options.threads] workers, each with a copy of the model; more than one speed up lists of texts
 * @param {boolean} [options.worker] false: translate in this thread, as in Node, or in a worker of your own
 * @param {(progress: {stage: string, share: number}) => void} [options.progress] share is from 0 to 1
 * @returns {Promise<Translator>} rejected with an EngineError for a model that cannot be used
 */
export async function load(files, {wasm, dtype = "auto", threads = 1, worker = typeof Worker === "function", progress = () => {}}) {
    if (!supported()) throw new EngineError("this browser lacks WebAssembly with SIMD: use a version from 2023 or later");
    whole("threads", threads, 1, 1000);
    const module = wasm instanceof WebAssembly.Module ? wasm : await WebAssembly.compile(wasm).catch((error) => {
        throw new EngineError(`engine.wasm cannot be compiled (${error.message})`);
    });
    const remotes = Array.from({length: worker ? threads : 1}, () => new Remote(worker));
    try {
        const [about] = await Promise.all(remotes.map((remote, i) => remote.call("load", [files, {module, dtype}], i ? undefined : progress)));
        return new Translator(remotes, about);
    } catch (error) {
        for (const remote of remotes) remote.close();
        throw error;
    }
}
