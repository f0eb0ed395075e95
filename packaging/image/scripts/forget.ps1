# What only Packer brought or came by goes, before it is looked whether anything is left. Who is connected stays so; the
# next start of Windows knows neither OpenSSH nor remote management.
$ErrorActionPreference = 'Stop'
Remove-Item -Recurse -Force C:\given
$answers = 'Panther\unattend.xml', 'Panther\unattend-original.xml', 'System32\Sysprep\unattend.xml'
foreach ($file in $answers) { Remove-Item -Force -ErrorAction SilentlyContinue "$env:WINDIR\$file" }
# Whom OpenSSH lets in, and its own keys: it makes others when it is started, on each copy.
Remove-Item -Force -ErrorAction SilentlyContinue "$env:ProgramData\ssh\administrators_authorized_keys"
Remove-Item -Force -ErrorAction SilentlyContinue "$env:ProgramData\ssh\ssh_host_*"
Get-Service sshd, WinRM -ErrorAction SilentlyContinue | Set-Service -StartupType Disabled
