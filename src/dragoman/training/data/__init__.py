"""From text to batches: tokens on disk, duplicates, mixtures, annotations. Only `batches` needs torch."""
