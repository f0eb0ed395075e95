variable "qemu_firmware" {
  type        = string
  default     = "/usr/share/ovmf/OVMF.fd"
  description = "UEFI, as Autounattend.xml makes the disk for it (Debian's package ovmf)."
}

source "qemu" "windows" {
  vm_name        = "${var.name}.qcow2"
  accelerator    = "kvm"
  machine_type   = "q35"
  cpus           = var.cpus
  memory         = var.memory_megabytes
  disk_size      = "${var.disk_megabytes}M"
  format         = "qcow2"
  disk_interface = "ide" # Windows' medium has no drivers of virtio
  net_device     = "e1000"
  # The processor that QEMU makes unless told otherwise lacks what Windows Server 2025 does not start without (POPCNT).
  qemuargs     = [["-bios", var.qemu_firmware], ["-cpu", "host"]]
  headless     = true
  iso_url      = var.iso_url
  iso_checksum = var.iso_checksum
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
