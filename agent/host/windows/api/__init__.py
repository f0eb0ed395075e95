"""Calls of Windows that several parts of the host make: by pywin32, and by ctypes what that does not have."""
