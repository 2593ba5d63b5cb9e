// Permalinks: #source=en&target=de&text=... A browser never sends the fragment to a server.

/** The content of the address of the page: {source, target, text}, or null. */
export function fromLink() {
    const fields = new URLSearchParams(location.hash.slice(1));
    const text = fields.get("text");
    if (fields.has("how")) return null; // in a file, the address of the inspection of a sentence
    return text === null ? null : { source: fields.get("source") || null, target: fields.get("target"), text };
}

/** The address of the page with this text. */
export function linkTo({ source, target, text }) {
    const fields = new URLSearchParams({ source: source ?? "", target, text });
    return `${location.href.replace(/[?#].*/, "")}#${fields}`; // a file has no origin
}
