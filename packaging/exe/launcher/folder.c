/* The folder that the shipped file lays its program out in.
 *
 * It is born with the descriptor it needs, under a name that nobody can know before, in a folder that Windows
 * itself made; one that exists already is never used. Beside it lies a lock file, made before it and held open for
 * as long as this process lives: Windows closes, and so deletes, it however the process ends. A folder whose lock
 * is not held is the remains of a run that was killed, and the next run removes it.
 */
#include "launcher.h"

#include <sddl.h>

#define PREFIX L"wmcb-"
#define LOCK_SUFFIX L".lock"

/* Elevated: no service and no plain user may put a DLL where an administrator's program will load it from. */
#define FOR_ADMINISTRATORS L"O:BAG:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"

#define OF_ADVAPI32(use)                                                                                               \
    use(CheckTokenMembership) use(ConvertSidToStringSidW) use(ConvertStringSecurityDescriptorToSecurityDescriptorW)    \
        use(CreateWellKnownSid) use(GetTokenInformation) use(OpenProcessToken)

static struct {
#define DECLARE(name) __typeof__(&name) name;
    OF_ADVAPI32(DECLARE)
} advapi32;

/* Not linked: it needs libraries that would be looked for beside the exe wherever they are no KnownDLLs. */
static void load_advapi32(void)
{
    HMODULE library = load_library(L"advapi32.dll", LOAD_LIBRARY_SEARCH_SYSTEM32);
#define FIND(name) advapi32.name = (__typeof__(&name))find_function(library, #name);
    OF_ADVAPI32(FIND)
}

static BOOL is_administrator(void)
{
    BYTE administrators[SECURITY_MAX_SID_SIZE];
    DWORD size = sizeof administrators;
    BOOL member = FALSE;
    if (!advapi32.CreateWellKnownSid(WinBuiltinAdministratorsSid, NULL, administrators, &size) ||
        !advapi32.CheckTokenMembership(NULL, administrators, &member)) {
        fail(L"cannot tell whether this is an administrator", NULL, GetLastError());
    }
    return member;
}

/* O:userG:userD:P(A;OICI;FA;;;user) */
static const WCHAR *for_this_user(void)
{
    static WCHAR text[PATH_CAPACITY];
    union {
        TOKEN_USER user;
        BYTE room[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    } information;
    HANDLE token;
    DWORD size;
    WCHAR *user;
    if (!advapi32.OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token) ||
        !advapi32.GetTokenInformation(token, TokenUser, &information, sizeof information, &size) ||
        !advapi32.ConvertSidToStringSidW(information.user.User.Sid, &user)) {
        fail(L"cannot tell who runs this", NULL, GetLastError());
    }
    CloseHandle(token);
    const WCHAR *parts[] = {L"O:", user, L"G:", user, L"D:P(A;OICI;FA;;;", user, L")"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        append(text, parts[i]);
    }
    return text;
}

static BOOL is_plain_folder(const WCHAR *path)
{
    DWORD attributes = GetFileAttributesW(path);
    return attributes != INVALID_FILE_ATTRIBUTES &&
           (attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT)) == FILE_ATTRIBUTE_DIRECTORY;
}

/* Not by TEMP or any other variable, which whoever started this may have set. */
static void find_machine_temp(WCHAR parent[PATH_CAPACITY])
{
    static WCHAR windows[PATH_CAPACITY];
    /* SystemTemp, where there is one, can be read and written by administrators only. */
    const WCHAR *names[] = {L"\\SystemTemp", L"\\Temp"};
    if (GetSystemWindowsDirectoryW(windows, MAX_PATH) == 0) {
        fail(L"cannot find the Windows folder", NULL, GetLastError());
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        parent[0] = 0;
        append(parent, windows);
        append(parent, names[i]);
        if (is_plain_folder(windows) && is_plain_folder(parent)) {
            append(parent, L"\\");
            return;
        }
    }
    fail(L"not a folder, or a link to one:", parent, 0);
}

/* Only has to be new: whoever guesses it can make one attempt fail, and no more. */
static void name_at_random(WCHAR name[17])
{
    static DWORD64 state;
    LARGE_INTEGER counter;
    FILETIME now;
    QueryPerformanceCounter(&counter);
    GetSystemTimeAsFileTime(&now);
    state += (DWORD64)counter.QuadPart ^ ((DWORD64)now.dwLowDateTime << 32) ^ ((DWORD64)GetCurrentProcessId() << 16);
    DWORD64 mixed = state * 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9u;
    mixed ^= mixed >> 32;
    for (int i = 0; i < 16; i++, mixed >>= 4) {
        name[i] = L"0123456789abcdef"[mixed & 15];
    }
    name[16] = 0;
}

static BOOL taken(DWORD error)
{
    return error == ERROR_FILE_EXISTS || error == ERROR_ALREADY_EXISTS;
}

static DWORD try_to_make(Folder *folder)
{
    static WCHAR lock[PATH_CAPACITY];
    WCHAR name[17];
    name_at_random(name);
    folder->path[0] = lock[0] = 0;
    append(folder->path, folder->parent);
    append(folder->path, PREFIX);
    append(folder->path, name);
    append(lock, folder->path);
    append(lock, LOCK_SUFFIX);
    folder->lock = CreateFileW(lock, GENERIC_WRITE | DELETE, 0, &folder->security, CREATE_NEW,
                               FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    if (folder->lock == INVALID_HANDLE_VALUE) {
        return GetLastError();
    }
    if (!CreateDirectoryW(folder->path, &folder->security)) {
        DWORD error = GetLastError();
        CloseHandle(folder->lock);
        return error;
    }
    return ERROR_SUCCESS;
}

void make_folder(Folder *folder)
{
    const WCHAR *descriptor;
    load_advapi32();
    if (is_administrator()) {
        descriptor = FOR_ADMINISTRATORS;
        find_machine_temp(folder->parent);
    } else {
        descriptor = for_this_user();
        if (GetTempPathW(MAX_PATH + 1, folder->parent) == 0) {
            fail(L"cannot find a folder for temporary files", NULL, GetLastError());
        }
    }
    folder->security.nLength = sizeof folder->security;
    if (!advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW(
            descriptor, SDDL_REVISION_1, &folder->security.lpSecurityDescriptor, NULL)) {
        fail(L"not a security descriptor:", descriptor, GetLastError());
    }
    DWORD error = ERROR_FILE_EXISTS;
    for (int i = 0; i < 16 && taken(error); i++) {
        error = try_to_make(folder);
    }
    if (error) {
        fail(L"cannot make the folder", folder->path, error);
    }
}

void remove_folder(const Folder *folder)
{
    /* A virus scanner may hold what has just been run: 1.3 seconds in all, then it is left to the next run. */
    for (DWORD pause = 10; !remove_tree(folder->path) && pause <= 640; pause *= 2) {
        Sleep(pause);
    }
    CloseHandle(folder->lock);
}

static BOOL has_suffix(const WCHAR *name, const WCHAR *suffix)
{
    int length = lstrlenW(name), suffix_length = lstrlenW(suffix);
    return length > suffix_length && lstrcmpiW(name + length - suffix_length, suffix) == 0;
}

static void remove_if_dead(const WCHAR *path)
{
    static WCHAR lock[PATH_CAPACITY];
    lock[0] = 0;
    append(lock, path);
    append(lock, LOCK_SUFFIX);
    /* Still there after a power cut. Who can open it alone is the only one that has it. */
    HANDLE left_over = CreateFileW(lock, GENERIC_WRITE | DELETE, 0, NULL, OPEN_EXISTING,
                                   FILE_FLAG_DELETE_ON_CLOSE | FILE_FLAG_OPEN_REPARSE_POINT, NULL);
    if (left_over != INVALID_HANDLE_VALUE || GetLastError() == ERROR_FILE_NOT_FOUND) {
        remove_tree(path);
    }
    if (left_over != INVALID_HANDLE_VALUE) {
        CloseHandle(left_over);
    }
}

void sweep_folders(const Folder *folder)
{
    static WCHAR path[PATH_CAPACITY];
    WIN32_FIND_DATAW found;
    append(path, folder->parent);
    append(path, PREFIX L"*");
    HANDLE search = FindFirstFileW(path, &found);
    if (search == INVALID_HANDLE_VALUE) {
        return;
    }
    do {
        path[0] = 0;
        append(path, folder->parent);
        append(path, found.cFileName);
        if (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) {
            remove_if_dead(path);
        } else if (has_suffix(path, LOCK_SUFFIX)) {
            path[lstrlenW(path) - lstrlenW(LOCK_SUFFIX)] = 0;
            remove_if_dead(path);
        }
    } while (FindNextFileW(search, &found));
    FindClose(search);
}
