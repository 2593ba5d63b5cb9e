"""The routes that only the pages at / and /how use."""
