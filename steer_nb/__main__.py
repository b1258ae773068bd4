"""``python -m steer_nb`` is ``steer-nb``."""

from __future__ import annotations

import sys

from steer_nb.cli import main

if __name__ == "__main__":
    sys.exit(main())
