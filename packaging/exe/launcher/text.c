/* Paths put together, and the one line that tells of a failure. */
#include "launcher.h"

static void (*before_the_end)(void);

void fail_after(void (*tidying)(void))
{
    before_the_end = tidying;
}

void join(WCHAR path[PATH_CAPACITY], const WCHAR **parts)
{
    for (int end = 0, length; *parts; parts++, end += length) {
        length = lstrlenW(*parts);
        if (end + length >= PATH_CAPACITY) {
            fail(L"a path is too long", NULL, 0);
        }
        memcpy(path + end, *parts, (size_t)(length + 1) * sizeof(WCHAR));
    }
}

static void write_error(const WCHAR *text, DWORD length)
{
    static char utf8[8192];
    HANDLE stream = GetStdHandle(STD_ERROR_HANDLE);
    DWORD mode, written;
    if (GetConsoleMode(stream, &mode)) {
        WriteConsoleW(stream, text, length, &written, NULL);
        return;
    }
    int size = WideCharToMultiByte(CP_UTF8, 0, text, (int)length, utf8, sizeof utf8, NULL, NULL);
    WriteFile(stream, utf8, (DWORD)size, &written, NULL);
}

void fail(const WCHAR *what, const WCHAR *which, DWORD error)
{
    static WCHAR reason[512], line[2048];
    DWORD_PTR words[] = {(DWORD_PTR)what, (DWORD_PTR)which, error, (DWORD_PTR)reason};
    const WCHAR *forms[2][2] = {{L"wmcb: %1%n", L"wmcb: %1: %4(error %3!u!)%n"},
                                {L"wmcb: %1 %2%n", L"wmcb: %1 %2: %4(error %3!u!)%n"}};
    if (error) {
        FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK, NULL,
                       error, 0, reason, 512, NULL);
    }
    DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_STRING | FORMAT_MESSAGE_ARGUMENT_ARRAY,
                                  forms[which != NULL][error != 0], 0, 0, line, 2048, (va_list *)words);
    write_error(line, length);
    if (before_the_end) {
        void (*tidy)(void) = before_the_end;
        before_the_end = NULL; /* or a failure in it would come back here */
        tidy();
    }
    ExitProcess(1);
}

void require(BOOL is_done, const WCHAR *what, const WCHAR *which)
{
    if (!is_done) {
        fail(what, which, GetLastError());
    }
}
