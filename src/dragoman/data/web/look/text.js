// Lines of the text, and numbers as text.

import { inLanguage } from "../../../inspection/views/page/controls.js";
import { make } from "./dom.js";

export const whole = (value) => value.toLocaleString("en", { maximumFractionDigits: 2 });

/** A share of a whole, with enough digits to tell it from none and from all. */
export function percent(part, all) {
    if (!part || !all) return "0\u00a0%";
    const share = (100 * part) / all;
    const shown = share < 0.01 ? "< 0.01" : share > 99.99 && part < all ? "> 99.99" : Number(share.toPrecision(3));
    return `${shown}\u00a0%`;
}

/** The texts of an example: [file, line, source, target]. */
const exampleList = (look, [, , ...texts]) => look.sides.map((side, i) =>
    make("span", { class: "text", ...inLanguage(look.languages[i], texts[i]) }, texts[i] || "(empty)"));

/** Pairs with their places. */
export function examples(look, pairs) {
    const place = ([file, line]) => make("small", { title: file },
        look.files > 1 && make("bdi", {}, `${file}, `), `line ${line.toLocaleString("en")}`);
    return make("ul", { class: "examples" }, pairs.map((one) => make("li", {}, place(one), exampleList(look, one))));
}
