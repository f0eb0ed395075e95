# Windows with its updates; cloudbase-init; what wmcb prepares; and nothing of the machine that it was made on.

locals {
  cloudbase_init = "C:\\Program Files\\Cloudbase Solutions\\Cloudbase-Init"
  of_kubernetes  = var.kubernetes_version == "" ? "" : "--kubernetes-version ${var.kubernetes_version}"
  prepare        = "C:\\given\\wmcb.exe prepare ${local.of_kubernetes} --node-config C:\\given\\node.yaml --for-image ${var.prepare_options}"
}

build {
  sources = [
    "source.hyperv-iso.windows",
    "source.qemu.windows",
    "source.vsphere-iso.windows",
    "source.amazon-ebs.windows",
    "source.azure-arm.windows",
  ]

  provisioner "powershell" {
    inline = ["New-Item -ItemType Directory -Force C:\\given | Out-Null"]
  }

  # Windows' update agent refuses whoever is logged on over the network: it is asked by the system, again and again,
  # since some updates come only after others.
  provisioner "powershell" {
    elevated_user     = "SYSTEM"
    elevated_password = ""
    environment_vars  = ["UPDATES=${var.updates}"]
    script            = "scripts/update-windows.ps1"
  }
  provisioner "windows-restart" {
    restart_timeout = "2h"
  }
  provisioner "powershell" {
    elevated_user     = "SYSTEM"
    elevated_password = ""
    environment_vars  = ["UPDATES=${var.updates}"]
    script            = "scripts/update-windows.ps1"
  }
  provisioner "windows-restart" {
    restart_timeout = "2h"
  }

  provisioner "file" {
    source      = "../cloudbase-init/local-scripts/"
    destination = "C:\\given\\cloudbase-init\\"
  }
  provisioner "powershell" {
    environment_vars = ["URL=${var.cloudbase_init_url}", "SHA256=${var.cloudbase_init_sha256}"]
    script           = "scripts/install-cloudbase-init.ps1"
  }

  provisioner "file" {
    source      = var.wmcb
    destination = "C:\\given\\wmcb.exe"
  }
  provisioner "file" {
    source      = var.node_configuration
    destination = "C:\\given\\node.yaml"
  }
  provisioner "powershell" {
    environment_vars = ["FILE=C:\\given\\wmcb.exe", "SHA256=${var.wmcb_sha256}"]
    script           = "scripts/check-sha256.ps1"
  }

  # 1003: Windows is to be restarted, and the same run again. It changes nothing where all has been made.
  provisioner "windows-shell" {
    inline           = [local.prepare]
    valid_exit_codes = [0, 1003]
  }
  provisioner "windows-restart" {
    restart_timeout = "1h"
  }
  provisioner "windows-shell" {
    # One script, of which the last line's exit code would count alone.
    inline = [
      "${local.prepare} || exit /b 1",
      # Where cloudbase-init's join.cmd looks for it.
      "copy /y C:\\given\\wmcb.exe C:\\k\\wmcb.exe || exit /b 1",
      "C:\\k\\wmcb.exe preflight --image",
    ]
  }

  provisioner "powershell" {
    script = "scripts/seal.ps1"
  }
}
