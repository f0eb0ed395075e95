# Packer has its builders beside it since 1.10: `packer init plugins` brings them, and the templates find what is
# installed. In a folder of its own, since Packer before 1.7 cannot read this file; those have the builders inside.

packer {
  required_plugins {
    amazon = {
      source  = "github.com/hashicorp/amazon"
      version = "~> 1.3"
    }
    azure = {
      source  = "github.com/hashicorp/azure"
      version = "~> 2.1"
    }
    hyperv = {
      source  = "github.com/hashicorp/hyperv"
      version = "~> 1.1"
    }
    qemu = {
      source  = "github.com/hashicorp/qemu"
      version = "~> 1.1"
    }
    vsphere = {
      source  = "github.com/vmware/vsphere" # which it was given to in 2026
      version = "~> 2.1"
    }
  }
}
