# cloudbase-init by its own installer, and the files that make it hand user data to wmcb.
$ErrorActionPreference = 'Stop'
$ProgressPreference = 'SilentlyContinue' # drawing it takes longer than what it shows
if (-not $env:URL -or -not $env:SHA256) { exit 0 }
$installer = 'C:\given\cloudbase-init.msi'
Invoke-WebRequest -UseBasicParsing -Uri $env:URL -OutFile $installer
$found = (Get-FileHash -Algorithm SHA256 $installer).Hash
if ($found -ne $env:SHA256) { throw "$env:URL has the sha256 $found, not $env:SHA256" }
$done = Start-Process msiexec.exe -ArgumentList '/i', $installer, '/qn', '/norestart' -Wait -PassThru
if ($done.ExitCode -ne 0 -and $done.ExitCode -ne 3010) { throw "the installer ended with $($done.ExitCode)" }
$place = 'C:\Program Files\Cloudbase Solutions\Cloudbase-Init'
Copy-Item C:\given\cloudbase-init\cloudbase-init.conf "$place\conf\cloudbase-init.conf" -Force
Copy-Item C:\given\cloudbase-init\join.cmd "$place\LocalScripts\join.cmd" -Force
Copy-Item C:\given\cloudbase-init\cloudbase-init-unattend.conf "$place\conf\cloudbase-init-unattend.conf" -Force
# Its service would start with this machine, and take it for one that has been made of the image. So it is started for the
# first time at the end of each copy's setup, as its own installer does when it is asked to run sysprep.
& "$place\bin\SetSetupComplete.cmd"
$starts = (Get-Service cloudbase-init).StartType
if ($starts -ne 'Manual') { throw "cloudbase-init's service is to start by hand until sysprep, and is $starts" }
