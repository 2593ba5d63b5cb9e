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

document.addEventListener("unpacking", ({ detail: { name, share, text } }) => {
    if (!by("unpacking")) {
        by("status").before(make("p", { id: "unpacking", class: "status", role: "status" },
            make("span", {}), make("progress", { max: 1, "aria-label": `Loading ${name}` })));
    }
    const [label, bar] = by("unpacking").children;
    if (label.textContent !== text) label.textContent = text;
    bar.value = share;
    by("unpacking").hidden = share === 1;
});

if (styleOfViews) {
    addEventListener("hashchange", enter);
    enter();
}
