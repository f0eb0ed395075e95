"""The resident part: the Windows service and what it watches over."""
