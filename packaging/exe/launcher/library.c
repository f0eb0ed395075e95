/* Libraries loaded by the program itself, each with the only places that it, and what it needs, may come from. */
#include "launcher.h"

HMODULE load_library(const WCHAR *path, DWORD places)
{
    HMODULE library = LoadLibraryExW(path, NULL, places);
    if (!library) {
        fail(L"cannot load", path, GetLastError());
    }
    return library;
}

void *find_function(HMODULE library, const char *name)
{
    static WCHAR wanted[256];
    void *found = (void *)GetProcAddress(library, name);
    if (!found) {
        MultiByteToWideChar(CP_UTF8, 0, name, -1, wanted, 256);
        fail(L"a library lacks the function", wanted, GetLastError());
    }
    return found;
}
