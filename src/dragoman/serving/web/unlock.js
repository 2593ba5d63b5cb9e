// The key that the server requires. It stays in this tab.

import { key } from "./api.js";
import { by } from "./dom.js";

let again = [];

/** Ask for a key, then call `retry`. */
export function unlock(why, retry) {
    again.push(retry);
    by("key-why").textContent = why;
    if (!by("key").open) {
        by("key-input").value = "";
        by("key").showModal();
    }
}

export function startKey(changed) {
    by("key-change").hidden = !key.get();
    by("key-change").addEventListener("click", () => unlock("", changed));
    by("key-cancel").addEventListener("click", () => by("key").close("cancel"));
    by("key").addEventListener("cancel", () => by("key").close("cancel"));
    by("key").addEventListener("close", () => {
        const waiting = again;
        again = [];
        if (by("key").returnValue === "cancel") return;
        key.set(by("key-input").value.trim());
        by("key-change").hidden = !key.get();
        waiting.forEach((retry) => retry());
    });
}
