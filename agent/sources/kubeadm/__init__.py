"""A kubeadm JoinConfiguration, compiled into what a Windows node should be.

`reading` takes a file's bytes or a command line's options, and judges as kubeadm does.
`cluster` and `patches` take what the cluster and the machine have beside it; `compiling` puts all together.
Nothing is named here: a join asks its cluster while it imports what it compiles the answer with.
"""
