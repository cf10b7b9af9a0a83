"""Tables and pages: terminal, Markdown, CSV, LaTeX, HTML."""
