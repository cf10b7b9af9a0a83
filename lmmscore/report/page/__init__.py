"""The report: one page with everything behind the numbers."""
