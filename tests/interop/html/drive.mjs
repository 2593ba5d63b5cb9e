// Read {engine, words, sentences, wasm, folder, facts, lines, begun, texts} as JSON, and write what the modules of the page
// answer: the table of each line, next words and alternatives, tables of lines that begin with a prefix, and pieces of texts.
import {readFileSync, readdirSync} from "node:fs";

const task = JSON.parse(readFileSync(0, "utf8"));
const {load} = await import(task.engine), words = await import(task.words), {segment} = await import(task.sentences);
const files = Object.fromEntries(readdirSync(task.folder).map((name) => [name, new Uint8Array(readFileSync(`${task.folder}/${name}`))]));
const translator = await load(files, {wasm: readFileSync(task.wasm)});
const model = {...task.facts, translator, tags: task.tags};
const found = await words.translateAll(model, task.lines);
const table = (line, best) => words.sentenceTable(model, line, best);
const answers = {tables: [], begun: [], next: [], alternatives: []};
for (const [i, line] of task.lines.entries()) answers.tables.push(await table(line, found[i][0]));
for (const [line, prefix] of task.begun) {
    answers.begun.push(await table(line, await words.begun(model, line, prefix)));
    answers.next.push(await words.nextWords(model, line, prefix, 8));
    answers.alternatives.push(await words.alternatives(model, line));
}
answers.pieces = task.texts.map(([language, text]) => segment(text, language, "de", task.endless[language]));
translator.close();
process.stdout.write(JSON.stringify(answers));
