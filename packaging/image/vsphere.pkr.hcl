variable "vsphere" {
  type = object({
    server     = string
    username   = string
    password   = string
    datacenter = string
    cluster    = string
    datastore  = string
    network    = string
    folder     = string
  })
  default = {
    server     = "vcenter.example.com"
    username   = "packer"
    password   = "given"
    datacenter = "datacenter"
    cluster    = "cluster"
    datastore  = "datastore"
    network    = "VM Network"
    folder     = "templates"
  }
}

variable "vsphere_iso_paths" {
  type        = list(string)
  default     = ["[datastore] iso/windows.iso", "[] /vmimages/tools-isoimages/windows.iso"]
  description = "Windows' medium as it lies in a datastore, and VMware's tools."
}

variable "vsphere_guest" {
  type        = string
  default     = "windows2019srvNext_64Guest"
  description = "What vSphere calls this Windows; its older releases do not know the newer ones."
}

source "vsphere-iso" "windows" {
  vm_name             = var.name
  vcenter_server      = var.vsphere.server
  username            = var.vsphere.username
  password            = var.vsphere.password
  datacenter          = var.vsphere.datacenter
  cluster             = var.vsphere.cluster
  datastore           = var.vsphere.datastore
  folder              = var.vsphere.folder
  guest_os_type       = var.vsphere_guest
  firmware            = "efi"
  convert_to_template = true
  CPUs                = var.cpus
  RAM                 = var.memory_megabytes
  # Of these two the medium of either Windows has drivers.
  disk_controller_type = ["nvme"]
  storage {
    disk_size             = var.disk_megabytes
    disk_thin_provisioned = true
  }
  network_adapters {
    network      = var.vsphere.network
    network_card = "e1000e"
  }
  iso_paths    = var.vsphere_iso_paths
  remove_cdrom = true # or the template asks for discs that are gone
  cd_files     = local.answers
  cd_label     = "ANSWERS"
  boot_wait    = "1s"
  boot_command = local.any_key

  communicator             = var.communicator
  winrm_username           = "Administrator"
  winrm_password           = var.password
  winrm_use_ntlm           = true
  winrm_use_ssl            = true
  winrm_insecure           = true
  winrm_port               = 5985
  winrm_timeout            = "4h"
  ssh_username             = "Administrator"
  ssh_private_key_file     = var.ssh_key_file
  ssh_file_transfer_method = "sftp"
  ssh_timeout              = "4h"
  shutdown_command         = local.close
  shutdown_timeout         = "30m"
}
