// Read {engine, report, wasm, folder, options, questions} as JSON; write what `about` and `reportOf` return for them, or
// {error}.
import { readFileSync, readdirSync } from "node:fs";

const { engine, report, wasm, folder, options, questions } = JSON.parse(readFileSync(0, "utf8"));
const { load } = await import(engine);
const { about, reportOf } = await import(report);
const files = Object.fromEntries(readdirSync(folder).map((name) => [name, new Uint8Array(readFileSync(`${folder}/${name}`))]));
const translator = await load(files, { wasm: readFileSync(wasm), ...options });
const answers = [await about(translator, { source: "en", target: "de" })];
for (const question of questions)
    answers.push(await reportOf(translator, question, { title: "en to de", tags: question.tags, banned: question.banned }).catch(({ message }) => ({ error: message })));
translator.close();
const plain = (_, value) => (value instanceof Float32Array || value instanceof Set ? Array.from(value) : value);
process.stdout.write(JSON.stringify(answers, plain));
