# Windows Server 2022, Datacenter without a desktop. Amazon and Microsoft have images of their own of it.

name          = "windows-2022-node"
windows       = "2022"
aws_source    = "Windows_Server-2022-English-Core-Base-*"
azure_sku     = "2022-datacenter-core-g2"
vsphere_guest = "windows2019srvNext_64Guest"
