/*
 * iphlpapi.dll for Wine, which cannot change routes: those that are made are kept in the registry, beside Wine's own.
 * So is which interfaces hand packets on.
 *
 * All else is Wine's: forwards to a copy of its library, wineiphlp.dll, are added by lab/routes.py. The key is
 * volatile, so that a new start of Windows forgets what is in force, and then makes what `route -p` keeps.
 */
#include <winsock2.h>
#include <ws2ipdef.h>
#include <iphlpapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT L"SOFTWARE\\Lab\\Routes"
#define ROWS L"Rows"
#define PERSISTENT L"SYSTEM\\CurrentControlSet\\Services\\Tcpip\\Parameters\\PersistentRoutes"
#define FORWARDING L"SOFTWARE\\Lab\\Forwarding"
#define MOST 4096
#define MTU 1500

/* A function of Wine's, by its own type: linked against this library's name it would be looked for in here. */
#define WINES(name) ((__typeof__(&name))wines(#name))

static void *wines(const char *name)
{
    HMODULE library = GetModuleHandleW(L"wineiphlp.dll");

    return (void *)GetProcAddress(library ? library : LoadLibraryW(L"wineiphlp.dll"), name);
}

static ULONG prefix_mask(UINT8 length)
{
    return length ? htonl(0xFFFFFFFFu << (32 - length)) : 0;
}

/* All rows are one value: a look at them is one question to Wine's server, however many there are. */
struct rows {
    DWORD count;
    MIB_IPFORWARD_ROW2 row[MOST];
};

static struct rows *load(HKEY key)
{
    struct rows *all = HeapAlloc(GetProcessHeap(), 0, sizeof(*all));
    DWORD size = sizeof(all->row);

    if (!all)
        abort();
    if (RegQueryValueExW(key, ROWS, NULL, NULL, (BYTE *)all->row, &size))
        size = 0;
    all->count = size / sizeof(all->row[0]);
    return all;
}

static LONG store(HKEY key, const struct rows *all)
{
    return RegSetValueExW(key, ROWS, 0, REG_BINARY, (const BYTE *)all->row, all->count * sizeof(all->row[0]));
}

static MIB_IPFORWARD_ROW2 *find(struct rows *all, const MIB_IPFORWARD_ROW2 *row)
{
    for (DWORD at = 0; at < all->count; at++) {
        MIB_IPFORWARD_ROW2 *each = &all->row[at];

        if (each->DestinationPrefix.PrefixLength == row->DestinationPrefix.PrefixLength &&
            each->DestinationPrefix.Prefix.Ipv4.sin_addr.s_addr == row->DestinationPrefix.Prefix.Ipv4.sin_addr.s_addr &&
            each->NextHop.Ipv4.sin_addr.s_addr == row->NextHop.Ipv4.sin_addr.s_addr)
            return each;
    }
    return NULL;
}

static LONG keep(HKEY key, const MIB_IPFORWARD_ROW2 *row)
{
    struct rows *all = load(key);
    LONG code = ERROR_NOT_ENOUGH_MEMORY;

    if (all->count < MOST) {
        all->row[all->count++] = *row;
        code = store(key, all);
    }
    HeapFree(GetProcessHeap(), 0, all);
    return code;
}

/* As Windows does when it starts. */
static void make_persistent(HKEY key)
{
    unsigned to[4], mask[4], over[4], metric;
    WCHAR name[256];
    HKEY persistent;

    if (RegOpenKeyExW(HKEY_LOCAL_MACHINE, PERSISTENT, 0, KEY_READ, &persistent))
        return;
    for (DWORD index = 0, size = 256; !RegEnumValueW(persistent, index, name, &size, NULL, NULL, NULL, NULL); index++, size = 256) {
        MIB_IPFORWARD_ROW2 row = {0};
        ULONG bits;

        if (swscanf(name, L"%u.%u.%u.%u,%u.%u.%u.%u,%u.%u.%u.%u,%u", &to[0], &to[1], &to[2], &to[3], &mask[0], &mask[1],
                    &mask[2], &mask[3], &over[0], &over[1], &over[2], &over[3], &metric) != 13)
            continue;
        row.DestinationPrefix.Prefix.si_family = row.NextHop.si_family = AF_INET;
        for (int at = 0; at < 4; at++) {
            ((BYTE *)&row.DestinationPrefix.Prefix.Ipv4.sin_addr)[at] = to[at];
            ((BYTE *)&row.NextHop.Ipv4.sin_addr)[at] = over[at];
            for (bits = mask[at]; bits & 0x80; bits <<= 1)
                row.DestinationPrefix.PrefixLength++;
        }
        row.Metric = metric;
        WINES(GetBestInterface)(row.NextHop.Ipv4.sin_addr.s_addr, &row.InterfaceIndex);
        keep(key, &row);
    }
    RegCloseKey(persistent);
}

static HKEY kept(void)
{
    DWORD made;
    HKEY key;

    if (RegCreateKeyExW(HKEY_LOCAL_MACHINE, KEPT, 0, NULL, REG_OPTION_VOLATILE, KEY_ALL_ACCESS, NULL, &key, &made))
        return NULL;
    if (made == REG_CREATED_NEW_KEY)
        make_persistent(key);
    return key;
}

static DWORD check(const MIB_IPFORWARD_ROW2 *row)
{
    const IP_ADDRESS_PREFIX *to = &row->DestinationPrefix;
    NET_LUID luid;

    if (to->Prefix.si_family != AF_INET || row->NextHop.si_family != AF_INET)
        return ERROR_NOT_SUPPORTED;
    if (to->PrefixLength > 32 || to->Prefix.Ipv4.sin_addr.s_addr & ~prefix_mask(to->PrefixLength))
        return ERROR_INVALID_PARAMETER;
    if (row->PreferredLifetime > row->ValidLifetime || row->SitePrefixLength > to->PrefixLength)
        return ERROR_INVALID_PARAMETER;
    return WINES(ConvertInterfaceIndexToLuid)(row->InterfaceIndex, &luid) ? ERROR_NOT_FOUND : NO_ERROR;
}

DWORD WINAPI CreateIpForwardEntry2(const MIB_IPFORWARD_ROW2 *row)
{
    HKEY key = kept();
    struct rows *all = load(key);
    DWORD code = check(row);

    if (!code && find(all, row))
        code = ERROR_OBJECT_ALREADY_EXISTS;
    if (!code)
        code = keep(key, row);
    HeapFree(GetProcessHeap(), 0, all);
    RegCloseKey(key);
    return code;
}

DWORD WINAPI DeleteIpForwardEntry2(const MIB_IPFORWARD_ROW2 *row)
{
    HKEY key = kept();
    struct rows *all = load(key);
    MIB_IPFORWARD_ROW2 *found = find(all, row);
    DWORD code = ERROR_NOT_FOUND;

    if (found) {
        *found = all->row[--all->count];
        code = store(key, all);
    }
    HeapFree(GetProcessHeap(), 0, all);
    RegCloseKey(key);
    return code;
}

DWORD WINAPI GetIpForwardTable2(ADDRESS_FAMILY family, PMIB_IPFORWARD_TABLE2 *table)
{
    MIB_IPFORWARD_TABLE2 *own, *all;
    struct rows *made;
    DWORD code;
    HKEY key;

    if ((code = WINES(GetIpForwardTable2)(family, &own)))
        return code;
    key = kept();
    made = load(key);
    RegCloseKey(key);
    if (family == AF_INET6)
        made->count = 0;
    all = HeapAlloc(GetProcessHeap(), 0, sizeof(*all) + (own->NumEntries + made->count) * sizeof(all->Table[0]));
    if (!all)
        return ERROR_NOT_ENOUGH_MEMORY;
    memcpy(all, own, FIELD_OFFSET(MIB_IPFORWARD_TABLE2, Table[own->NumEntries]));
    WINES(FreeMibTable)(own);
    memcpy(&all->Table[all->NumEntries], made->row, made->count * sizeof(made->row[0]));
    all->NumEntries += made->count;
    HeapFree(GetProcessHeap(), 0, made);
    *table = all;
    return NO_ERROR;
}

/* Notifications: any process may have made the change, so each looks at where they are kept. */
struct watch {
    HKEY key;
    HANDLE thread, changed, over;
    PIPFORWARD_CHANGE_CALLBACK callback; /* or PIPINTERFACE_CHANGE_CALLBACK, which is called alike */
    void *context;
};

static DWORD WINAPI tell(void *given)
{
    struct watch *watch = given;
    HANDLE either[] = {watch->over, watch->changed};

    while (WaitForMultipleObjects(2, either, FALSE, INFINITE) == WAIT_OBJECT_0 + 1) {
        RegNotifyChangeKeyValue(watch->key, FALSE, REG_NOTIFY_CHANGE_LAST_SET | REG_NOTIFY_THREAD_AGNOSTIC, watch->changed, TRUE);
        watch->callback(watch->context, NULL, MibParameterNotification);
    }
    return 0;
}

static DWORD watch(HKEY key, ADDRESS_FAMILY family, void *callback, void *context, BOOLEAN now, HANDLE *handle)
{
    struct watch *made;

    /* Of IPv4 alone and not at once: what else there is nobody has asked of this yet. */
    if (family != AF_INET || !callback || now || !handle || !key) {
        RegCloseKey(key);
        return ERROR_INVALID_PARAMETER;
    }
    if (!(made = HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, sizeof(*made))))
        abort();
    made->key = key;
    made->callback = callback;
    made->context = context;
    made->changed = CreateEventW(NULL, FALSE, FALSE, NULL);
    made->over = CreateEventW(NULL, TRUE, FALSE, NULL);
    RegNotifyChangeKeyValue(key, FALSE, REG_NOTIFY_CHANGE_LAST_SET | REG_NOTIFY_THREAD_AGNOSTIC, made->changed, TRUE);
    made->thread = CreateThread(NULL, 0, tell, made, 0, NULL);
    *handle = made;
    return NO_ERROR;
}

DWORD WINAPI NotifyRouteChange2(ADDRESS_FAMILY family, PIPFORWARD_CHANGE_CALLBACK callback, void *context, BOOLEAN now, HANDLE *handle)
{
    return watch(kept(), family, callback, context, now, handle);
}

DWORD WINAPI NotifyIpInterfaceChange(ADDRESS_FAMILY family, PIPINTERFACE_CHANGE_CALLBACK callback, void *context, BOOLEAN now, HANDLE *handle)
{
    HKEY key = NULL;

    RegCreateKeyExW(HKEY_LOCAL_MACHINE, FORWARDING, 0, NULL, REG_OPTION_VOLATILE, KEY_ALL_ACCESS, NULL, &key, NULL);
    return watch(key, family, callback, context, now, handle);
}

/* Of these two alone; Wine's own notifications have handles of its own. */
DWORD WINAPI CancelMibChangeNotify2(HANDLE handle)
{
    struct watch *made = handle;

    if (!made)
        return ERROR_INVALID_PARAMETER;
    SetEvent(made->over);
    WaitForSingleObject(made->thread, INFINITE);
    CloseHandle(made->thread);
    CloseHandle(made->changed);
    CloseHandle(made->over);
    RegCloseKey(made->key);
    HeapFree(GetProcessHeap(), 0, made);
    return NO_ERROR;
}

/* The value for an interface: by its alias, as people know it. */
static DWORD forwarding(const MIB_IPINTERFACE_ROW *row, HKEY *key, WCHAR *alias)
{
    NET_LUID luid;

    if (row->Family != AF_INET)
        return row->Family == AF_INET6 ? ERROR_NOT_FOUND : ERROR_INVALID_PARAMETER;
    if (WINES(ConvertInterfaceIndexToLuid)(row->InterfaceIndex, &luid) ||
        WINES(ConvertInterfaceLuidToAlias)(&luid, alias, IF_MAX_STRING_SIZE + 1))
        return ERROR_FILE_NOT_FOUND;
    return RegCreateKeyExW(HKEY_LOCAL_MACHINE, FORWARDING, 0, NULL, REG_OPTION_VOLATILE, KEY_ALL_ACCESS, NULL, key, NULL);
}

DWORD WINAPI GetIpInterfaceEntry(MIB_IPINTERFACE_ROW *row)
{
    DWORD code, on = 0, size = sizeof(on);
    WCHAR alias[IF_MAX_STRING_SIZE + 1];
    HKEY key;

    if ((code = forwarding(row, &key, alias)))
        return code;
    RegQueryValueExW(key, alias, NULL, NULL, (BYTE *)&on, &size);
    RegCloseKey(key);
    row->ForwardingEnabled = on != 0;
    row->SitePrefixLength = 64; /* which Windows tells of IPv4, too, and does not take */
    row->NlMtu = MTU;
    row->Connected = TRUE;
    return NO_ERROR;
}

DWORD WINAPI SetIpInterfaceEntry(MIB_IPINTERFACE_ROW *row)
{
    WCHAR alias[IF_MAX_STRING_SIZE + 1];
    DWORD code, on;
    HKEY key;

    if ((code = forwarding(row, &key, alias)))
        return code;
    on = row->ForwardingEnabled;
    if (row->SitePrefixLength > 32 || on > 1 || row->NlMtu != MTU || row->Connected != TRUE)
        code = ERROR_INVALID_PARAMETER;
    else
        code = RegSetValueExW(key, alias, 0, REG_DWORD, (const BYTE *)&on, sizeof(on));
    RegCloseKey(key);
    return code;
}
