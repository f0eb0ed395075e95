"""Fetching over http and https: bounded in time and memory, patient with what passes, clear about the rest.

Built on `requests` (`session.py`). Ours is what it does not have: a deadline over retries and redirects, a
name look-up that ends, limits of size, going on where a body broke off, Go's rules for proxies, no way from
https to http, and failures in words that say what to do.
"""

import platform
import sys

import certifi

# While it is imported, requests asks for the path of a list of authorities, which the exe does not carry. No
# connection of ours uses one.
certifi.where = str
if sys.platform == "win32":
    # truststore asks while it is imported. platform asks WMI for that: 0.4 s under Wine.
    platform.system = lambda: "Windows"
