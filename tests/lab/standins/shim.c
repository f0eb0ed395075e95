/*
 * containerd-shim-runhcs-v1.exe PROGRAM [ARGUMENT...]: runs it, and again whenever it has ended, as a shim of containerd's
 * does with a HostProcess container, and the kubelet with a container that ends: here in one, and almost without waiting.
 */
#include <windows.h>

#define PAUSE_MILLISECONDS 100

static WCHAR *after_first(WCHAR *line)
{
    BOOL quoted = FALSE;

    for (; *line && (quoted || *line > L' '); line++)
        if (*line == L'"')
            quoted = !quoted;
    while (*line && *line <= L' ')
        line++;
    return line;
}

int wmain(int count, WCHAR **words)
{
    (void)words;
    while (count > 1) {
        STARTUPINFOW how = {.cb = sizeof(how)};
        PROCESS_INFORMATION made;
        WCHAR line[4096]; /* CreateProcessW may write into it */

        lstrcpynW(line, after_first(GetCommandLineW()), 4096);
        if (!CreateProcessW(NULL, line, NULL, NULL, FALSE, 0, NULL, NULL, &how, &made))
            return (int)GetLastError();
        CloseHandle(made.hThread);
        WaitForSingleObject(made.hProcess, INFINITE);
        CloseHandle(made.hProcess);
        Sleep(PAUSE_MILLISECONDS);
    }
    return 87;
}
