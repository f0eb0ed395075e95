/*
 * containerd-shim-runhcs-v1.exe PROGRAM: runs it, and again whenever it has ended, as a shim of containerd's does with
 * a HostProcess container, and the kubelet with a container that ends: here in one, and without waiting.
 */
#include <windows.h>

int wmain(int count, WCHAR **words)
{
    while (count == 2) {
        STARTUPINFOW how = {.cb = sizeof(how)};
        PROCESS_INFORMATION made;

        if (!CreateProcessW(words[1], NULL, NULL, NULL, FALSE, 0, NULL, NULL, &how, &made))
            return (int)GetLastError();
        CloseHandle(made.hThread);
        WaitForSingleObject(made.hProcess, INFINITE);
        CloseHandle(made.hProcess);
    }
    return 87;
}
