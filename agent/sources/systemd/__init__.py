"""Unit files read as systemd reads them, as far as a service's command and environment go.

`service.gather` finds a unit and its drop-ins, `service.read_service` merges them, `environment` reads
environment files and expands variables. What systemd would warn about or refuse is in the report.
"""
