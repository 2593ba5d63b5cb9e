"""What every floor uses, and nothing of translation: errors, options, files, the machine, charts."""
