"""The parts of scripts/check-page: a person at the page, the flows of that person, and axe-core."""
