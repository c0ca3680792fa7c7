"""What scripts/check-page is made of: a person at the page, the flows that a person goes through, and axe-core."""
