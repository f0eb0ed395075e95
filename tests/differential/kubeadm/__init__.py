"""Our reading of kubeadm's configuration held against kubeadm's own packages."""
