/* The child: its command line is the rest of ours, letter by letter, and what it says goes into one pipe. */
#include "log_runner.h"

/* Both ends of a pipe. Ours can be waited for together with the child's end, which Windows' CreatePipe has not. */
static BOOL make_pipe(HANDLE *ours, HANDLE *its)
{
    static WCHAR name[128];
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    LARGE_INTEGER counter;
    QueryPerformanceCounter(&counter);
    DWORD_PTR words[] = {GetCurrentProcessId(), (DWORD_PTR)counter.QuadPart};
    FormatMessageW(FORMAT_MESSAGE_FROM_STRING | FORMAT_MESSAGE_ARGUMENT_ARRAY,
                   L"\\\\.\\pipe\\wmcb-log-%1!u!-%2!I64u!", 0, 0, name, 128, (va_list *)words);
    *ours = CreateNamedPipeW(name, PIPE_ACCESS_INBOUND | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
                             PIPE_TYPE_BYTE | PIPE_REJECT_REMOTE_CLIENTS, 1, 0, PIPE_SIZE, 0, &private_file);
    if (*ours == INVALID_HANDLE_VALUE) {
        return FALSE;
    }
    *its = CreateFileW(name, GENERIC_WRITE, 0, &inherited, OPEN_EXISTING, 0, NULL);
    return *its != INVALID_HANDLE_VALUE;
}

/* The child ends when this process does, however it does. Programs that the child starts are not drawn in: they
 * have always outlived a service that they belong to. */
static HANDLE make_job(void)
{
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_SILENT_BREAKAWAY_OK;
    HANDLE job = CreateJobObjectW(NULL, NULL);
    if (job && !SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits)) {
        return NULL;
    }
    return job;
}

BOOL start_child(Child *child)
{
    static char attributes[256];
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    STARTUPINFOEXW startup = {0};
    PROCESS_INFORMATION started;
    SIZE_T size = sizeof attributes;
    HANDLE job = make_job();
    HANDLE nothing = CreateFileW(L"NUL", GENERIC_READ, SHARE_ALL, &inherited, OPEN_EXISTING, 0, NULL);
    HANDLE its;
    if (!job || nothing == INVALID_HANDLE_VALUE || !make_pipe(&child->output, &its)) {
        return FALSE;
    }
    HANDLE handles[] = {nothing, its};
    startup.StartupInfo.cb = sizeof startup;
    startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
    startup.StartupInfo.hStdInput = nothing;
    startup.StartupInfo.hStdOutput = startup.StartupInfo.hStdError = its;
    startup.lpAttributeList = (LPPROC_THREAD_ATTRIBUTE_LIST)attributes;
    /* Detached: as the service control manager starts services. Otherwise Windows would make a console for it, and
     * a process for the console. But what was not written as a service may need one: PowerShell without a console
     * ends at once, with 0, and has done nothing of its script. */
    DWORD console = options.as_service ? CREATE_NO_WINDOW : DETACHED_PROCESS;
    if (!InitializeProcThreadAttributeList(startup.lpAttributeList, 2, 0, &size) ||
        !UpdateProcThreadAttribute(startup.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_JOB_LIST, &job, sizeof job, NULL,
                                   NULL) ||
        !UpdateProcThreadAttribute(startup.lpAttributeList, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles,
                                   sizeof handles, NULL, NULL) ||
        !CreateProcessW(options.program, options.command, NULL, NULL, TRUE,
                        EXTENDED_STARTUPINFO_PRESENT | console, NULL, NULL, &startup.StartupInfo, &started)) {
        return FALSE;
    }
    CloseHandle(started.hThread);
    CloseHandle(its); /* or the pipe would never end */
    CloseHandle(nothing);
    child->process = started.hProcess;
    return TRUE;
}
