"""The lab: a Windows node and a Kubernetes cluster on a Linux machine, for proof.

Wine stands for Windows, in a Debian root of its own; a set of Linux namespaces stands for the machine and its
network. `python -m lab --help` lists what it can do. It uses the standard library only, so that it runs
before anything is installed.
"""
