"""Tests that need Windows' own DLLs are collected where these are."""

from __future__ import annotations

import sys

collect_ignore_glob = [] if sys.platform == "win32" else ["test_dll_*.py"]
