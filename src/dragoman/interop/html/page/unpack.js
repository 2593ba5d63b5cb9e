// The files in the page: deflated, in base64, each in an element.

const PART = 1 << 20; // characters at once, a multiple of 4

/** The bytes of the file in an element. `each(bytes)` is called with the size of each further part. */
export async function unpack(id, size, each = () => {}) {
    const text = document.getElementById(id).textContent;
    let [read, at] = [0, 0];
    const packed = new ReadableStream({
        pull(controller) {
            if (read >= text.length) return controller.close();
            controller.enqueue(decoded(text.slice(read, (read += PART))));
        },
    });
    const bytes = new Uint8Array(size), reader = packed.pipeThrough(new DecompressionStream("deflate")).getReader();
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
        bytes.set(part.value, at);
        at += part.value.length;
        each(part.value.length);
    }
    return bytes;
}

function decoded(letters) {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(letters);
    const bytes = atob(letters), found = new Uint8Array(bytes.length);
    for (let i = 0; i < bytes.length; i++) found[i] = bytes.charCodeAt(i);
    return found;
}
