/*
 * A library that nobody should load. Put where an attacker could, under a name that programs look for, it leaves
 * `NAME.loaded` beside itself, with the command line of the program that fell for it.
 */
#include <windows.h>
#include <wchar.h>

BOOL WINAPI DllMain(HINSTANCE self, DWORD reason, void *reserved)
{
    WCHAR mark[MAX_PATH + 8];
    const char *command = GetCommandLineA();
    DWORD written;
    HANDLE file;

    (void)reserved;
    if (reason != DLL_PROCESS_ATTACH)
        return TRUE;
    GetModuleFileNameW(self, mark, MAX_PATH);
    wcscat(mark, L".loaded");
    file = CreateFileW(mark, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_ALWAYS, 0, NULL);
    if (file != INVALID_HANDLE_VALUE) {
        WriteFile(file, command, lstrlenA(command), &written, NULL);
        WriteFile(file, "\n", 1, &written, NULL);
        CloseHandle(file);
    }
    return TRUE;
}
