# Leaves nothing of the machine that the image was made on: a password that nobody knows, no way in that was only for
# Packer, no answer file, and sysprep. The machine runs on, for Packer to end it.
$ErrorActionPreference = 'Stop'
Remove-Item -Recurse -Force C:\given
foreach ($file in 'C:\Windows\Panther\unattend.xml', 'C:\Windows\System32\Sysprep\unattend.xml') {
    Remove-Item -Force -ErrorAction SilentlyContinue $file
}
# Who is logged on stays so; the next start of Windows knows no WinRM, and no Administrator.
Set-Service WinRM -StartupType Disabled
$random = New-Object byte[] 24
[Security.Cryptography.RandomNumberGenerator]::Create().GetBytes($random) # Get-Random's can be guessed
$password = [Convert]::ToBase64String($random) + 'aA1!'
Get-LocalUser | Where-Object { $_.SID -like 'S-1-5-21-*-500' } | ForEach-Object {
    $_ | Set-LocalUser -Password (ConvertTo-SecureString $password -AsPlainText -Force)
    $_ | Disable-LocalUser
}
$answers = 'C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf\Unattend.xml'
$options = @('/generalize', '/oobe', '/quit', '/quiet')
if (Test-Path $answers) { $options += "/unattend:$answers" }
Start-Process "$env:WINDIR\System32\Sysprep\sysprep.exe" -ArgumentList ($options -replace '^(/unattend:)(.*)$', '$1"$2"') -Wait
$state = (Get-ItemProperty HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State).ImageState
if ($state -ne 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE') { throw "sysprep ended in the state $state" }
