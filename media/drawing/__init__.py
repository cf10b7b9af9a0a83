"""How the demo benchmark is drawn: a brush, twelve scenes, six kinds of fault."""
