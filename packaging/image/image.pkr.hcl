# Windows with its updates; cloudbase-init; what wmcb prepares; and nothing of the machine that it was made on.

locals {
  of_kubernetes = var.kubernetes_version == "" ? "" : "--kubernetes-version ${var.kubernetes_version}"
  # On a disc of its own, which Windows' setup looks for. It finds a floppy only where the firmware tells of it.
  answers = slice(
    ["answers/${var.windows}/Autounattend.xml", "scripts/allow-${var.communicator}.ps1", "${var.ssh_key_file}.pub"],
    0, var.communicator == "ssh" ? 3 : 2
  )
  # Windows' medium starts for whoever presses a key, within some seconds that come sooner or later by firmware and host.
  # This one means nothing to what comes before and after.
  any_key = [join("", [for second in range(30) : "<up><wait>"])]
  closing = "C:/Windows/Temp/"
  close   = "powershell.exe -NoProfile -ExecutionPolicy Bypass -File ${local.closing}close.ps1"
  prepare = "C:\\given\\wmcb.exe prepare ${local.of_kubernetes} --node-config C:\\given\\node.yaml --for-image ${var.prepare_options}"
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
    sources     = ["../cloudbase-init/local-scripts/", "../cloudbase-init/cloudbase-init-unattend.conf"]
    destination = "C:/given/cloudbase-init/"
  }
  provisioner "powershell" {
    # Its answer file would take the place of Azure's own, and its files here do not tell Azure that a copy is ready: that
    # would count as never set up.
    except           = ["azure-arm.windows"]
    environment_vars = ["URL=${var.cloudbase_init_url}", "SHA256=${var.cloudbase_init_sha256}"]
    script           = "scripts/install-cloudbase-init.ps1"
  }

  provisioner "file" {
    # There has to be one, also where another is fetched in its place.
    source      = var.wmcb_url == "" ? var.wmcb : var.node_configuration
    destination = "C:/given/wmcb.exe"
  }
  provisioner "file" {
    source      = var.node_configuration
    destination = "C:/given/node.yaml"
  }
  provisioner "powershell" {
    environment_vars = ["URL=${var.wmcb_url}", "SHA256=${var.wmcb_sha256}"]
    script           = "scripts/bring-wmcb.ps1"
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
      "copy /y C:\\given\\wmcb.exe C:\\k\\wmcb.exe",
    ]
  }

  provisioner "powershell" {
    script = "scripts/forget.ps1"
  }
  provisioner "windows-shell" {
    inline = ["C:\\k\\wmcb.exe preflight --image"]
  }

  # The last steps, after which Windows lets nobody in any more. The clouds stop a machine themselves, and their own
  # programs give the Administrator of each copy a password; elsewhere Packer's last command does both.
  provisioner "file" {
    except      = ["amazon-ebs.windows", "azure-arm.windows"]
    sources     = ["scripts/seal.ps1", "scripts/close.ps1"]
    destination = local.closing
  }
  provisioner "powershell" {
    only   = ["amazon-ebs.windows", "azure-arm.windows"]
    script = "scripts/seal.ps1"
  }
}
