/* Texts put together. */
#include "log_runner.h"

void append(WCHAR path[PATH_CAPACITY], const WCHAR *part)
{
    int end = lstrlenW(path), length = lstrlenW(part);
    if (end + length >= PATH_CAPACITY) {
        fail(L"a path is too long", NULL);
    }
    memcpy(path + end, part, (size_t)(length + 1) * sizeof(WCHAR));
}

/* Only for what is wrong with the command line, before there is a log. */
void fail(const WCHAR *what, const WCHAR *which)
{
    static WCHAR line[2048];
    static char utf8[3 * 2048];
    DWORD_PTR words[] = {(DWORD_PTR)what, (DWORD_PTR)which};
    DWORD written;
    DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_STRING | FORMAT_MESSAGE_ARGUMENT_ARRAY,
                                  which ? L"wmcb-log: %1 %2!.512s!%n" : L"wmcb-log: %1%n", 0, 0, line, 2048,
                                  (va_list *)words);
    int size = WideCharToMultiByte(CP_UTF8, 0, line, (int)length, utf8, sizeof utf8, NULL, NULL);
    WriteFile(GetStdHandle(STD_ERROR_HANDLE), utf8, (DWORD)size, &written, NULL);
    ExitProcess(WRONG_USAGE);
}

/* A line as the kubelet writes them itself, so that whoever reads its log by program can read ours as well.
 * %1 and %2 in `form` are `first` and `second`. */
DWORD klog_line(char line[1024], char severity, const WCHAR *form, DWORD_PTR first, DWORD_PTR second)
{
    static WCHAR message[512], whole[1024];
    DWORD_PTR inserts[] = {first, second};
    SYSTEMTIME at;
    FormatMessageW(FORMAT_MESSAGE_FROM_STRING | FORMAT_MESSAGE_ARGUMENT_ARRAY, form, 0, 0, message, 512,
                   (va_list *)inserts);
    GetLocalTime(&at);
    DWORD_PTR words[] = {(DWORD_PTR)severity,   at.wMonth,        at.wDay, at.wHour, at.wMinute, at.wSecond,
                         at.wMilliseconds, GetCurrentProcessId(), (DWORD_PTR)message};
    DWORD length =
        FormatMessageW(FORMAT_MESSAGE_FROM_STRING | FORMAT_MESSAGE_ARGUMENT_ARRAY,
                       L"%1!c!%2!02u!%3!02u! %4!02u!:%5!02u!:%6!02u!.%7!03u!000 %8!7u! wmcb-log:0] %9", 0, 0, whole, 1024,
                       (va_list *)words);
    int size = WideCharToMultiByte(CP_UTF8, 0, whole, (int)length, line, 1023, NULL, NULL);
    line[size] = '\n';
    return (DWORD)size + 1;
}
