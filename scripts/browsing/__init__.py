"""The parts of scripts/check-page: a simulated person who uses the page, the tests that the person performs (flows), and
the accessibility checker axe-core."""
