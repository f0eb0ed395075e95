"""Whether a node is set up as the CIS Kubernetes Benchmark wants a worker to be, in Windows' terms.

It judges any node, whoever made it, by what is on the machine; what would put things right it names as wants,
and changes nothing.
"""
