/* The service in the place of a program that is none (--as-service). Windows' part in it is loaded only then. */
#include "log_runner.h"

typedef BOOL(WINAPI *Dispatch)(const SERVICE_TABLE_ENTRYW *);
typedef SERVICE_STATUS_HANDLE(WINAPI *Register)(LPCWSTR, LPHANDLER_FUNCTION_EX, LPVOID);
typedef BOOL(WINAPI *SetStatus)(SERVICE_STATUS_HANDLE, LPSERVICE_STATUS);

static Register register_handler;
static SetStatus set_status;
static SERVICE_STATUS_HANDLE service;
static HANDLE program;
static volatile LONG asked_to_stop;

static void tell(DWORD state)
{
    SERVICE_STATUS status = {.dwServiceType = SERVICE_WIN32_OWN_PROCESS, .dwCurrentState = state};
    status.dwControlsAccepted = state == SERVICE_RUNNING ? SERVICE_ACCEPT_STOP : 0;
    set_status(service, &status);
}

/* The program has no way of being asked: it is ended, and run() sees its end. */
static DWORD WINAPI control(DWORD request, DWORD type, LPVOID data, LPVOID context)
{
    (void)type, (void)data, (void)context;
    if (request == SERVICE_CONTROL_STOP) {
        tell(SERVICE_STOP_PENDING);
        InterlockedExchange(&asked_to_stop, TRUE);
        TerminateProcess(program, 0);
    }
    return request == SERVICE_CONTROL_STOP || request == SERVICE_CONTROL_INTERROGATE ? NO_ERROR
                                                                                     : ERROR_CALL_NOT_IMPLEMENTED;
}

static void WINAPI serve(DWORD count, LPWSTR *words)
{
    (void)count, (void)words;
    service = register_handler(L"", control, NULL); /* a process with one service need not name it */
    if (!service) {
        give_up(L"%1!.300s! cannot be a service: error %2!u!", (DWORD_PTR)options.program, GetLastError());
    }
    tell(SERVICE_START_PENDING);
    run();
}

void be_service(void)
{
    static WCHAR none[] = L"";
    static const SERVICE_TABLE_ENTRYW services[] = {{none, serve}, {NULL, NULL}};
    HMODULE library = LoadLibraryExW(L"advapi32.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
    Dispatch dispatch = (Dispatch)(void *)GetProcAddress(library, "StartServiceCtrlDispatcherW");
    register_handler = (Register)(void *)GetProcAddress(library, "RegisterServiceCtrlHandlerExW");
    set_status = (SetStatus)(void *)GetProcAddress(library, "SetServiceStatus");
    if (!dispatch || !register_handler || !set_status || !dispatch(services)) {
        give_up(L"%1!.300s! is to be a service, and is none: error %2!u!", (DWORD_PTR)options.program, GetLastError());
    }
    /* The dispatcher returns as soon as the service reports that it has stopped, in the middle of run(): that one, in
     * the service's thread, ends this process. */
    Sleep(INFINITE);
}

void tell_started(HANDLE process)
{
    program = process;
    tell(SERVICE_RUNNING);
}

/* A service whose process ends without this has failed to Windows, which then does what is to be done for that. */
void tell_ended(void)
{
    if (asked_to_stop) {
        tell(SERVICE_STOPPED);
    }
}
