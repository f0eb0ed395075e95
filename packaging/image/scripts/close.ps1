# The last that Packer asks for, and the end of its way in: the certificate of remote management goes; sysprep; the
# Administrator gets a password that nobody knows, and is disabled; the machine stops. Where sysprep fails it does not,
# Packer gives up waiting, and close.txt beside this script says why.
param([switch]$Alone)
$ErrorActionPreference = 'Stop'
if (-not $Alone) {
    # Sysprep resets remote management, and Packer has to have its answer before that. What a request starts ends with it;
    # what WMI starts does not.
    $line = "powershell.exe -NoProfile -ExecutionPolicy Bypass -File `"$PSCommandPath`" -Alone"
    $started = Invoke-CimMethod -ClassName Win32_Process -MethodName Create -Arguments @{ CommandLine = $line }
    if ($started.ReturnValue) { throw "Windows started nothing: $($started.ReturnValue)" }
    exit 0
}
try {
    Start-Sleep 30
    if ((Get-Service WinRM).Status -eq 'Running') {
        foreach ($listener in Get-ChildItem WSMan:\localhost\Listener) {
            $thumbprint = (Get-ChildItem $listener.PSPath | Where-Object Name -eq CertificateThumbprint).Value
            if (-not $thumbprint) { continue } # Windows' own
            $listener | Remove-Item -Recurse -Force
            Remove-Item -DeleteKey "Cert:\LocalMachine\My\$thumbprint"
        }
    }
    & "$PSScriptRoot\seal.ps1"
    $random = New-Object byte[] 24
    [Security.Cryptography.RandomNumberGenerator]::Create().GetBytes($random) # Get-Random's can be guessed
    $password = [Convert]::ToBase64String($random) + 'aA1!'
    Get-LocalUser | Where-Object { $_.SID -like 'S-1-5-21-*-500' } | ForEach-Object {
        $_ | Set-LocalUser -Password (ConvertTo-SecureString $password -AsPlainText -Force)
        $_ | Disable-LocalUser
    }
    Remove-Item -Force "$PSScriptRoot\seal.ps1", $PSCommandPath
} catch {
    Set-Content "$PSScriptRoot\close.txt" $_
    throw
}
shutdown.exe /s /t 0
