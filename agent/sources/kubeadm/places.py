"""Where a node that kubeadm made has its files."""

from pathlib import PureWindowsPath

KUBERNETES = PureWindowsPath(r"C:\etc\kubernetes")
KUBELET_CONF = KUBERNETES / "kubelet.conf"
BOOTSTRAP_KUBELET_CONF = KUBERNETES / "bootstrap-kubelet.conf"
LIBRARY = PureWindowsPath(r"C:\var\lib\kubelet")
CERTIFICATES = LIBRARY / "pki"
CONFIGURATION = LIBRARY / "config.yaml"
INSTANCE_CONFIGURATION = LIBRARY / "instance-config.yaml"
