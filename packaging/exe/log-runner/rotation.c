/* The files that are full or old and were left: kubelet-20060102-150405.log beside kubelet.log, as kube-log-runner
 * names them, so that each of the two removes what the other left. */
#include "log_runner.h"

typedef struct {
    ULONGLONG left; /* by its name, in local time */
    WCHAR path[PATH_CAPACITY];
} LeftFile;

static LeftFile left_file;

ULONGLONG now(void)
{
    FILETIME time;
    GetSystemTimeAsFileTime(&time);
    return (ULONGLONG)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

static ULONGLONG as_number(FILETIME time)
{
    return (ULONGLONG)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

static FILETIME as_time(ULONGLONG number)
{
    return (FILETIME){(DWORD)number, (DWORD)(number >> 32)};
}

/* The kubelet's own lines are in local time too. */
static ULONGLONG local_now(void)
{
    FILETIME universal = as_time(now()), local;
    return FileTimeToLocalFileTime(&universal, &local) ? as_number(local) : now();
}

/* Where the extension of the log's name begins; its end if it has none. */
static int extension(void)
{
    int end = lstrlenW(options.path), at = end;
    while (at > 0 && options.path[at - 1] != L'\\' && options.path[at] != L'.') {
        at--;
    }
    return options.path[at] == L'.' ? at : end;
}

static void begin_name(WCHAR name[PATH_CAPACITY])
{
    int length = extension();
    memcpy(name, options.path, (size_t)length * sizeof(WCHAR));
    name[length] = 0;
}

/* The number in `count` digits, -1 if that is none. */
static int digits(const WCHAR *text, int count)
{
    int number = 0;
    for (int i = 0; i < count; i++) {
        if (text[i] < L'0' || text[i] > L'9') {
            return -1;
        }
        number = 10 * number + text[i] - L'0';
    }
    return number;
}

/* "20060102-150405" with the log's extension behind it; 0 for anything else. */
static ULONGLONG read_stamp(const WCHAR *text)
{
    if (lstrlenW(text) < 15 || text[8] != L'-' || lstrcmpiW(text + 15, options.path + extension()) != 0) {
        return 0;
    }
    int numbers[] = {digits(text, 4),     digits(text + 4, 2),  digits(text + 6, 2),
                     digits(text + 9, 2), digits(text + 11, 2), digits(text + 13, 2)};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (numbers[i] < 0) {
            return 0;
        }
    }
    SYSTEMTIME time = {.wYear = (WORD)numbers[0], .wMonth = (WORD)numbers[1],  .wDay = (WORD)numbers[2],
                       .wHour = (WORD)numbers[3], .wMinute = (WORD)numbers[4], .wSecond = (WORD)numbers[5]};
    FILETIME stamp;
    return SystemTimeToFileTime(&time, &stamp) ? as_number(stamp) : 0;
}

static void each_left_file(void (*visit)(const LeftFile *file))
{
    static WCHAR pattern[PATH_CAPACITY];
    WIN32_FIND_DATAW found;
    begin_name(pattern);
    int folder = lstrlenW(pattern);
    while (folder > 0 && pattern[folder - 1] != L'\\') {
        folder--;
    }
    int stem = lstrlenW(pattern) - folder + 1;
    append(pattern, L"-*");
    HANDLE search = FindFirstFileW(pattern, &found);
    if (search == INVALID_HANDLE_VALUE) {
        return;
    }
    do {
        left_file.left = lstrlenW(found.cFileName) > stem ? read_stamp(found.cFileName + stem) : 0;
        if (left_file.left) {
            pattern[folder] = 0;
            left_file.path[0] = 0;
            append(left_file.path, pattern);
            append(left_file.path, found.cFileName);
            visit(&left_file);
        }
    } while (FindNextFileW(search, &found));
    FindClose(search);
}

static ULONGLONG newest;

static void find_newest(const LeftFile *file)
{
    newest = max(newest, file->left);
}

/* Later than all that there are, also within one second and when the clock was set back: their names are their
 * order. */
void name_for_left_file(WCHAR name[PATH_CAPACITY])
{
    static WCHAR stamp[32];
    SYSTEMTIME time;
    newest = 0;
    each_left_file(find_newest);
    FILETIME left = as_time(max(local_now(), newest + SECOND));
    FileTimeToSystemTime(&left, &time);
    DWORD_PTR words[] = {time.wYear, time.wMonth, time.wDay, time.wHour, time.wMinute, time.wSecond};
    FormatMessageW(FORMAT_MESSAGE_FROM_STRING | FORMAT_MESSAGE_ARGUMENT_ARRAY,
                   L"-%1!04u!%2!02u!%3!02u!-%4!02u!%5!02u!%6!02u!", 0, 0, stamp, 32, (va_list *)words);
    begin_name(name);
    append(name, stamp);
    append(name, options.path + extension());
}

static ULONGLONG number, oldest, tried;

/* By when it was left, and not by when it was written to: who comes to a machine that stood still for weeks finds
 * its last words, and has as long as with any other file to read them. */
static void remove_if_old(const LeftFile *file)
{
    if (file->left + options.age >= local_now() || !DeleteFileW(file->path)) {
        number++;
    }
}

static void find_oldest(const LeftFile *file)
{
    if (file->left > tried && (oldest == 0 || file->left < oldest)) {
        oldest = file->left;
    }
}

static void remove_oldest(const LeftFile *file)
{
    if (file->left == oldest) {
        DeleteFileW(file->path);
    }
}

/* What somebody holds open stays until the next time; newer ones are not removed in its place. */
void remove_left_files(void)
{
    number = tried = 0;
    each_left_file(remove_if_old);
    for (; number > options.count; number--, tried = oldest) {
        oldest = 0;
        each_left_file(find_oldest);
        each_left_file(remove_oldest);
    }
}
