"""The parts of scripts/check-page: a simulated person who uses the page, the tests that the person performs (flows), and
the accessibility checker axe-core. A flow is a function with two parameters: `trial`, a daemon with an API (class Trial in
scripts/check-page), and `person`, a browser (class Person in person.py). `trial.start_protected()` starts a daemon with four
tokens: "reader" may only read; "writer" may also write; "keeper" may also write, and override the lock of app/fixed; "owner"
may also write, change schemas and override all locks."""
