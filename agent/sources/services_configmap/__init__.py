"""OpenShift's services ConfigMap (`windows-services-<version>`), compiled into what a Windows node should be.

`reading.read` takes its data and judges it as the operator's daemon does. Of `compiling`, `stages` says in
which steps its services come up, `scripts` what PowerShell has to be asked before a step, `compile_services`
what the node is then.
"""
