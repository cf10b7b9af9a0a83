"""One file per layout. A layout's name is the name of its file."""
