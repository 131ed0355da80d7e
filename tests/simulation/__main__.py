"""`python -m tests.simulation`: see `run.py`."""

import sys

from tests.simulation.run import main

sys.exit(main())
