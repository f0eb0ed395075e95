# Sysprep, on Amazon's machines by its own program, which also gives each copy's Administrator a password. The machine
# runs on, for whoever called this to end it.
$ErrorActionPreference = 'Stop'
$amazon = "$env:ProgramFiles\Amazon\EC2Launch\EC2Launch.exe"
$answers = 'C:\Program Files\Cloudbase Solutions\Cloudbase-Init\conf\Unattend.xml'
# Azure's agents take part in sysprep, and have to run by then.
foreach ($agent in Get-Service RdAgent, WindowsAzureGuestAgent -ErrorAction SilentlyContinue) {
    $agent.WaitForStatus('Running', [TimeSpan]::FromMinutes(10))
}
if (Test-Path $amazon) {
    foreach ($step in 'reset', 'sysprep') {
        & $amazon $step --block
        if ($LASTEXITCODE) { throw "EC2Launch $step ended with $LASTEXITCODE" }
    }
} else {
    $options = @('/generalize', '/oobe', '/quit', '/quiet')
    if (Test-Path $answers) { $options += "/unattend:`"$answers`"" }
    Start-Process "$env:WINDIR\System32\Sysprep\sysprep.exe" -ArgumentList $options -Wait
}
$state = (Get-ItemProperty HKLM:\SOFTWARE\Microsoft\Windows\CurrentVersion\Setup\State).ImageState
if ($state -ne 'IMAGE_STATE_GENERALIZE_RESEAL_TO_OOBE') { throw "sysprep ended in the state $state" }
