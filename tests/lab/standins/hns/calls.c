/* What computenetwork.dll and vmcompute.dll have in common: the way to the hns service (hns.exe). */
#include "calls.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIPE L"\\\\.\\pipe\\lab-hns"
#define LARGEST (4 << 20)
#define UNREACHABLE HRESULT_FROM_WIN32(RPC_S_SERVER_UNAVAILABLE)

static const DWORD PATIENCE = 10000, PAUSE = 20;

/* On Windows the service is started by whoever calls it, by an RPC trigger. */
static BOOL start_service(void)
{
    SC_HANDLE manager = OpenSCManagerW(NULL, NULL, SC_MANAGER_CONNECT);
    SC_HANDLE service = manager ? OpenServiceW(manager, L"hns", SERVICE_START) : NULL;
    BOOL started = service && (StartServiceW(service, 0, NULL) || GetLastError() == ERROR_SERVICE_ALREADY_RUNNING);

    if (service)
        CloseServiceHandle(service);
    if (manager)
        CloseServiceHandle(manager);
    return started;
}

static DWORD ask(char *message, DWORD length, char *answer)
{
    DWORD until = GetTickCount() + PATIENCE, read = 0;
    BOOL asked_to_start = FALSE;

    while (!CallNamedPipeW(PIPE, message, length, answer, LARGEST - 1, &read, PATIENCE)) {
        if (GetTickCount() > until)
            return 0;
        if (!asked_to_start && !(asked_to_start = start_service()))
            return 0;
        Sleep(PAUSE);
    }
    answer[read] = 0;
    return read;
}

static int add(char *message, int length, PCWSTR text)
{
    int written = text ? WideCharToMultiByte(CP_UTF8, 0, text, -1, message + length, LARGEST - length, NULL, NULL) : 0;

    if (!written)
        message[length] = 0;
    return length + (written ? written : 1);
}

static PWSTR given(const char *text)
{
    int size = MultiByteToWideChar(CP_UTF8, 0, text, -1, NULL, 0);
    PWSTR wide = CoTaskMemAlloc(size * sizeof(WCHAR));

    if (wide)
        MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, size);
    return wide;
}

static void to_text(const GUID *id, WCHAR *text)
{
    WCHAR braced[40];

    text[0] = 0;
    if (id && StringFromGUID2(id, braced, 40)) {
        braced[37] = 0;
        wcscpy(text, braced + 1);
    }
}

static void to_guid(const char *text, GUID *id)
{
    WCHAR braced[40];

    _snwprintf(braced, 40, L"{%hs}", text);
    CLSIDFromString(braced, id);
}

HRESULT hns_call(const char *name, const GUID *id, PCWSTR of, PCWSTR text, GUID *made, PWSTR *answer, PWSTR *record)
{
    char *message = malloc(LARGEST), *told = malloc(LARGEST), *made_text, *body;
    HRESULT result = UNREACHABLE;
    WCHAR id_text[40];
    int length;

    if (answer)
        *answer = NULL;
    if (record)
        *record = NULL;
    if (!message || !told)
        result = E_OUTOFMEMORY;
    else {
        strcpy(message, name);
        to_text(id, id_text);
        length = add(message, add(message, add(message, strlen(name) + 1, id_text), of), text);
        if (ask(message, length - 1, told)) {
            result = (HRESULT)strtoul(told, NULL, 16);
            made_text = told + strlen(told) + 1;
            body = made_text + strlen(made_text) + 1;
            if (made)
                to_guid(made_text, made);
            if (SUCCEEDED(result) && answer)
                *answer = given(body);
            if (FAILED(result) && record)
                *record = given(body);
        }
    }
    free(message);
    free(told);
    return result;
}
