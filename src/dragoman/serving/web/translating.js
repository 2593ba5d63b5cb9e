// When to request a translation, and what to do when it does not come.

import { Failure } from "./api.js";

const PAUSE = 90; // milliseconds without a key
const PATIENCE = 350; // of typing without a pause
const RETRIES = { offline: 2, busy: 2, loading: 1 }; // seconds

export class Translating {
    #timer = 0;
    #since = null; // when the first change came that nothing was asked for
    #running = null;
    #failures = 0;

    /** `translate(signal)` requests and shows; `say(failure, seconds)` gives the reason to wait, or null for none. */
    constructor(translate, say) {
        Object.assign(this, { translate, say });
        addEventListener("online", () => this.#failures && this.now());
    }

    /** Something changed: translate as soon as the person pauses. */
    soon() {
        this.#running?.abort();
        this.#since ??= performance.now();
        const left = Math.max(0, this.#since + PATIENCE - performance.now());
        this.#after(Math.min(PAUSE, left));
    }

    #after(milliseconds) {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.now(), milliseconds);
    }

    /** Translate now. An earlier request is dropped. */
    async now() {
        clearTimeout(this.#timer);
        this.#running?.abort();
        this.#since = null;
        const running = (this.#running = new AbortController());
        try {
            await this.translate(running.signal);
            if (running !== this.#running) return;
            this.#failures = 0;
            this.say(null);
        } catch (error) {
            if (error.name === "AbortError" || running !== this.#running) return;
            if (!(error instanceof Failure)) throw error;
            this.#failed(error);
        }
    }

    #failed(failure) {
        const least = RETRIES[failure.kind];
        if (least === undefined) return this.say(failure, null);
        const seconds = Math.min(Math.max(failure.wait ?? 0, least * 1.5 ** this.#failures), 30);
        this.#failures += 1;
        this.say(failure, Math.ceil(seconds));
        this.#after(seconds * 1000);
    }
}
