/*
 * pdh.dll for Wine, which has no performance counters: the kubelet asks for a few and does not start without them.
 *
 * A counter's handle says what it answers. Counters of all network interfaces ("*" for the instance) answer an
 * empty list, since Wine names none.
 */
#include <windows.h>
#include <pdh.h>
#include <pdhmsg.h>
#include <stdint.h>
#include <wchar.h>

#define QUERY ((PDH_HQUERY)1)

enum { PROCESSOR = 2, BYTES, EVERY_INSTANCE };

static const double PERCENT_BUSY = 10;
static const double FREE_BYTES = 1e9;

PDH_FUNCTION PdhOpenQueryW(LPCWSTR source, DWORD_PTR user, PDH_HQUERY *query)
{
    (void)source, (void)user;
    *query = QUERY;
    return ERROR_SUCCESS;
}

/* Go's binding asks for the name without a letter, which the header makes another one of. */
#undef PdhOpenQuery
PDH_FUNCTION PdhOpenQuery(LPCWSTR source, DWORD_PTR user, PDH_HQUERY *query)
{
    return PdhOpenQueryW(source, user, query);
}

PDH_FUNCTION PdhCloseQuery(PDH_HQUERY query)
{
    (void)query;
    return ERROR_SUCCESS;
}

PDH_FUNCTION PdhAddEnglishCounterW(PDH_HQUERY query, LPCWSTR path, DWORD_PTR user, PDH_HCOUNTER *counter)
{
    uintptr_t kind = BYTES;

    (void)query, (void)user;
    if (wcsstr(path, L"Processor"))
        kind = PROCESSOR;
    else if (wcschr(path, L'*') && !wcsstr(path, L"Committed"))
        kind = EVERY_INSTANCE;
    *counter = (PDH_HCOUNTER)kind;
    return ERROR_SUCCESS;
}

PDH_FUNCTION PdhAddCounterW(PDH_HQUERY query, LPCWSTR path, DWORD_PTR user, PDH_HCOUNTER *counter)
{
    return PdhAddEnglishCounterW(query, path, user, counter);
}

PDH_FUNCTION PdhCollectQueryData(PDH_HQUERY query)
{
    (void)query;
    return ERROR_SUCCESS;
}

PDH_FUNCTION PdhValidatePathW(LPCWSTR path)
{
    (void)path;
    return ERROR_SUCCESS;
}

static void answer(PDH_HCOUNTER counter, PDH_FMT_COUNTERVALUE *value)
{
    value->CStatus = ERROR_SUCCESS;
    value->doubleValue = (uintptr_t)counter == PROCESSOR ? PERCENT_BUSY : FREE_BYTES;
}

PDH_FUNCTION PdhGetFormattedCounterValue(PDH_HCOUNTER counter, DWORD format, LPDWORD type, PPDH_FMT_COUNTERVALUE value)
{
    (void)format, (void)type;
    answer(counter, value);
    return ERROR_SUCCESS;
}

PDH_FUNCTION PdhGetFormattedCounterArrayW(PDH_HCOUNTER counter, DWORD format, LPDWORD size, LPDWORD count,
                                          PPDH_FMT_COUNTERVALUE_ITEM_W items)
{
    static const WCHAR TOTAL[] = L"_Total";
    const DWORD needed = sizeof(*items) + sizeof(TOTAL);

    (void)format;
    if ((uintptr_t)counter == EVERY_INSTANCE) {
        *count = *size = 0;
        return ERROR_SUCCESS;
    }
    *count = 1;
    if (!items || *size < needed) {
        *size = needed;
        return PDH_MORE_DATA;
    }
    items->szName = (LPWSTR)(items + 1); /* the text lies behind the item, as with Windows' own */
    wcscpy(items->szName, TOTAL);
    answer(counter, &items->FmtValue);
    *size = needed;
    return ERROR_SUCCESS;
}
