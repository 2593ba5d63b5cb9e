// Translate the lines of standard input with bergamot: node bergamot.mjs PACKAGE MODEL SHORTLIST VOCABULARY...
// Prints a JSON list: the translations, and the seconds of processor time that all but the first line took.
import {readFileSync} from "node:fs";

const [place, model, shortlist, ...vocabularies] = process.argv.slice(2);
const {BatchTranslator, TranslatorBacking} = await import(place + "/translator.js");
const buffer = (path) => { const {buffer, byteOffset, byteLength} = readFileSync(path); return buffer.slice(byteOffset, byteOffset + byteLength); };

class Local extends TranslatorBacking {
    async loadModelRegistery() { return [{from: "xx", to: "yy", files: {}}]; }
    async loadTranslationModel() {
        return {model: buffer(model), shortlist: buffer(shortlist), vocabs: vocabularies.map(buffer), qualityModel: null, config: {}};
    }
}

const lines = readFileSync(0, "utf8").split("\n").slice(0, -1);
const options = {workers: 1, pivotLanguage: null};
const translator = new BatchTranslator(options, new Local(options));
const translate = (text) => translator.translate({from: "xx", to: "yy", text, html: false});
await translate(lines[0]);
const before = process.cpuUsage();
const found = await Promise.all(lines.map(translate));
const {user, system} = process.cpuUsage(before);
await translator.delete();
process.stdout.write(JSON.stringify([found.map((one) => one.target.text), (user + system) / 1e6]), () => process.exit(0));
