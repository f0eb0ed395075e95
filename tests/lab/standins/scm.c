/*
 * scm.exe COMMAND NAME [ARGUMENT...]: the Service Control Manager seen and moved from outside the product.
 *
 * Wine's sc.exe and net.exe say little of a service's state and give no error codes. This one prints NAME=VALUE
 * lines, the first of them the Win32 error of what was asked.
 *
 *   query NAME          its status and process id
 *   start NAME [ARG...] starts it, without waiting
 *   control NAME CODE   sends a control code (1 stop, 15 preshutdown, 128 and up its own)
 *   create NAME START COMMAND-LINE
 *   delete NAME
 *
 * Exits with 0 also where an error is told: Wine would cut the exit code to eight bits.
 */
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

static void print_status(const SERVICE_STATUS_PROCESS *status)
{
    printf("type=%lu\nstate=%lu\naccepts=%lu\nexit_code=%lu\nspecific_exit_code=%lu\ncheckpoint=%lu\nwait_hint=%lu\npid=%lu\n",
           status->dwServiceType, status->dwCurrentState, status->dwControlsAccepted, status->dwWin32ExitCode,
           status->dwServiceSpecificExitCode, status->dwCheckPoint, status->dwWaitHint, status->dwProcessId);
}

static BOOL create(SC_HANDLE manager, WCHAR **words)
{
    return CreateServiceW(manager, words[0], NULL, SERVICE_ALL_ACCESS, SERVICE_WIN32_OWN_PROCESS, wcstoul(words[1], NULL, 10),
                          SERVICE_ERROR_NORMAL, words[2], NULL, NULL, NULL, NULL, NULL) != NULL;
}

static BOOL obey(SC_HANDLE service, const WCHAR *command, int count, WCHAR **words, SERVICE_STATUS_PROCESS *status)
{
    SERVICE_STATUS answer;
    DWORD size;

    if (!wcscmp(command, L"query"))
        return QueryServiceStatusEx(service, SC_STATUS_PROCESS_INFO, (BYTE *)status, sizeof(*status), &size);
    if (!wcscmp(command, L"start"))
        return StartServiceW(service, count - 1, count > 1 ? (const WCHAR **)words + 1 : NULL);
    if (!wcscmp(command, L"control") && count == 2)
        return ControlService(service, wcstoul(words[1], NULL, 10), &answer);
    if (!wcscmp(command, L"delete"))
        return DeleteService(service);
    SetLastError(ERROR_INVALID_FUNCTION);
    return FALSE;
}

int wmain(int count, WCHAR **arguments)
{
    SERVICE_STATUS_PROCESS status = {0};
    SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_ALL_ACCESS), service;
    BOOL done;

    if (count < 3)
        return 2;
    if (!wcscmp(arguments[1], L"create") && count == 5) {
        done = create(manager, arguments + 2);
    } else {
        service = OpenServiceW(manager, arguments[2], SERVICE_ALL_ACCESS);
        done = service && obey(service, arguments[1], count - 2, arguments + 2, &status);
    }
    printf("error=%lu\n", done ? ERROR_SUCCESS : GetLastError());
    if (done && status.dwServiceType)
        print_status(&status);
    return 0;
}
