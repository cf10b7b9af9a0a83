"""`python -m lmmscore`."""

from lmmscore.cli import main

main()
