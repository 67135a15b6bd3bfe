"""`python -m zkkit` is `zkkit`."""

import sys

from zkkit.cli import main

if __name__ == "__main__":
    sys.exit(main())
