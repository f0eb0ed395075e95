/* vmcompute.dll for Wine: of its exports the one that HNS is asked by in its first schema. */
#include "calls.h"
#include <stdio.h>

__declspec(dllexport) HRESULT WINAPI HNSCall(PCWSTR method, PCWSTR path, PCWSTR object, PWSTR *response)
{
    WCHAR what[512];

    _snwprintf(what, 511, L"%ls %ls", method, path);
    what[511] = 0;
    return hns_call("HNSCall", NULL, what, object, NULL, response, NULL);
}
