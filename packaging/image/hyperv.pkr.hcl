variable "hyperv_switch" {
  type    = string
  default = "Default Switch"
}

source "hyperv-iso" "windows" {
  vm_name            = var.name
  generation         = 2
  enable_secure_boot = true
  switch_name        = var.hyperv_switch
  cpus               = var.cpus
  memory             = var.memory_megabytes
  disk_size          = var.disk_megabytes
  iso_url            = var.iso_url
  iso_checksum       = var.iso_checksum
  # A machine of the second generation has no floppy.
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
