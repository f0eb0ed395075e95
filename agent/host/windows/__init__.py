"""The port to Windows: Win32 through ctypes, the registry through winreg, COM through pywin32."""
