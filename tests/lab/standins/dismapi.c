/*
 * dismapi.dll for Wine, which has none: features of the Windows that runs, and nothing comes of them.
 *
 * States are kept in the registry, below SOFTWARE\standins\features, a key for each: State, Parent, Restart. What
 * waits for a restart is marked in a key that a restart loses, as Windows marks it (RebootPending), and has become what
 * it was to be when that is gone. Calls are checked as the documentation has them.
 */
#include "standin.h"
#include <dismapi.h>
#include <stdlib.h>

#define FEATURES L"SOFTWARE\\standins\\features\\"
#define SERVICING L"SOFTWARE\\Microsoft\\Windows\\CurrentVersion\\Component Based Servicing\\RebootPending"
#define NAME L"dism"
#define SESSION 1
#define NO_FILES ((HRESULT)0x800f081f)

static LONG is_initialized, is_open;

static DWORD number_of(const WCHAR *feature, const WCHAR *value, DWORD otherwise)
{
    WCHAR key[MAX_PATH];
    DWORD number = otherwise, size = sizeof(number);

    swprintf(key, MAX_PATH, L"%ls%ls", FEATURES, feature);
    RegGetValueW(HKEY_LOCAL_MACHINE, key, value, RRF_RT_REG_DWORD, NULL, &number, &size);
    return number;
}

static BOOL parent_of(const WCHAR *feature, WCHAR *parent)
{
    WCHAR key[MAX_PATH];
    DWORD size = MAX_PATH * sizeof(WCHAR);

    swprintf(key, MAX_PATH, L"%ls%ls", FEATURES, feature);
    return !RegGetValueW(HKEY_LOCAL_MACHINE, key, L"Parent", RRF_RT_REG_SZ, NULL, parent, &size);
}

static void set_state(const WCHAR *feature, DWORD state)
{
    WCHAR key[MAX_PATH];

    swprintf(key, MAX_PATH, L"%ls%ls", FEATURES, feature);
    RegSetKeyValueW(HKEY_LOCAL_MACHINE, key, L"State", REG_DWORD, &state, sizeof(state));
}

static BOOL is_known(const WCHAR *feature)
{
    return number_of(feature, L"State", MAXDWORD) != MAXDWORD;
}

/* What is marked to change at a restart. */
static BOOL is_marked(const WCHAR *feature, BOOL mark)
{
    DWORD one = 1, size = sizeof(one);
    HKEY key;

    if (!mark)
        return !RegGetValueW(HKEY_LOCAL_MACHINE, SERVICING, feature, RRF_RT_REG_DWORD, NULL, &one, &size);
    RegCreateKeyExW(HKEY_LOCAL_MACHINE, SERVICING, 0, NULL, REG_OPTION_VOLATILE, KEY_ALL_ACCESS, NULL, &key, NULL);
    RegSetValueExW(key, feature, 0, REG_DWORD, (BYTE *)&one, sizeof(one));
    RegCloseKey(key);
    return TRUE;
}

static DWORD state_of(const WCHAR *feature)
{
    DWORD state = number_of(feature, L"State", DismStateNotPresent);

    if (is_marked(feature, FALSE))
        return state;
    if (state == DismStateInstallPending)
        set_state(feature, state = DismStateInstalled);
    if (state == DismStateUninstallPending)
        set_state(feature, state = DismStateStaged);
    return state;
}

static BOOL is_on(DWORD state)
{
    return state == DismStateInstalled || state == DismStateInstallPending;
}

/* Whether a restart is needed. */
static BOOL turn(const WCHAR *feature, BOOL on)
{
    DWORD state = state_of(feature);

    if (is_on(state) == on)
        return state == DismStateInstallPending || state == DismStateUninstallPending;
    if (state == DismStateInstallPending || state == DismStateUninstallPending ||
        !number_of(feature, L"Restart", 0)) {
        set_state(feature, on ? DismStateInstalled : DismStateStaged);
        return FALSE;
    }
    set_state(feature, on ? DismStateInstallPending : DismStateUninstallPending);
    return is_marked(feature, TRUE);
}

static HRESULT checked(const WCHAR *call, DismSession session, PCWSTR feature)
{
    HRESULT told = told_to_fail(NAME, call);

    if (told)
        return told;
    if (!is_initialized)
        return DISMAPI_E_DISMAPI_NOT_INITIALIZED;
    if (session != SESSION || !is_open)
        return DISMAPI_E_INVALID_DISM_SESSION;
    if (!feature || !*feature)
        return E_INVALIDARG;
    return is_known(feature) ? S_OK : (HRESULT)DISMAPI_E_UNKNOWN_FEATURE;
}

static void tell(const WCHAR *call, const WCHAR *feature, const WCHAR *more)
{
    WCHAR line[MAX_PATH];

    swprintf(line, MAX_PATH, L"%ls %ls%ls", call, feature, more);
    write_down(NAME, line);
}

HRESULT WINAPI DismInitialize(DismLogLevel level, PCWSTR log, PCWSTR scratch)
{
    HRESULT told = told_to_fail(NAME, L"Initialize");

    (void)log, (void)scratch;
    if (told)
        return told;
    if (level < DismLogErrors || level > DismLogErrorsWarningsInfo)
        return E_INVALIDARG;
    return InterlockedExchange(&is_initialized, 1) ? E_UNEXPECTED : S_OK;
}

HRESULT WINAPI DismShutdown(void)
{
    if (!is_initialized)
        return DISMAPI_E_DISMAPI_NOT_INITIALIZED;
    if (is_open)
        return DISMAPI_E_OPEN_SESSION_HANDLES;
    is_initialized = 0;
    return S_OK;
}

HRESULT WINAPI DismOpenSession(PCWSTR image, PCWSTR windows, PCWSTR drive, DismSession *session)
{
    HRESULT told = told_to_fail(NAME, L"OpenSession");

    if (told)
        return told;
    if (!is_initialized)
        return DISMAPI_E_DISMAPI_NOT_INITIALIZED;
    if (!image || wcscmp(image, DISM_ONLINE_IMAGE) || windows || drive || !session)
        return E_INVALIDARG;
    is_open = 1;
    *session = SESSION;
    return S_OK;
}

HRESULT WINAPI DismCloseSession(DismSession session)
{
    if (session != SESSION || !InterlockedExchange(&is_open, 0))
        return DISMAPI_E_INVALID_DISM_SESSION;
    return S_OK;
}

HRESULT WINAPI DismGetFeatureInfo(DismSession session, PCWSTR feature, PCWSTR package, DismPackageIdentifier by,
                                  DismFeatureInfo **info)
{
    HRESULT code = checked(L"GetFeatureInfo", session, feature);

    if (code)
        return code;
    if (!info || (by == DismPackageNone) != !package)
        return E_INVALIDARG;
    *info = calloc(1, sizeof(**info));
    (*info)->FeatureName = _wcsdup(feature);
    (*info)->DisplayName = L"";
    (*info)->Description = L"";
    (*info)->FeatureState = state_of(feature);
    (*info)->RestartRequired = number_of(feature, L"Restart", 0) ? DismRestartRequired : DismRestartNo;
    return S_OK;
}

HRESULT WINAPI DismDelete(void *structure)
{
    if (!structure)
        return E_INVALIDARG;
    free((void *)((DismFeatureInfo *)structure)->FeatureName); /* the only structure that is given here */
    free(structure);
    return S_OK;
}

HRESULT WINAPI DismEnableFeature(DismSession session, PCWSTR feature, PCWSTR package, DismPackageIdentifier by,
                                 WINBOOL limited, PCWSTR *sources, UINT count, WINBOOL all, HANDLE cancel,
                                 DISM_PROGRESS_CALLBACK progress, PVOID data)
{
    WCHAR parent[MAX_PATH], above[MAX_PATH];
    HRESULT code = checked(L"EnableFeature", session, feature);
    BOOL restart = FALSE;

    (void)limited, (void)cancel, (void)data;
    if (code)
        return code;
    if ((by == DismPackageNone) != !package || !sources != !count)
        return E_INVALIDARG;
    if (state_of(feature) == DismStateRemoved)
        return NO_FILES;
    for (wcscpy(above, feature); parent_of(above, parent); wcscpy(above, parent)) {
        if (!all && !is_on(state_of(parent)))
            return DISMAPI_E_PARENT_FEATURE_DISABLED;
        restart |= turn(parent, TRUE);
    }
    tell(L"Enable", feature, all ? L" all" : L"");
    restart |= turn(feature, TRUE);
    if (progress)
        progress(100, 100, data);
    return restart ? ERROR_SUCCESS_REBOOT_REQUIRED : S_OK;
}

HRESULT WINAPI DismDisableFeature(DismSession session, PCWSTR feature, PCWSTR package, WINBOOL removes, HANDLE cancel,
                                  DISM_PROGRESS_CALLBACK progress, PVOID data)
{
    HRESULT code = checked(L"DisableFeature", session, feature);

    (void)package, (void)removes, (void)cancel, (void)progress, (void)data;
    if (code)
        return code;
    tell(L"Disable", feature, L"");
    return turn(feature, FALSE) ? ERROR_SUCCESS_REBOOT_REQUIRED : S_OK;
}
