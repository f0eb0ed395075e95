/* The log file. Nothing that goes wrong with it may disturb the child: what cannot be written is counted and
 * dropped, and the count is written as soon as writing works again. */
#include "log_runner.h"

#define FLUSHED_AFTER 2000 /* milliseconds from writing until it is on the disk; others can read it at once */
#define TRIED_AGAIN_AFTER 1000
#define LONGEST_TAIL (1 << 20) /* of a line, by which a file may become larger than it should */

/* Opened with SHARE_ALL: a reader may have it open, rename it or delete it, and a second log-runner may write to it,
 * since one service's process is not quite gone when the next one starts. That all writing is appending keeps their
 * lines whole. */
#define APPENDING (FILE_APPEND_DATA | FILE_READ_DATA | FILE_READ_ATTRIBUTES | FILE_WRITE_ATTRIBUTES | SYNCHRONIZE)

static struct {
    HANDLE file;
    ULONGLONG size;
    ULONGLONG begun;    /* a file time */
    BOOL in_line;       /* what was written last is no line's end */
    BOOL dirty;         /* there is something to flush, */
    ULONGLONG flush_at; /* at this tick */
    ULONGLONG leave_at; /* the tick before which leaving the file is not tried again */
    ULONGLONG write_at; /* the same for writing */
    ULONGLONG lost;     /* bytes, since writing worked */
    DWORD lost_by;      /* error */
    BOOL lost_in_line;  /* what was lost last is no line's end: the rest of that line is lost with it */
} log = {.file = INVALID_HANDLE_VALUE};

static BOOL make_folder(void)
{
    static WCHAR folder[PATH_CAPACITY];
    folder[0] = 0;
    append(folder, options.path);
    int end = lstrlenW(folder);
    while (end > 0 && folder[end] != L'\\') {
        end--;
    }
    folder[end] = 0;
    return CreateDirectoryW(folder, &private_folder);
}

static HANDLE open_file(void)
{
    HANDLE file;
    for (BOOL again = TRUE;; again = FALSE) {
        file = CreateFileW(options.path, APPENDING, SHARE_ALL, &private_file, OPEN_ALWAYS, FILE_ATTRIBUTE_NORMAL, NULL);
        /* Whoever deleted its folder has the kubelet's log all the same. */
        if (file != INVALID_HANDLE_VALUE || GetLastError() != ERROR_PATH_NOT_FOUND || !again || !make_folder()) {
            break;
        }
    }
    if (file != INVALID_HANDLE_VALUE && GetLastError() != ERROR_ALREADY_EXISTS) {
        /* NTFS gives a new file the birthday of one of its name that was there seconds ago. */
        FILETIME born;
        GetSystemTimeAsFileTime(&born);
        SetFileTime(file, &born, NULL, NULL);
    }
    return file;
}

static void begin(HANDLE file)
{
    BY_HANDLE_FILE_INFORMATION about = {0};
    char last = '\n';
    DWORD got;
    log.file = file;
    GetFileInformationByHandle(file, &about);
    log.size = (ULONGLONG)about.nFileSizeHigh << 32 | about.nFileSizeLow;
    log.begun = (ULONGLONG)about.ftCreationTime.dwHighDateTime << 32 | about.ftCreationTime.dwLowDateTime;
    if (log.size > 0) {
        OVERLAPPED where = {.Offset = (DWORD)(log.size - 1), .OffsetHigh = (DWORD)((log.size - 1) >> 32)};
        ReadFile(file, &last, 1, &got, &where);
    } else {
        log.begun = now();
    }
    log.in_line = last != '\n';
    log.dirty = FALSE;
}

static void lose(const BYTE *data, DWORD size)
{
    log.lost += size;
    log.lost_in_line = data[size - 1] != '\n';
}

static BOOL put(const BYTE *data, DWORD size)
{
    DWORD written = 0;
    BOOL done = WriteFile(log.file, data, size, &written, NULL);
    DWORD error = done ? ERROR_DISK_FULL : GetLastError();
    log.size += written;
    if (written > 0) {
        log.in_line = data[written - 1] != '\n';
        if (!log.dirty) {
            log.dirty = TRUE;
            log.flush_at = GetTickCount64() + FLUSHED_AFTER;
        }
    }
    if (written == size) {
        return TRUE;
    }
    lose(data + written, size - written);
    log.lost_by = error;
    log.write_at = GetTickCount64() + TRIED_AGAIN_AFTER;
    return FALSE;
}

static BOOL put_line(const char *line, DWORD length)
{
    return (!log.in_line || put((const BYTE *)"\n", 1)) && put((const BYTE *)line, length);
}

/* The end of the first line; all of it if there is none. */
static DWORD first_line(const BYTE *data, DWORD size)
{
    for (DWORD i = 0; i < size; i++) {
        if (data[i] == '\n') {
            return i + 1;
        }
    }
    return size;
}

/* Whether writing works again, after it did not; then the log says what is missing. */
static BOOL recover(void)
{
    static char line[1024];
    if (GetTickCount64() < log.write_at) {
        return FALSE;
    }
    if (log.file == INVALID_HANDLE_VALUE) {
        HANDLE file = open_file();
        if (file == INVALID_HANDLE_VALUE) {
            log.lost_by = GetLastError();
            log.write_at = GetTickCount64() + TRIED_AGAIN_AFTER;
            return FALSE;
        }
        begin(file);
    }
    if (log.lost > 0) {
        ULONGLONG lost = log.lost;
        BOOL in_line = log.lost_in_line;
        DWORD length =
            klog_line(line, 'W', L"%1!I64u! bytes of output are missing here: they could not be written (error %2!u!)",
                      (DWORD_PTR)lost, log.lost_by);
        log.lost = 0;
        if (!put_line(line, length)) {
            log.lost = lost; /* of our own line nothing is missed */
            log.lost_in_line = in_line;
            return FALSE;
        }
    }
    return TRUE;
}

static void put_or_lose(const BYTE *data, DWORD size)
{
    if (log.file == INVALID_HANDLE_VALUE || log.lost > 0) {
        if (log.lost_in_line) {
            DWORD rest = first_line(data, size);
            lose(data, rest);
            data += rest;
            size -= rest;
        }
        if (size == 0) {
            return;
        }
        if (!recover()) {
            lose(data, size);
            return;
        }
    }
    put(data, size);
}

/* How much of it belongs into the file before that is left; none if it is to be left now. Lines are not divided. */
static DWORD fitting(const BYTE *data, DWORD size)
{
    if (log.file == INVALID_HANDLE_VALUE || GetTickCount64() < log.leave_at) {
        return size;
    }
    if (log.size > 0 && !log.in_line && log.begun + options.age < now()) {
        return 0;
    }
    ULONGLONG room = options.size > log.size ? options.size - log.size : 0;
    if (size <= room) {
        return size;
    }
    for (DWORD end = (DWORD)room; end > 0; end--) {
        if (data[end - 1] == '\n') {
            return end;
        }
    }
    BOOL must_go_on = log.size == 0 || (log.in_line && log.size < options.size + LONGEST_TAIL);
    return must_go_on ? first_line(data, size) : 0;
}

/* Renamed while it is open: what is written meanwhile is in one of the two. A reader that does not let others
 * rename (Get-Content -Wait is one) keeps it growing until it is gone. */
static void leave_file(void)
{
    static WCHAR name[PATH_CAPACITY];
    log.leave_at = GetTickCount64() + TRIED_AGAIN_AFTER;
    name_for_left_file(name);
    if (!MoveFileExW(options.path, name, 0)) {
        DWORD error = GetLastError();
        if (error != ERROR_FILE_NOT_FOUND && error != ERROR_PATH_NOT_FOUND) {
            return;
        }
    }
    HANDLE next = open_file();
    if (next == INVALID_HANDLE_VALUE) {
        return;
    }
    CloseHandle(log.file);
    begin(next);
    log.leave_at = 0;
    remove_left_files();
}

void open_log(void)
{
    remove_left_files();
    recover();
}

void write_log(const BYTE *data, DWORD size)
{
    while (size > 0) {
        DWORD part = fitting(data, size);
        if (part == 0) {
            leave_file();
            continue;
        }
        put_or_lose(data, part);
        data += part;
        size -= part;
    }
}

void say(char severity, const WCHAR *form, DWORD_PTR first, DWORD_PTR second)
{
    static char line[1 + 1024] = "\n";
    DWORD length = klog_line(line + 1, severity, form, first, second);
    if (log.in_line) {
        write_log((const BYTE *)line, length + 1);
    } else {
        write_log((const BYTE *)line + 1, length);
    }
}

/* Of what the service's start fails by: Windows tells of `error`, the log of what was wrong. */
void give_up(const WCHAR *form, DWORD_PTR which, DWORD error)
{
    say('E', form, which, error);
    ExitProcess(error);
}

DWORD milliseconds_until_tended(void)
{
    ULONGLONG tick = GetTickCount64();
    if (!log.dirty) {
        return INFINITE;
    }
    return log.flush_at > tick ? (DWORD)(log.flush_at - tick) : 0;
}

/* Some seconds after it was written to: to the disk with it; and is it still there, and of that size? */
void tend_log(void)
{
    FILE_STANDARD_INFO about;
    if (milliseconds_until_tended() > 0) {
        return;
    }
    FlushFileBuffers(log.file);
    log.dirty = FALSE;
    if (!GetFileInformationByHandleEx(log.file, FileStandardInfo, &about, sizeof about)) {
        return;
    }
    if (about.DeletePending || about.NumberOfLinks == 0) {
        CloseHandle(log.file); /* or its name would not become free */
        log.file = INVALID_HANDLE_VALUE;
        log.in_line = FALSE;
        say('W', L"the log was deleted, and begins anew here", 0, 0);
    } else {
        log.size = (ULONGLONG)about.EndOfFile.QuadPart;
    }
}
