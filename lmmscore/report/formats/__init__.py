"""Output formats of tables. A format is one file in this package that registers a writer."""
