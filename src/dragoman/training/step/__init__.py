"""One update: loss, optimizer, learning rate, precision, and what helps when memory or numbers run out."""
