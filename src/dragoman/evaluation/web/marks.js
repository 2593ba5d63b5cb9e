// Which words of a translation are not in the reference, in this order: all but a longest common subsequence.

import { make } from "./dom.js";

const TOKEN = /\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|[\p{L}\p{M}\p{N}]+|[^\s]/gu;
const MOST = 250_000; // pairs of words to compare

/** The text as nodes, in which the other words are marked. */
export function differing(text, reference) {
    const ours = [...text.matchAll(TOKEN)], theirs = [...reference.matchAll(TOKEN)].map(([word]) => word);
    if (ours.length * theirs.length > MOST) return [text];
    const common = kept(ours.map(([word]) => word), theirs);
    const nodes = [];
    let at = 0;
    for (const [i, found] of ours.entries()) {
        if (common.has(i)) continue;
        nodes.push(text.slice(at, found.index), make("mark", {}, found[0]));
        at = found.index + found[0].length;
    }
    return [...nodes, text.slice(at)];
}

/** The places of the words of `ours` in a longest common subsequence. */
function kept(ours, theirs) {
    const width = theirs.length + 1;
    const longest = new Uint16Array((ours.length + 1) * width);
    for (let i = ours.length - 1; i >= 0; i--) {
        for (let j = theirs.length - 1; j >= 0; j--) {
            longest[i * width + j] = ours[i] === theirs[j]
                ? longest[(i + 1) * width + j + 1] + 1
                : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
        }
    }
    const places = new Set();
    for (let i = 0, j = 0; i < ours.length && j < theirs.length;) {
        if (ours[i] === theirs[j]) {
            places.add(i);
            i++;
            j++;
        } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i++;
        else j++;
    }
    return places;
}
