# Windows Server 2025, Datacenter without a desktop. Amazon and Microsoft have images of their own of it.

name          = "windows-2025-node"
windows       = "2025"
aws_source    = "Windows_Server-2025-English-Core-Base-*"
azure_sku     = "2025-datacenter-core-g2"
vsphere_guest = "windows2022srvNext_64Guest"
