"""What a server does with texts: queue, batches, languages, models. It knows no HTTP."""
