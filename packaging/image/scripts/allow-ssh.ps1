# OpenSSH's server, for whoever has the private key to $key, or to the public one that lies beside this script, for the
# time in which the image is made. forget.ps1 ends that.
$ErrorActionPreference = 'Stop'
if (-not $key) { $key = Get-Content $PSScriptRoot\*.pub }
# Windows Server 2025 has it from the beginning, switched off; 2022 fetches it as it does its updates, for which a machine
# that has just been set up may have no network yet.
foreach ($wait in 30, 60, 120, 240, 0) {
    if (Get-Service sshd -ErrorAction SilentlyContinue) { break }
    try { Add-WindowsCapability -Online -Name OpenSSH.Server~~~~0.0.1.0 | Out-Null }
    catch { if (-not $wait) { throw }; Start-Sleep $wait }
}
# Windows cannot be told of a network that it is still finding out about, and has none right after its setup.
foreach ($left in 300..0) {
    try {
        $networks = Get-NetConnectionProfile
        if (-not $networks) { throw 'Windows has found no network' }
        $networks | Set-NetConnectionProfile -NetworkCategory Private -ErrorAction Stop # for which the firewall has its rule
        break
    } catch { if (-not $left) { throw }; Start-Sleep 1 }
}
# Its first start makes its folder, which only administrators can change, and the keys by which the machine is known.
Set-Service sshd -StartupType Automatic
Start-Service sshd
$keys = "$env:ProgramData\ssh\administrators_authorized_keys"
Set-Content -Encoding ascii $keys $key
# sshd heeds it only where nobody else may write. By SID: groups have other names in other languages.
icacls $keys /inheritance:r /grant '*S-1-5-32-544:F' '*S-1-5-18:F' | Out-Null
if ($LASTEXITCODE) { throw "icacls ended with $LASTEXITCODE" }
