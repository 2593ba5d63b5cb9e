// What is in parallel text: one column of facts for each text, and the filters with their sliders.

import { repaintAll, schemeButton } from "../../../inspection/views/page/colour.js";
import { inLanguage } from "../../../inspection/views/page/controls.js";
import { categoryOf, codePoint, grouped, scriptOf, sign } from "./characters.js";
import { by, make, scrolling } from "./dom.js";
import { ABOUT } from "./kinds.js";
import { filters } from "./filters.js";
import { examples, percent, whole } from "./text.js";
import { lengths } from "./lengths.js";

const RANKED = 40; // characters that are shown
const { looks } = JSON.parse(by("data").textContent);

/** A section with a panel for each text. `panel` returns nothing where there is nothing to show. */
function section(id, title, about, panel) {
    const panels = looks.map(panel);
    if (!panels.some(Boolean)) return null;
    return make("section", { id, "aria-labelledby": `${id}-title` },
        make("h2", { id: `${id}-title` }, title), about && make("p", { class: "hint" }, about), columns(panels));
}

/** The panels beside each other, each under the name of its text if there are two. */
const columns = (panels) => looks.length < 2 ? panels[0] : make("div", { class: "pair" },
    panels.map((panel, i) => make("div", {}, make("p", { class: "which" }, make("b", {}, "AB"[i]), " ",
        make("bdi", {}, looks[i].text)), panel ?? make("p", {}, "None."))));

const row = (cells, tag = "td") => make("tr", {}, cells.map((cell, i) => i === 0
    ? make("th", { scope: "row" }, cell) : make(tag, tag === "th" ? { scope: "col" } : {}, cell)));
const grid = (caption, head, rows) => scrolling(caption, make("table", {},
    make("caption", { class: "unseen" }, caption),
    make("thead", {}, make("tr", {}, head.map((cell) => (cell ? make("th", { scope: "col" }, cell) : make("td", {}))))),
    make("tbody", {}, rows.map((cells) => row(cells)))));
const more = (title, ...children) => make("details", {}, make("summary", {}, title), children);

/** The name of a side: its language, if that is known. */
const sideName = (look, i) => (look.languages[i] ? `${look.sides[i]} (${look.languages[i]})` : look.sides[i]);

function shares(counts) {
    const all = counts.reduce((sum, [, count]) => sum + count, 0);
    return counts.slice(0, 6).map(([name, count]) => `${name || "too short to tell"} ${percent(count, all)}`).join(", ");
}

function overview(look) {
    const each = (of) => look.sides.map(of);
    const facts = ["words", "characters"].flatMap((unit) => {
        const own = each((side) => look.lengths[`${unit}, ${side}`]);
        return [[unit, ...own.map(({ sum }) => whole(sum))],
            [`${unit} in a line, on average`, ...own.map(({ sum }) => (sum / look.pairs).toFixed(1))],
            [`${unit} in the longest line`, ...own.map(({ max }) => whole(max))]];
    });
    facts.push(["different lines", ...each((side) => whole(look.kinds[`equal ${side}s`].counts[0] ?? 0))]);
    facts.push(["scripts of the letters", ...look.characters.map(({ counts }) => shares(grouped(counts, scriptOf)))]);
    const { languages, pairs } = look.sample;
    if (languages) facts.push([`languages (of a sample of ${whole(pairs)})`, ...languages.map(shares)]);
    return grid("Counts", ["", ...each((_, i) => sideName(look, i))], facts);
}

/** The kinds that some lines have, each with examples. */
function found(look, histograms, all) {
    return Object.entries(histograms).filter(([, { edges }]) => edges.at(-1)).map(([name, { counts, examples: kept }]) =>
        more([make("b", {}, name), ` ${whole(counts.at(-1))} (${percent(counts.at(-1), all)})`],
            ABOUT[name] && make("p", { class: "hint" }, ABOUT[name]), examples(look, kept.at(-1))));
}

function kinds(look) {
    const [lines, translations] = [found(look, look.kinds, look.pairs), found(look, look.faults, look.sample.pairs)];
    const of = look.sample.pairs < look.pairs ? `, by a sample of ${whole(look.sample.pairs)} pairs` : "";
    return lines.length + translations.length > 0 && make("div", {}, lines,
        translations.length > 0 && make("h3", {}, `Faults of translations${of}`), translations);
}

function copies(look) {
    const { near } = look;
    const found = near.sample ? `${percent(near.pairs, near.sample)} of the pairs are nearly equal to an earlier one` : "";
    const basis = near.sample < look.pairs ? ", by a sample of " : " of ";
    return make("div", {},
        near.sample > 0 && make("p", {}, `${found}${basis}${whole(near.sample)} different pairs.`),
        near.examples.length > 0 && more("Pairs that are nearly equal", near.examples.map((pair) => examples(look, pair))),
        look.repeated.map((lines, i) => lines.length > 0 && more(`The most frequent lines, ${sideName(look, i)}`,
            make("ol", { class: "lines" }, lines.map(([times, text]) =>
                make("li", {}, `${whole(times)} × `, make("span", { class: "text", ...inLanguage(look.languages[i], text) }, text || "(empty)")))))));
}

function characters(look) {
    return make("div", {}, look.characters.map(({ counts, names, first }, i) => {
        const where = (one) => one && [make("bdi", {}, one[2 + i]), make("small", {}, ` line ${whole(one[1])}`)];
        const table = (name, rows, lines) => more(name, grid(`${name}, ${sideName(look, i)}`,
            ["code point", "sign", "count", "name", ...(lines ? ["first in"] : [])],
            rows.map(([code, count]) => [codePoint(code), make("bdi", { class: "sign" }, sign(code)), whole(count),
                names[code].toLowerCase(), ...(lines ? [where(lines[code])] : [])])));
        return [make("h3", {}, `${whole(counts.length)} different characters, ${sideName(look, i)}`),
            make("p", { class: "hint" }, `By category: ${shares(grouped(counts, categoryOf))}.`),
            table("The rarest", counts.slice(0, RANKED), first),
            table("The most frequent", counts.slice(-RANKED).reverse())];
    }));
}

/** How often terms are translated as the list says: [term, whether it is, pairs]. */
function terms(look) {
    const rows = new Map();
    for (const [term, used, many] of look.terms) {
        const [all, kept] = rows.get(term) ?? [0, 0];
        rows.set(term, [all + many, kept + (used ? many : 0)]);
    }
    return rows.size > 0 && grid("Terms", ["term", "pairs", "translated so", "share"], [...rows].map(([term, [all, kept]]) =>
        [make("bdi", {}, term), whole(all), whole(kept), percent(kept, all)]));
}

const sections = [
    section("overview", "At a glance", null, overview),
    filters(looks, columns),
    section("lengths", "Lengths", "Move a slider to see lines of that length.", lengths),
    section("kinds", "What lines have", "Repairs are those of dragoman data clean.", kinds),
    section("copies", "Copies", null, copies),
    section("characters", "Characters", null, characters),
    section("terms", "Terms", "How often a line with a term has its translation, inflected or not.", terms),
    section("random", "Some pairs", "Drawn by chance.", (look) => examples(look, look.examples)),
].filter(Boolean);

by("look").append(
    make("header", {}, make("div", {}, make("h1", {}, "What is in the text"),
        looks.map((look, i) => make("p", { class: "what" }, looks.length > 1 && make("b", {}, `${"AB"[i]} `),
            make("bdi", {}, look.text), `: ${whole(look.pairs)} ${look.sides.length > 1 ? "pairs" : "lines"}`))), schemeButton()),
    make("nav", { "aria-label": "Sections" }, sections.map((one) =>
        make("a", { href: `#${one.id}` }, one.querySelector("h2").textContent))),
    ...sections);
repaintAll();
document.body.dataset.ready = "";
