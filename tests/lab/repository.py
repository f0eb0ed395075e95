"""Where things are in this checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LOCKS = ROOT / "packaging" / "locks"
STANDINS = Path(__file__).resolve().parent / "standins"
