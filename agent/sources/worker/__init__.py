"""A Linux worker's Ignition, compiled into what a Windows node should be.

`compiled` takes what ignition.load made of the documents, what is known of the node, and where its programs
go. Of the Ignition it takes what a Windows node needs; of all the rest a note says why it is left out.
"""

from agent.sources.kubelet.folders import KUBELET_LOG, LogRunner, Placement
from agent.sources.worker.compiling import Compiled, compiled

__all__ = ["KUBELET_LOG", "Compiled", "LogRunner", "Placement", "compiled"]
