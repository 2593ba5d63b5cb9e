// Read {module, wasm, folder, options, calls: [[name, ...arguments], ...]} as JSON; write the result of each call, or
// {error: [name, message]}. A last argument {abort: n} stops the call after n answers. With `counted`, the last result is
// how often each function of the instance was called.
import {readFileSync, readdirSync} from "node:fs";

const {module, wasm, folder, options, calls, without, counted} = JSON.parse(readFileSync(0, "utf8"));
if (without) WebAssembly.validate = () => false;
const counts = {}, {instantiate} = WebAssembly;
const counting = ([name, one]) =>
    [name, typeof one !== "function" ? one : (...given) => { counts[name] = (counts[name] ?? 0) + 1; return one(...given); }];
if (counted)
    WebAssembly.instantiate = async (...given) =>
        ({exports: Object.fromEntries(Object.entries((await instantiate(...given)).exports).map(counting))});
const {load} = await import(module);
const files = Object.fromEntries(readdirSync(folder).map((name) => [name, new Uint8Array(readFileSync(`${folder}/${name}`))]));

const results = [], progress = [];
const attempt = async (work) => {
    try {
        results.push(await work());
    } catch (error) {
        results.push({error: [error.name, error.message]});
    }
};
let translator;
await attempt(async () => {
    translator = await load(files, {wasm: readFileSync(wasm), progress: (one) => progress.push(one), ...options});
    return {dtype: translator.dtype, languages: [translator.sourceLanguage, translator.targetLanguage], progress};
});
for (const [name, ...given] of translator ? calls : [])
    await attempt(async () => {
        const {abort, ...last} = Object(given.at(-1));
        if (abort === undefined) return translator[name](...given);
        const controller = new AbortController();
        let answers = 0;
        const each = () => { if (++answers === abort) controller.abort(); };
        if (!abort) controller.abort();
        return translator[name](...given.slice(0, -1), {...last, each, signal: controller.signal});
    });
translator?.close();
if (counted) results.push(counts);
const plain = (_, value) => (value instanceof Float32Array ? Array.from(value) : value);
process.stdout.write(JSON.stringify(results, plain));
