@echo off
rem Run by cloudbase-init, once for each instance, and at each boot until it ends with 0 or 1001.
setlocal

set "USER_DATA=C:\ProgramData\cloudbase-init\user-data"
rem Where cloudbase-init notes which plugins are done, for each instance.
set "NOTED=HKLM\SOFTWARE\Cloudbase Solutions\Cloudbase-Init"
rem The address of the cloud's metadata as JSON, where templates name more than the host name. For OpenStack:
rem set "META_DATA=http://169.254.169.254/openstack/latest/meta_data.json"
set "META_DATA="

rem This is run also where the user data could not be had, or was not written to its end: then there is no
rem file, or half of one, and only other plugins are noted. (None is where the cloud gives no instance id.)
reg.exe query "%NOTED%" /s 2>nul | find.exe "0x1" >nul && (
    reg.exe query "%NOTED%" /s /v UserDataPlugin | find.exe "0x1" >nul || exit /b 1002
)
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

rem Nothing to be read: after a power cut it may be noted as written, and not have come to the disk. It is had
rem from the cloud again at the next boot.
if %ENDED% equ 2 for /f "delims=" %%K in ('reg.exe query "%NOTED%" /s /v UserDataPlugin ^| find.exe "HKEY_"') do reg.exe delete "%%K" /v UserDataPlugin /f

if %ENDED% equ 0 exit /b 0
if %ENDED% geq 1001 if %ENDED% leq 1003 exit /b %ENDED%
rem For cloudbase-init any other number is a success.
exit /b 1002
