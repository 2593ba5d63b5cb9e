// Files that are dropped in or chosen, and their translations.

import { failure, headers } from "./api.js";
import { by, make } from "./dom.js";

export class Files {
    #queue = Promise.resolve();

    /** `pair()` returns the languages; `limit()` the bytes of a file, 0 if none are taken; `unlock(why, again)` asks for a key. */
    constructor({ pair, limit, unlock }) {
        Object.assign(this, { pair, limit, unlock });
        by("files-choose").addEventListener("click", () => by("files-input").click());
        by("files-input").addEventListener("change", ({ target }) => {
            this.add(target.files);
            target.value = "";
        });
        addEventListener("dragover", (event) => this.#over(event, true));
        addEventListener("dragleave", (event) => event.relatedTarget === null && this.#over(event, false));
        addEventListener("drop", (event) => {
            const { files } = event.dataTransfer;
            this.#over(event, false);
            this.add(files);
        });
    }

    #over(event, there) {
        if (![...event.dataTransfer.types].includes("Files")) return;
        event.preventDefault();
        by("drop").hidden = !there || !this.limit();
    }

    /** Translate files, one after the other. */
    add(files, asked = this.pair()) { // later files may be for another language
        if (!this.limit()) return;
        for (const file of files) {
            by("files").hidden = false;
            const [bar, state] = [make("progress", { max: 1, value: 0, "aria-label": `Sending ${file.name}` }), make("span", { class: "soft", role: "status" }, "Waiting")];
            const row = make("li", {}, make("bdi", { class: "name" }, file.name), bar, state);
            by("files").querySelector("ul").append(row);
            this.#queue = this.#queue.then(() => this.#translate(file, asked, bar, state));
        }
        if (files.length) by("files").scrollIntoView({ block: "nearest" });
    }

    async #translate(file, asked, bar, state) {
        if (file.size > this.limit()) {
            bar.remove();
            state.replaceWith(make("span", { class: "error", role: "status" }, `Too large: at most ${size(this.limit())}.`));
            return;
        }
        try {
            const path = await this.#send(file, asked, (part) => {
                bar.value = part;
                if (part < 1) state.textContent = `Sending ${Math.round(part * 100)} %`;
                else {
                    bar.removeAttribute("value"); // the progress of the translation is unknown
                    state.textContent = "Translating…";
                }
            });
            const name = file.name.replace(/(\.[^.]*)?$/, (suffix) => `.${asked.target}${suffix}`);
            state.replaceChildren(make("a", { href: path, download: name }, "Download the translation"));
        } catch (error) {
            const again = () => this.add([file], asked);
            state.replaceWith(make("span", { class: "error", role: "status" }, error.message, " ",
                make("button", { type: "button", onclick: ({ target }) => { target.disabled = true; again(); } }, "Try again")));
            if (error.kind === "key") this.unlock(error.message, again);
        }
        bar.remove();
    }

    /** Send a file. Returns the path of its translation, on this server whatever name it gives itself. */
    #send(file, { source, ...asked }, progress) {
        const form = new FormData();
        for (const [name, value] of Object.entries({ source: source ?? "auto", ...asked, file })) if (value) form.append(name, value);
        // Only XMLHttpRequest tells how much was sent.
        const request = new XMLHttpRequest();
        request.open("POST", "translate_file");
        for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
        return new Promise((resolve, reject) => {
            request.upload.onprogress = ({ loaded, total }) => progress(total ? loaded / total : 1);
            request.upload.onload = () => progress(1);
            request.onerror = () => reject(new Error("No connection to the server."));
            request.onload = () => {
                const { status, responseText } = request;
                if (status !== 200) return reject(failure(status, responseText, request.getResponseHeader("Retry-After")));
                try {
                    const { pathname } = new URL(JSON.parse(responseText).translatedFileUrl, location.href);
                    resolve(pathname.slice(pathname.lastIndexOf("/download_file/") + 1));
                } catch {
                    reject(new Error("The answer is not that of a translation server."));
                }
            };
            request.send(form);
        });
    }
}

const size = (bytes) => (bytes >= 2 ** 20 ? `${Math.floor(bytes / 2 ** 20)} MB` : `${Math.floor(bytes / 1024)} kB`);
