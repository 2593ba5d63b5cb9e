"""What every HTTP server here shares: its process, guard, files, errors, fields, keys, logs and settings."""
