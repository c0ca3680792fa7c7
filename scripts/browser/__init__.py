"""Control of a headless browser, for the checks of the web page and of EventSource."""
