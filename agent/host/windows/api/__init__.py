"""Declarations of the Win32 functions in use, a module for each area.

ctypes and not pywin32: it costs the resident service 1.5 MB instead of 4.5, loads only what is called, and
has the calls that pywin32 lacks (NtCreateFile, NotifyServiceStatusChange, Authz).
"""
