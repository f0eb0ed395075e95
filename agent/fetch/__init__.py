"""Fetching over http and https: bounded in time and memory, patient with what passes, clear about the rest.

Built on `requests` (`session.py`). Ours is what it does not have: a deadline over retries and redirects, a
name look-up that ends, limits of size, going on where a body broke off, Go's rules for proxies, no way from
https to http, and failures in words that say what to do.
"""

import sys
from types import ModuleType

import certifi

# While it is imported, requests loads what guesses the encoding of a text: 3 MB of the resident service, for
# nothing. It asks for the version alone.
_guesses_nothing = ModuleType("charset_normalizer", "Stands in for what guesses encodings.")
_guesses_nothing.__dict__["__version__"] = "3.0.0"
sys.modules.setdefault("charset_normalizer", _guesses_nothing)
# While it is imported, requests asks for the path of a list of authorities, which the exe does not carry. No
# connection of ours uses one.
certifi.where = str
