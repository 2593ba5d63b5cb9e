// Bytes in the text of an element: base64 of zlib-deflated data, as base/html/document.py writes them.

const PART = 1 << 22; // characters at once, so that the page can show progress; a multiple of 4

/** The bytes in the element `id`, whose text is freed. `progress` gets a share from 0 to 1. */
export async function unpacked(id, progress = () => {}) {
    try {
        return await bytesOf(id, progress);
    } catch (error) {
        if (error instanceof RangeError || error instanceof ReferenceError) throw error; // memory, or an old browser
        throw new Error("This file is damaged: copy or download it again.", { cause: error });
    }
}

async function bytesOf(id, progress) {
    const element = document.getElementById(id);
    const text = element.textContent;
    element.remove();
    const parts = [];
    for (let at = 0; at < text.length; at += PART) {
        parts.push(decoded(text.slice(at, at + PART)));
        progress(Math.min(1, (at + PART) / text.length));
        await new Promise((resolve) => setTimeout(resolve));
    }
    const inflated = new Blob(parts).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(inflated).arrayBuffer());
}

function decoded(text) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    return bytes;
}
