"""Functions of Windows that pywin32 does not have, a module for each area, and a few around those it has."""
