"""A real Kubernetes control plane, and real Windows nodes in it, inside the lab's namespaces.

`control_plane` brings it up as kubeadm would; `cluster` is what a test works with; `kubelet_node` is a
Windows machine with the real kubelet on it.
"""
