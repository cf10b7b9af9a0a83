"""Pages for people: one on which human raters rate edits, one on which to watch a run."""
