"""A real browser, for what only a browser can show."""
