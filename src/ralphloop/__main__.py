"""`python -m ralphloop` and the program `ralph`."""

import sys

from ralphloop.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
