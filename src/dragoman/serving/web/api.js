// Requests of the page to the server, and the reasons why they fail.

import { keep, kept } from "./kept.js";

const KEY = "dragoman-key";
let own = kept(KEY, "sessionStorage") ?? "";

/** A failed request. `kind`: offline, key, long, busy, loading, or error; `wait`: seconds until it may work. */
export class Failure extends Error {
    constructor(kind, message, wait = null) {
        super(message);
        Object.assign(this, { kind, wait });
    }
}

export const key = {
    get: () => own,
    set: (value) => keep(KEY, (own = value), "sessionStorage"),
};

/** The headers that a request needs. */
export const headers = () => (key.get() ? { Authorization: `Bearer ${key.get()}` } : {});

/** The answer to a POST of `body`, or without a body to a GET. Raises Failure. */
export async function ask(path, body, { signal } = {}) {
    const json = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const type = body === undefined ? {} : { "Content-Type": "application/json" };
    let response, text;
    try {
        response = await fetch(path, { ...json, headers: { ...headers(), ...type }, signal, cache: "no-store" });
        text = await response.text();
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Failure("offline", "No connection to the server.");
    }
    if (response.ok) return JSON.parse(text);
    throw failure(response.status, text, response.headers.get("Retry-After"));
}

/** The failure that an answer with this status means. */
export function failure(status, text, retryAfter) {
    const said = reason(text) ?? `The server answered ${status}.`;
    const wait = Number.parseFloat(retryAfter) || null;
    if (status === 401 || status === 403) return new Failure("key", said);
    if (status === 413) return new Failure("long", said);
    if (status === 429) return new Failure("busy", "The server is busy.", wait ?? 2);
    if (status === 503) return new Failure("loading", "The server is loading its models.", wait ?? 1);
    if (status === 504) return new Failure("busy", "The translation took too long.", wait ?? 5);
    return new Failure("error", said);
}

function reason(text) {
    try {
        const { detail, error, title, message } = JSON.parse(text);
        return [detail, error, message, title].find((one) => typeof one === "string" && one) ?? null;
    } catch {
        return null;
    }
}
