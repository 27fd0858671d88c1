"""The suite that asv runs on every revision it is told to; problems are those of this checkout."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from graft import graft

graft()
