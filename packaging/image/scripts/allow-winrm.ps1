# Windows' remote management over TLS, by a certificate of the machine's own, for the time in which the image is made.
# forget.ps1 and close.ps1 end that. On the port of the other listener, for which Windows Server's firewall has a rule: one
# of our own would have to go while Packer still comes through it. Packer's user is known by NTLM: Windows takes no other
# kind of password here unless it is told to.
$ErrorActionPreference = 'Stop'
# Windows cannot be told of a network that it is still finding out about, and has none right after its setup.
foreach ($left in 300..0) {
    try {
        $networks = Get-NetConnectionProfile
        if (-not $networks) { throw 'Windows has found no network' }
        $networks | Set-NetConnectionProfile -NetworkCategory Private -ErrorAction Stop
        break
    } catch { if (-not $left) { throw }; Start-Sleep 1 }
}
Enable-PSRemoting -Force -SkipNetworkProfileCheck
$certificate = New-SelfSignedCertificate -DnsName $env:COMPUTERNAME -CertStoreLocation Cert:\LocalMachine\My
Get-ChildItem WSMan:\localhost\Listener | Remove-Item -Recurse -Force
New-Item WSMan:\localhost\Listener -Transport HTTPS -Address * -Port 5985 -CertificateThumbPrint $certificate.Thumbprint -Force
Set-Service WinRM -StartupType Automatic
Restart-Service WinRM
