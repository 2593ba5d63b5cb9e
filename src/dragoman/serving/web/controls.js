// Shared by the parts of the page: the language of elements, probabilities, items of a select.

import { make } from "./dom.js";

const RIGHT_TO_LEFT = new Set(["ar", "arc", "ckb", "dv", "fa", "he", "iw", "ks", "nqo", "ps", "sd", "syr", "ug", "ur", "yi"]);

/** Give elements the language of their text, and its direction. */
export function inLanguage(code, ...elements) {
    const [language, ...parts] = (code ?? "").split(/[-_]/);
    const arabic = parts.some((part) => ["arab", "hebr"].includes(part.toLowerCase()));
    for (const element of elements) {
        element.lang = code?.replace("_", "-") ?? "";
        element.dir = code === null ? "auto" : arabic || RIGHT_TO_LEFT.has(language.toLowerCase()) ? "rtl" : "ltr";
    }
}

/** A probability as a reader wants it: "97 %", "0.3 %". */
export function percent(probability) {
    const hundred = probability * 100;
    return `${hundred < 0.1 ? "< 0.1" : hundred < 1 ? hundred.toFixed(1) : Math.min(Math.round(hundred), 99)} %`;
}

/** Choose the items of a select: [value, text]. The value stays if it is still there. Returns whether it did. */
export function fill(select, items, value = select.value) {
    select.replaceChildren(...items.map(([of, text]) => make("option", { value: of }, text)));
    const there = items.some(([of]) => of === value);
    select.value = there ? value : (items[0]?.[0] ?? "");
    return there;
}
