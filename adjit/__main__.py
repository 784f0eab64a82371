"""`python -m adjit`: the command line."""

import sys

from adjit.cli import main

sys.exit(main())
