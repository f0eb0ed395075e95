# The last that Packer asks for, and the end of its way in: the Administrator gets a password that nobody knows, and is
# disabled; the certificate of remote management goes; the machine stops. Packer's next request would be refused.
$ErrorActionPreference = 'Stop'
Remove-Item -Force $PSCommandPath
$random = New-Object byte[] 24
[Security.Cryptography.RandomNumberGenerator]::Create().GetBytes($random) # Get-Random's can be guessed
$password = [Convert]::ToBase64String($random) + 'aA1!'
Get-LocalUser | Where-Object { $_.SID -like 'S-1-5-21-*-500' } | ForEach-Object {
    $_ | Set-LocalUser -Password (ConvertTo-SecureString $password -AsPlainText -Force)
    $_ | Disable-LocalUser
}
if ((Get-Service WinRM).Status -eq 'Running') {
    foreach ($listener in Get-ChildItem WSMan:\localhost\Listener) {
        $thumbprint = (Get-ChildItem $listener.PSPath | Where-Object Name -eq CertificateThumbprint).Value
        if (-not $thumbprint) { continue } # Windows' own
        $listener | Remove-Item -Recurse -Force
        Remove-Item -DeleteKey "Cert:\LocalMachine\My\$thumbprint"
    }
}
shutdown.exe /s /t 5
