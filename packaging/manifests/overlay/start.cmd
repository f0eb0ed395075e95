@echo off
rem In an overlay kube-proxy needs an address of its own out of those of this node's pods: winkernel.sourceVip.
rem host-local, which gives pods theirs, is asked once for each range that Flannel gives the node; the answer is kept
rem beside its account. No labels: cmd.exe loses them in files with Unix' ends of lines, as those of ConfigMaps are.
setlocal
set CNI_PATH=C:\opt\cni\bin
set flannel=C:\run\flannel\subnet.env
set account=C:\var\lib\cni\kube-proxy
set folder=C:\run\kube-proxy
for %%f in (%account% %folder%) do if not exist %%f mkdir %%f || exit /b 1

rem Until Flannel has a range for this node, and has brought the plug-ins.
cmd /c for /l %%n in (0,0,1) do @if not exist %flannel% (ping -n 3 127.0.0.1 ^>nul) else if exist %CNI_PATH%\host-local.exe (exit) else ping -n 3 127.0.0.1 ^>nul

rem What it writes is the gateway's address, the first of the range, with the range's length: 10.244.7.1/24.
set range=
for /f "tokens=1,2 delims==" %%n in (%flannel%) do if "%%n"=="FLANNEL_SUBNET" set range=%%o
for /f "tokens=1-5 delims=./" %%a in ("%range%") do (
  set /a last=%%d-1
  set first=%%a.%%b.%%c
  set length=%%e
)
set answer=%account%\%first%.%last%-%length%.json
echo {"cniVersion":"1.0.0","name":"flannel.4096","ipam":{"type":"host-local","subnet":"%first%.%last%/%length%"}}>%folder%\request.json
set CNI_CONTAINERID=kube-proxy
set CNI_NETNS=none
set CNI_IFNAME=source-vip
if not exist %answer% (
  rem It may have been given in a start that ended before the answer was kept.
  set CNI_COMMAND=DEL
  %CNI_PATH%\host-local.exe <%folder%\request.json
  set CNI_COMMAND=ADD
  %CNI_PATH%\host-local.exe <%folder%\request.json >%answer%.new || exit /b 1
  move /y %answer%.new %answer% || exit /b 1
)
set address=
for /f "tokens=1,2 delims=:, " %%k in (%answer%) do if %%k=="address" for /f "delims=/" %%i in (%%l) do set address=%%~i
if "%address%"=="" exit /b 1

copy /y C:\etc\kube-proxy-windows\config.conf %folder%\config.conf || exit /b 1
echo   sourceVip: %address%>>%folder%\config.conf
%CONTAINER_SANDBOX_MOUNT_POINT%\kube-proxy\kube-proxy.exe --config=%folder%\config.conf --hostname-override=%NODE_NAME%
