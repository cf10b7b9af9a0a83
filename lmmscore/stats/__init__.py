"""Statistics as pure functions of arrays: no files, no clocks, and randomness is passed in."""
