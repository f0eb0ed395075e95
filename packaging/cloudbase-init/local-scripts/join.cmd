@echo off
rem Run by cloudbase-init, once for each instance, and at each boot until it ends with 0 or 1001.
setlocal

set "USER_DATA=C:\ProgramData\cloudbase-init\user-data"
rem The address of the cloud's metadata as JSON, where templates name more than the host name. For OpenStack:
rem set "META_DATA=http://169.254.169.254/openstack/latest/meta_data.json"
set "META_DATA="

if not exist "%USER_DATA%" exit /b 0

set "OPTIONS="
if defined META_DATA (
    curl.exe --silent --fail --retry 5 --output "%USER_DATA%.metadata.json" "%META_DATA%" || exit /b 1002
    set "OPTIONS=--metadata "%USER_DATA%.metadata.json""
)

C:\k\wmcb.exe --user-data "%USER_DATA%" %OPTIONS% --kubelet C:\k\kubelet.exe
set "ENDED=%ERRORLEVEL%"

rem Carried out: a bootstrap token is in it.
if %ENDED% equ 0 del /q "%USER_DATA%*"
if %ENDED% equ 1001 del /q "%USER_DATA%*"

if %ENDED% equ 0 exit /b 0
if %ENDED% geq 1001 if %ENDED% leq 1003 exit /b %ENDED%
rem For cloudbase-init any other number is a success.
exit /b 1002
