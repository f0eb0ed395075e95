# All updates that Windows would install by itself, without its updater's module from the gallery: no previews, and not
# the next Windows Server, which it only offers. Restarting is Packer's business.
$ErrorActionPreference = 'Stop'
if ($env:UPDATES -ne 'true') { exit 0 }
$session = New-Object -ComObject Microsoft.Update.Session
$found = $session.CreateUpdateSearcher().Search("IsInstalled=0 and IsHidden=0 and BrowseOnly=0 and Type='Software'").Updates
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
$result = $installer.Install()
for ($number = 0; $number -lt $wanted.Count; $number++) {
    $one = $result.GetUpdateResult($number)
    if ($one.ResultCode -ne 2) { Write-Host ('not installed (0x{0:X8}): {1}' -f $one.HResult, $wanted.Item($number).Title) }
}
# 2: all of them; 3: not all, and the rest comes after the restart.
if ($result.ResultCode -ne 2 -and $result.ResultCode -ne 3) { throw "the updates ended with $($result.ResultCode)" }
