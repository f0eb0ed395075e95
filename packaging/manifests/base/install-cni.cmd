@echo off
rem Brings the image's CNI plug-ins to where containerd looks for them; the configuration last, which makes the Node Ready.
setlocal
set programs=C:\opt\cni\bin
set configurations=C:\etc\cni\net.d
for %%f in (%programs% %configurations%) do if not exist %%f mkdir %%f || exit /b 1
copy /y %CONTAINER_SANDBOX_MOUNT_POINT%\cni\*.exe %programs% || exit /b 1
copy /y C:\etc\kube-flannel-windows\10-flannel.conf %configurations%\10-flannel.conf || exit /b 1
