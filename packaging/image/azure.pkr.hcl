variable "azure" {
  type = object({
    subscription_id = string
    client_id       = string
    client_secret   = string
    tenant_id       = string
    location        = string
    resource_group  = string
  })
  default = {
    subscription_id = "00000000-0000-0000-0000-000000000000"
    client_id       = "00000000-0000-0000-0000-000000000000"
    client_secret   = "given"
    tenant_id       = "00000000-0000-0000-0000-000000000000"
    location        = "westeurope"
    resource_group  = "images"
  }
}

variable "azure_sku" {
  type        = string
  default     = "2022-datacenter-core-g2"
  description = "Of Microsoft's own image."
}

source "azure-arm" "windows" {
  subscription_id = var.azure.subscription_id
  client_id       = var.azure.client_id
  client_secret   = var.azure.client_secret
  tenant_id       = var.azure.tenant_id

  managed_image_name                = var.name
  managed_image_resource_group_name = var.azure.resource_group
  location                          = var.azure.location
  vm_size                           = "Standard_D4s_v3"
  os_type                           = "Windows"
  image_publisher                   = "MicrosoftWindowsServer"
  image_offer                       = "WindowsServer"
  image_sku                         = var.azure_sku

  # Azure sets Windows' remote management up itself; older builders for it know no other way to Windows.
  communicator   = "winrm"
  winrm_username = "packer"
  winrm_use_ssl  = true
  winrm_insecure = true
  winrm_timeout  = "30m"
}
