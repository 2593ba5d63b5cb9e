"""The native engine for a page in a browser: engine.wasm, and engine.js around it."""
