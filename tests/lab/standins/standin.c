#include "standin.h"

#define PLACE L"C:\\standins\\"

static const WCHAR LINE[] = L"%ls%ls.%ls";

HRESULT told_to_fail(const WCHAR *file, const WCHAR *what)
{
    WCHAR path[MAX_PATH], line[256], name[200];
    HRESULT code = S_OK;
    unsigned number;
    FILE *orders;

    swprintf(path, MAX_PATH, LINE, PLACE, file, L"fails");
    if (!(orders = _wfopen(path, L"r")))
        return S_OK;
    while (fgetws(line, 256, orders))
        if (swscanf(line, L"%199ls %x", name, &number) == 2 && !wcscmp(name, what))
            code = (HRESULT)number;
    fclose(orders);
    return code;
}

void write_down(const WCHAR *file, const WCHAR *line)
{
    WCHAR path[MAX_PATH];
    DWORD written;
    char bytes[4096];
    HANDLE log;
    int size;

    CreateDirectoryW(PLACE, NULL);
    swprintf(path, MAX_PATH, LINE, PLACE, file, L"asked");
    log = CreateFileW(path, FILE_APPEND_DATA, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL, OPEN_ALWAYS, 0, NULL);
    size = WideCharToMultiByte(CP_UTF8, 0, line, -1, bytes, sizeof(bytes) - 1, NULL, NULL);
    if (size > 0 && log != INVALID_HANDLE_VALUE) {
        bytes[size - 1] = '\n';
        WriteFile(log, bytes, size, &written, NULL);
    }
    CloseHandle(log);
}
