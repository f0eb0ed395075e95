variable "aws_region" {
  type    = string
  default = "eu-central-1"
}

variable "aws_source" {
  type        = string
  default     = "Windows_Server-2022-English-Core-Base-*"
  description = "The name of Amazon's own image."
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
  user_data_file = "scripts/allow-winrm-of-ec2.txt"

  communicator   = "winrm"
  winrm_username = "Administrator"
  winrm_use_ssl  = true
  winrm_insecure = true
  winrm_port     = 5985
  winrm_timeout  = "30m"
}
