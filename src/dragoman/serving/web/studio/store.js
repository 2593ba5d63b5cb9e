// The runs as this page knows them. The server sends everything once, then the news; after a break it sends
// everything again.

const MOST = 1500; // points of a curve, before a thinner one is requested
const EVENTS = 300;
const AGAIN = 3000; // milliseconds until the stream is opened again, if the browser gives up

export class Store extends EventTarget {
    runs = [];
    connected = false;
    range = null; // [low, high] on the axis, or null for everything
    axis = "step";

    connect() {
        const source = new EventSource("api/news");
        source.onopen = () => this.#turn(true);
        source.onmessage = ({ data }) => this.#take(JSON.parse(data));
        source.onerror = () => {
            this.#turn(false);
            if (source.readyState === EventSource.CLOSED) setTimeout(() => this.connect(), AGAIN);
        };
    }

    /** Show a part of the axis in detail. */
    async zoom(axis, range) {
        Object.assign(this, { axis, range });
        this.#tell("zoom");
        await Promise.all(this.runs.map((_, i) => this.#detail(i)));
        this.#tell("zoom");
    }

    /** The points of a curve as [place on the axis, value]. */
    points(run, name) {
        const curves = (this.range && run.detail) || run.curves;
        const at = this.axis === "step" ? 0 : 1;
        return (curves[name] ?? []).map((point) => [point[at], point[2]]);
    }

    async #detail(i) {
        const run = this.runs[i];
        if (!this.range) {
            run.detail = null;
            return;
        }
        const asked = this.range;
        const found = await this.#ask(i, { axis: this.axis, low: asked[0], high: asked[1] });
        if (found && asked === this.range) run.detail = found;
    }

    async #ask(i, more = {}) {
        try {
            const answer = await fetch(`api/points?${new URLSearchParams({ run: i, most: 600, ...more })}`);
            return answer.ok ? await answer.json() : null;
        } catch {
            return null; // the stream reports that the server does not answer
        }
    }

    #take(news) {
        news.forEach((one, i) => {
            const run = (this.runs[i] ??= { index: i, shown: true, detail: null });
            run.summary = one.summary;
            run.received = performance.now();
            if (one.whole) {
                Object.assign(run, one.whole);
                if (this.range) this.#detail(i).then(() => this.#tell("zoom"));
            } else {
                this.#append(run, one);
            }
        });
        this.#tell("news");
    }

    #append(run, { points, event, samples }) {
        for (const [name, fresh] of Object.entries(points)) {
            (run.curves[name] ??= []).push(...fresh);
            if (run.detail) (run.detail[name] ??= []).push(...fresh);
        }
        run.event = [...run.event, ...event].slice(-EVENTS);
        const steps = new Set(samples.map(({ step }) => step));
        run.samples = [...run.samples.filter(({ step }) => !steps.has(step)), ...samples];
        if (Object.values(run.curves).some((curve) => curve.length > MOST) && !run.asking) this.#thin(run);
    }

    async #thin(run) {
        run.asking = true;
        const curves = await this.#ask(run.index);
        run.asking = false;
        if (curves) run.curves = curves;
    }

    #turn(connected) {
        this.connected = connected;
        this.#tell("connection");
    }

    #tell(what) {
        this.dispatchEvent(new Event(what));
    }
}
