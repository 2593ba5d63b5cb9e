"""One update: loss, optimizer, learning rate, precision, and the handling of full memory and NaN."""
