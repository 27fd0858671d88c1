"""`python -m segmax.oracle` is `segmax verify`."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main(program="python -m segmax.oracle"))
