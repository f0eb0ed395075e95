"""The port to Windows: by pywin32, psutil and winreg, and by ctypes where these do not have the call."""
