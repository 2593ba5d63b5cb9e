"""The shared parts of HTTP servers: process, guard, files, errors, fields, keys, logs and settings."""
