/* Where Windows enters; and the one loop. */
#include "log_runner.h"

static Child child;
static BYTE buffer[PIPE_SIZE];
static OVERLAPPED reading;

/* Whether there will be something to take. */
static BOOL begin_reading(void)
{
    return ReadFile(child.output, buffer, sizeof buffer, NULL, &reading) || GetLastError() == ERROR_IO_PENDING;
}

/* Writes what was read, which may be nothing; FALSE when nothing will come any more. */
static BOOL take(DWORD *size)
{
    if (!GetOverlappedResult(child.output, &reading, size, FALSE)) {
        return FALSE;
    }
    write_log(buffer, *size);
    return TRUE;
}

/* Until the child ends: programs that it started may hold the pipe for longer. */
static void relay(void)
{
    HANDLE awaited[] = {child.process, reading.hEvent};
    BOOL open = begin_reading();
    DWORD size, left = 2 * PIPE_SIZE;
    for (;;) {
        DWORD event = WaitForMultipleObjects(open ? 2 : 1, awaited, FALSE, milliseconds_until_tended());
        if (event == WAIT_OBJECT_0) {
            break;
        }
        if (event == WAIT_OBJECT_0 + 1) {
            open = take(&size) && begin_reading();
        }
        tend_log();
    }
    /* No more than the pipe can hold is the child's. */
    while (open && left > 0 && WaitForSingleObject(reading.hEvent, 0) == WAIT_OBJECT_0) {
        open = take(&size);
        left -= min(left, size);
        open = open && begin_reading();
    }
}

void run(void)
{
    DWORD code = 0;
    reading.hEvent = CreateEventW(NULL, TRUE, FALSE, NULL);
    if (!start_child(&child)) {
        give_up(L"%1!.300s! cannot be started: error %2!u!", (DWORD_PTR)options.program, GetLastError());
    }
    say('I', L"%1!.300s! started as process %2!u!", (DWORD_PTR)options.program, GetProcessId(child.process));
    if (options.as_service) {
        tell_started(child.process);
    }
    relay();
    GetExitCodeProcess(child.process, &code);
    say(code ? 'E' : 'I', L"%1!.300s! ended with exit code %2!u!", (DWORD_PTR)options.program, code);
    if (options.as_service) {
        tell_ended();
    }
    ExitProcess(code);
}

void start(void)
{
    read_options(GetCommandLineW());
    open_log();
    append_arguments();
    if (options.as_service) {
        be_service();
    }
    run();
}
