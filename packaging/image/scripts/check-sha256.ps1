# Whether $env:FILE is the one that was meant: an upload that broke off would be found out only on a node.
$ErrorActionPreference = 'Stop'
$found = (Get-FileHash -Algorithm SHA256 $env:FILE).Hash
if ($found -ne $env:SHA256) { throw "$env:FILE has the sha256 $found, not $env:SHA256" }
