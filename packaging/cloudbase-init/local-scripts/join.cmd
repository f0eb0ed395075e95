@echo off
rem Run by cloudbase-init, once for each instance, and at each boot until it ends with 0 or 1001.
setlocal

set "USER_DATA=C:\ProgramData\cloudbase-init\user-data"
rem Where cloudbase-init notes which plugins are done, for each instance.
set "NOTED=HKLM\SOFTWARE\Cloudbase Solutions\Cloudbase-Init"
set "META_DATA="
rem The address of the cloud's metadata as JSON, where templates name more than the host name. For OpenStack:
rem set "META_DATA=http://169.254.169.254/openstack/latest/meta_data.json"
rem For EC2, whose cloud provider knows a Node by the machine's whole name alone:
rem set "META_DATA=ec2"

rem This is run also where the user data could not be had, or was not written to its end: then there is no
rem file, or half of one, and only other plugins are noted. (None is where the cloud gives no instance id.)
reg.exe query "%NOTED%" /s 2>nul | find.exe "0x1" >nul && (
    reg.exe query "%NOTED%" /s /v UserDataPlugin | find.exe "0x1" >nul || exit /b 1002
)
if not exist "%USER_DATA%" exit /b 0

set "OPTIONS="
set "VALUES=%USER_DATA%.metadata.json"
del /q "%VALUES%" 2>nul
if defined META_DATA set "OPTIONS=--metadata "%VALUES%""
rem EC2 has no JSON, and its plain text is for whoever has fetched a token. Of several names the first is the machine's.
set "EC2=http://169.254.169.254/latest"
if "%META_DATA%"=="ec2" for /f %%T in ('curl.exe --silent --fail --retry 5 --request PUT --header "X-aws-ec2-metadata-token-ttl-seconds: 60" "%EC2%/api/token"') do for /f %%N in ('curl.exe --silent --fail --retry 5 --header "X-aws-ec2-metadata-token: %%T" "%EC2%/meta-data/local-hostname"') do echo {"local-hostname":"%%N"}>"%VALUES%"
if "%META_DATA%"=="ec2" set "META_DATA="
if defined META_DATA (
    curl.exe --silent --fail --retry 5 --output "%VALUES%" "%META_DATA%" || exit /b 1002
)
if defined OPTIONS if not exist "%VALUES%" exit /b 1002

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
