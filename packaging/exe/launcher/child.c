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
    if (!job || !SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits)) {
        fail(L"cannot make a job object", NULL, GetLastError());
    }
    return job;
}

static HANDLE inheritable(DWORD which)
{
    HANDLE handle = GetStdHandle(which);
    if (handle && handle != INVALID_HANDLE_VALUE) {
        /* Refused for a handle that is stale; the child then finds it as stale as we did. */
        SetHandleInformation(handle, HANDLE_FLAG_INHERIT, HANDLE_FLAG_INHERIT);
    }
    return handle;
}

HANDLE start_child(const WCHAR *program)
{
    static char attributes[256];
    STARTUPINFOEXW startup = {0};
    SIZE_T size = sizeof attributes;
    HANDLE job = make_job();

    GetStartupInfoW(&startup.StartupInfo);
    startup.StartupInfo.cb = sizeof startup;
    startup.StartupInfo.dwFlags |= STARTF_USESTDHANDLES;
    startup.StartupInfo.hStdInput = inheritable(STD_INPUT_HANDLE);
    startup.StartupInfo.hStdOutput = inheritable(STD_OUTPUT_HANDLE);
    startup.StartupInfo.hStdError = inheritable(STD_ERROR_HANDLE);
    startup.lpAttributeList = (LPPROC_THREAD_ATTRIBUTE_LIST)attributes;
    if (!InitializeProcThreadAttributeList(startup.lpAttributeList, 1, 0, &size) ||
        !UpdateProcThreadAttribute(startup.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_JOB_LIST, &job, sizeof job, NULL,
                                   NULL)) {
        fail(L"cannot prepare the start of", program, GetLastError());
    }
    SetConsoleCtrlHandler(leave_to_child, TRUE);
    PROCESS_INFORMATION started;
    if (!CreateProcessW(program, GetCommandLineW(), NULL, NULL, TRUE, EXTENDED_STARTUPINFO_PRESENT, NULL, NULL,
                        &startup.StartupInfo, &started)) {
        fail(L"cannot start", program, GetLastError());
    }
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
