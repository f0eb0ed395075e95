/* The program that was laid out, run as if it were this process. */
#include "launcher.h"

/* Ctrl-C and Ctrl-Break reach every process of the console: what they mean is the child's to say. Closing the
 * console, logging off and shutting down end a process when its handler returns, so it never does: this process
 * ends when the child has, and has tidied up by then. */
static BOOL WINAPI leave_to_child(DWORD event)
{
    if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) {
        Sleep(INFINITE);
    }
    return TRUE;
}

/* The child ends when this process does, however it does; programs that the child starts are not drawn in. */
static HANDLE make_job(void)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK;
    HANDLE job = CreateJobObjectW(NULL, NULL);
    require(job && SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits),
            L"cannot make a job object", NULL);
    return job;
}

/* The handles that the child gets: its streams, and no other that this process was given. */
typedef struct {
    HANDLE handles[3];
    DWORD count;
} Inherited;

static HANDLE inherit(Inherited *inherited, DWORD which)
{
    HANDLE handle = GetStdHandle(which);
    /* Refused for a handle that is stale; the child then finds it as stale as we did. */
    BOOL is_open = handle && handle != INVALID_HANDLE_VALUE &&
                   SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    for (DWORD i = 0; i < inherited->count; i++) {
        is_open = is_open && inherited->handles[i] != handle; /* Windows takes none twice */
    }
    if (is_open) {
        inherited->handles[inherited->count++] = handle;
    }
    return handle;
}

static BOOL add(STARTUPINFOEXW *startup, DWORD_PTR attribute, void *value, SIZE_T size)
{
    return UpdateProcThreadAttribute(startup->lpAttributeList, 0, attribute, value, size, NULL, NULL);
}

HANDLE start_child(const WCHAR *program)
{
    static char attributes[256];
    STARTUPINFOEXW startup = {0};
    SIZE_T size = sizeof attributes;
    Inherited inherited = {0};
    HANDLE job = make_job();

    GetStartupInfoW(&startup.StartupInfo);
    startup.StartupInfo.cb = sizeof startup;
    startup.StartupInfo.dwFlags |= STARTF_USESTDHANDLES;
    startup.StartupInfo.hStdInput = inherit(&inherited, STD_INPUT_HANDLE);
    startup.StartupInfo.hStdOutput = inherit(&inherited, STD_OUTPUT_HANDLE);
    startup.StartupInfo.hStdError = inherit(&inherited, STD_ERROR_HANDLE);
    startup.lpAttributeList = (LPPROC_THREAD_ATTRIBUTE_LIST)attributes;
    require(InitializeProcThreadAttributeList(startup.lpAttributeList, 2, 0, &size) &&
                add(&startup, PROC_THREAD_ATTRIBUTE_JOB_LIST, &job, sizeof job) &&
                (!inherited.count || add(&startup, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, inherited.handles,
                                         inherited.count * sizeof(HANDLE))),
            L"cannot prepare the start of", program);
    SetConsoleCtrlHandler(leave_to_child, TRUE);
    PROCESS_INFORMATION started;
    require(CreateProcessW(program, GetCommandLineW(), NULL, NULL, inherited.count > 0, EXTENDED_STARTUPINFO_PRESENT,
                           NULL, NULL, &startup.StartupInfo, &started),
            L"cannot start", program);
    CloseHandle(started.hThread);
    return started.hProcess;
}

DWORD wait_for_child(HANDLE process)
{
    DWORD code = 1;
    WaitForSingleObject(process, INFINITE);
    GetExitCodeProcess(process, &code);
    return code;
}
