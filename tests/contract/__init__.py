"""One suite that holds every host to the port's text: the sandbox on any system, Windows on Windows."""
