# What an image is made of. windows-2022.pkrvars.hcl and windows-2025.pkrvars.hcl say what belongs to one Windows.

variable "name" {
  type        = string
  description = "Of the image."
}

variable "windows" {
  type        = string
  description = "The folder in answers that has the Autounattend.xml of this Windows."
}

variable "iso_url" {
  type        = string
  default     = ""
  description = "Windows' installation medium, for hyperv and qemu; for vsphere it lies in a datastore (vsphere_iso_paths)."
}

variable "iso_checksum" {
  type        = string
  default     = "none"
  description = "sha256:..., of the medium. Give it: without it nobody looks what was downloaded."
}

variable "password" {
  type        = string
  sensitive   = true
  default     = "Only-while-it-is-made-1"
  description = "The Administrator's while the image is made, as Autounattend.xml has it. The image's is random."
}

variable "communicator" {
  type        = string
  default     = "winrm"
  description = "How Packer comes in: winrm, or ssh. On Azure it is winrm."
  validation {
    condition     = contains(["winrm", "ssh"], var.communicator)
    error_message = "The communicator is winrm or ssh."
  }
}

variable "ssh_key_file" {
  type        = string
  default     = ""
  description = "For ssh: the private key, for Packer alone; the public one beside it, in .pub, is let in while the image is made."
}

variable "cpus" {
  type    = number
  default = 4
}

variable "memory_megabytes" {
  type    = number
  default = 8192
}

variable "disk_megabytes" {
  type    = number
  default = 61440
}

variable "updates" {
  type        = bool
  default     = true
  description = "Whether Windows is brought up to date, which takes an hour or more."
}

# What wmcb brings. Each binary is named by its URL and checksum in a NodeConfiguration: give another document for
# binaries of one's own, signed ones for instance.

variable "wmcb" {
  type        = string
  default     = "../../dist/wmcb.exe"
  description = "A local file."
}

variable "wmcb_url" {
  type        = string
  default     = ""
  description = "Where the machine fetches it, in place of a local file."
}

variable "wmcb_sha256" {
  type        = string
  description = "Of the one or the other; looked at on the machine."
}

variable "kubernetes_version" {
  type        = string
  default     = "v1.36.3"
  description = "Whose kubelet.exe is fetched; empty where the NodeConfiguration names one."
}

variable "node_configuration" {
  type        = string
  default     = "../profiles/containerd.yaml"
  description = "What of a node is the same for all: containerd, and whatever else."
}

variable "prepare_options" {
  type        = string
  default     = ""
  description = "More of wmcb prepare, as --mirror FROM=TO."
}

variable "cloudbase_init_url" {
  type        = string
  default     = ""
  description = "Its installer, of its project; empty for none, where nodes are made by Ansible or by hand. Azure gets none."
}

variable "cloudbase_init_sha256" {
  type        = string
  default     = ""
  description = "Of the installer. Without it nothing is installed."
}
