/*
 * run.exe REQUEST: starts one program exactly as a test asks, waits for it, and writes down how it ended.
 *
 * Why not let Wine's loader start it: that passes on an exit code's lowest eight bits only, prints traces into the
 * program's own stderr, and cannot give a program a closed handle, another code page or a user's token.
 *
 * REQUEST is a file of UTF-16 texts, NAME=VALUE each and each ended by a zero (lab/running.py writes it, and says
 * what they mean). Beside it are written `started` (the process id) and `ended` (exit code, microseconds).
 */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

#define TIMED_OUT 258 /* WAIT_TIMEOUT: what Windows itself calls it */

static WCHAR *command, *folder;
static HANDLE handles[3]; /* NULL: closed, which is how a service's program gets them */
static DWORD limit = INFINITE;
static HANDLE token;

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "run.exe: %s: error %lu\n", what, GetLastError());
    exit(99);
}

static WCHAR *read_request(const WCHAR *path)
{
    HANDLE file = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
    DWORD size = GetFileSize(file, NULL), got;
    WCHAR *text = calloc(size + 2 * sizeof(WCHAR), 1);

    if (file == INVALID_HANDLE_VALUE || !ReadFile(file, text, size, &got, NULL))
        fail("cannot read the request");
    CloseHandle(file);
    return text;
}

static void write_beside(const WCHAR *request, const WCHAR *name, const char *text)
{
    WCHAR path[MAX_PATH];
    DWORD written;
    HANDLE file;

    wcscpy(path, request);
    wcscpy(wcsrchr(path, L'\\') + 1, name);
    file = CreateFileW(path, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
    if (file == INVALID_HANDLE_VALUE || !WriteFile(file, text, strlen(text), &written, NULL))
        fail("cannot write the result");
    CloseHandle(file);
}

static HANDLE opened(const WCHAR *path, BOOL reading)
{
    SECURITY_ATTRIBUTES inherited = {sizeof(inherited), NULL, TRUE};
    DWORD access = reading ? GENERIC_READ : FILE_APPEND_DATA | FILE_READ_ATTRIBUTES | SYNCHRONIZE;
    HANDLE file = CreateFileW(path, access, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited, OPEN_EXISTING, 0, NULL);

    if (file == INVALID_HANDLE_VALUE)
        fail("cannot open the program's input or output");
    return file;
}

/* The caller's token with Administrators usable for denying only, as a user's token before elevation has it. */
static HANDLE filtered_token(void)
{
    BYTE administrators[SECURITY_MAX_SID_SIZE];
    DWORD size = sizeof(administrators);
    SID_AND_ATTRIBUTES denied = {administrators, 0};
    HANDLE own, filtered;

    if (!CreateWellKnownSid(WinBuiltinAdministratorsSid, NULL, administrators, &size) ||
        !OpenProcessToken(GetCurrentProcess(), TOKEN_ALL_ACCESS, &own) ||
        !CreateRestrictedToken(own, DISABLE_MAX_PRIVILEGE, 1, &denied, 0, NULL, 0, NULL, &filtered))
        fail("cannot make a user's token");
    return filtered;
}

/* Ctrl-C is for the program that is run: this one stays to tell how that ended. */
static BOOL WINAPI stay(DWORD event)
{
    return event == CTRL_C_EVENT;
}

static void set_code_page(UINT code_page)
{
    SetConsoleCtrlHandler(stay, TRUE);
    if (!SetConsoleCP(code_page) || !SetConsoleOutputCP(code_page))
        fail("cannot set the console's code page");
}

static void obey(WCHAR *name, WCHAR *value)
{
    if (!wcscmp(name, L"command"))
        command = value;
    else if (!wcscmp(name, L"folder"))
        folder = value;
    else if (!wcscmp(name, L"stdin"))
        handles[0] = opened(value, TRUE);
    else if (!wcscmp(name, L"stdout"))
        handles[1] = opened(value, FALSE);
    else if (!wcscmp(name, L"stderr"))
        handles[2] = opened(value, FALSE);
    else if (!wcscmp(name, L"limit"))
        limit = wcstoul(value, NULL, 10);
    else if (!wcscmp(name, L"set"))
        *wcschr(value, L'=') = 0, SetEnvironmentVariableW(value, value + wcslen(value) + 1);
    else if (!wcscmp(name, L"unset"))
        SetEnvironmentVariableW(value, NULL);
    else if (!wcscmp(name, L"as") && !wcscmp(value, L"user"))
        token = filtered_token();
    else if (!wcscmp(name, L"console"))
        set_code_page(wcstoul(value, NULL, 10));
    else
        SetLastError(ERROR_INVALID_PARAMETER), fail("cannot understand the request");
}

int wmain(int count, WCHAR **arguments)
{
    STARTUPINFOW startup = {.cb = sizeof(startup)};
    PROCESS_INFORMATION process;
    LARGE_INTEGER frequency, begin, end;
    DWORD code = TIMED_OUT;
    BOOL console = FALSE, created;
    char text[64];

    if (count != 2)
        fail("one request is needed");
    for (WCHAR *name = read_request(arguments[1]), *next; *name; name = next) {
        WCHAR *value = wcschr(name, L'=');

        next = name + wcslen(name) + 1;
        *value++ = 0;
        console |= !wcscmp(name, L"console");
        obey(name, value);
    }
    if (!console) { /* with a console the program gets the console's own handles */
        startup.dwFlags = STARTF_USESTDHANDLES;
        startup.hStdInput = handles[0];
        startup.hStdOutput = handles[1];
        startup.hStdError = handles[2];
    }
    QueryPerformanceFrequency(&frequency);
    QueryPerformanceCounter(&begin);
    if (token)
        created = CreateProcessAsUserW(token, NULL, command, NULL, NULL, TRUE, 0, NULL, folder, &startup, &process);
    else
        created = CreateProcessW(NULL, command, NULL, NULL, TRUE, 0, NULL, folder, &startup, &process);
    if (!created)
        fail("cannot start the program");
    sprintf(text, "%lu", process.dwProcessId);
    write_beside(arguments[1], L"started", text);
    if (WaitForSingleObject(process.hProcess, limit) == WAIT_TIMEOUT) {
        TerminateProcess(process.hProcess, TIMED_OUT);
        write_beside(arguments[1], L"ended", "timed out");
        return 0;
    }
    QueryPerformanceCounter(&end);
    GetExitCodeProcess(process.hProcess, &code);
    sprintf(text, "%lu %llu", code, (end.QuadPart - begin.QuadPart) * 1000000 / frequency.QuadPart);
    write_beside(arguments[1], L"ended", text);
    return 0;
}
