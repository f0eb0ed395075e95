variable "aws_region" {
  type    = string
  default = "eu-central-1"
}

variable "aws_source" {
  type        = string
  default     = "Windows_Server-2022-English-Core-Base-*"
  description = "The name of Amazon's own image."
}

locals {
  # There is nothing beside the script from which it could take the key.
  key = var.communicator == "ssh" ? "$key = '${replace(trimspace(file("${var.ssh_key_file}.pub")), "'", "''")}'\n" : ""
}

source "amazon-ebs" "windows" {
  ami_name      = var.name
  region        = var.aws_region
  instance_type = "m5.xlarge"
  source_ami_filter {
    filters = {
      name                = var.aws_source
      root-device-type    = "ebs"
      virtualization-type = "hvm"
    }
    owners      = ["amazon"]
    most_recent = true
  }
  user_data = "<powershell>\n${local.key}${file("scripts/allow-${var.communicator}.ps1")}</powershell>\n"

  communicator             = var.communicator
  winrm_username           = "Administrator"
  winrm_use_ntlm           = true
  winrm_use_ssl            = true
  winrm_insecure           = true
  winrm_port               = 5985
  winrm_timeout            = "30m"
  ssh_username             = "Administrator"
  ssh_private_key_file     = var.ssh_key_file
  ssh_file_transfer_method = "sftp"
  ssh_timeout              = "30m"
}
