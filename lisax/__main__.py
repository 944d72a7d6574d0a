"""`python -m lisax` is `lisax`."""

import sys

from lisax.cli import main

sys.exit(main())
