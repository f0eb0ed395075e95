# What build.spec puts into the exe: wmcb-log.exe (packaging/exe/log-runner).
PROGRAM: bytes
