// What the page in a file has beside that of the server: progress, and two rooms, for translating and for inspecting.

import { by, make } from "../../../serving/web/dom.js";

const translating = [document.querySelector("body > header"), document.querySelector("body > main"), by("about")];
const [style, , styleOfViews] = document.querySelectorAll("style"); // each is for one room

/** Show the room that the address names. */
function enter() {
    const how = location.hash.startsWith("#how&");
    for (const element of translating) element.hidden = how;
    by("app").hidden = !how;
    style.media = how ? "not all" : "all";
    styleOfViews.media = how ? "all" : "not all";
    scrollTo(0, 0);
}

const [label, bar] = [make("span", {}), make("progress", { max: 1 })];
const unpacking = make("p", { id: "unpacking", class: "status", role: "status", "data-kind": "loading", hidden: true }, label, bar);
let since = 0;
by("target-help").before(unpacking); // where it moves no text

document.addEventListener("unpacking", ({ detail: { name, share, text } }) => {
    since ||= performance.now();
    unpacking.hidden = share === 1 || performance.now() - since < 200; // small models are there at once
    bar.setAttribute("aria-label", `Loading ${name}`);
    if (label.textContent !== text) label.textContent = text;
    bar.value = share;
    if (share === 1) since = 0;
});

if (styleOfViews) {
    addEventListener("hashchange", enter);
    enter();
}
