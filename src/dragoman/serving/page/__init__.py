"""What the pages at / and /how ask beyond the other routes."""
