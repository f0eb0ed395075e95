"""A Linux worker's kubelet, turned into the same kubelet on Windows.

`translation.on_windows` takes the service as systemd would run it, the files that the same document writes
and what is known of the node; it gives arguments, environment and configuration, each decision with a reason.
"""
