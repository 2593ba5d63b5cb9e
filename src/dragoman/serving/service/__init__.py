"""The translation service of a server: queue, batches, languages, models. Independent of HTTP."""
