# All updates that Windows finds, without its updater's module from the gallery. Restarting is Packer's business.
$ErrorActionPreference = 'Stop'
if ($env:UPDATES -ne 'true') { exit 0 }
$session = New-Object -ComObject Microsoft.Update.Session
$found = $session.CreateUpdateSearcher().Search("IsInstalled=0 and IsHidden=0 and Type='Software'").Updates
$wanted = New-Object -ComObject Microsoft.Update.UpdateColl
foreach ($update in $found) {
    if ($update.InstallationBehavior.CanRequestUserInput) { continue }
    if (-not $update.EulaAccepted) { $update.AcceptEula() }
    Write-Host $update.Title
    [void]$wanted.Add($update)
}
if ($wanted.Count -eq 0) { exit 0 }
$downloader = $session.CreateUpdateDownloader()
$downloader.Updates = $wanted
[void]$downloader.Download()
$installer = $session.CreateUpdateInstaller()
$installer.Updates = $wanted
$result = $installer.Install().ResultCode
# 2: all of them; 3: not all, and the rest comes after the restart.
if ($result -ne 2 -and $result -ne 3) { throw "the updates ended with $result" }
