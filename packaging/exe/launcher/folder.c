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
        use(CreateWellKnownSid) use(GetTokenInformation) use(OpenProcessToken)              \
            use(SystemFunction036)

BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);

static struct {
#define DECLARE(name) __typeof__(&name) name;
    OF_ADVAPI32(DECLARE)
} advapi32;

/* Not linked: it needs libraries that would be looked for beside the exe wherever they are no KnownDLLs. */
static void load_advapi32(void)
{
    HMODULE library = LoadLibraryExW(L"advapi32.dll", NULL, LOAD_LIBRARY_SEARCH_SYSTEM32);
#define FIND(name)                                                                                                     \
    advapi32.name = (__typeof__(&name))(void *)GetProcAddress(library, #name);                                         \
    require(advapi32.name != NULL, L"cannot load", L"advapi32.dll");
    OF_ADVAPI32(FIND)
}

static BOOL is_administrator(void)
{
    BYTE administrators[SECURITY_MAX_SID_SIZE];
    DWORD size = sizeof administrators;
    BOOL member = FALSE;
    require(advapi32.CreateWellKnownSid(WinBuiltinAdministratorsSid, NULL, administrators, &size) &&
                advapi32.CheckTokenMembership(NULL, administrators, &member),
            L"cannot tell whether this is an administrator", NULL);
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
    HANDLE token = NULL;
    DWORD size;
    WCHAR *user = NULL;
    require(advapi32.OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token) &&
                advapi32.GetTokenInformation(token, TokenUser, &information, sizeof information, &size) &&
                advapi32.ConvertSidToStringSidW(information.user.User.Sid, &user),
            L"cannot tell who runs this", NULL);
    CloseHandle(token);
    JOIN(text, L"O:", user, L"G:", user, L"D:P(A;OICI;FA;;;", user, L")");
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
    require(GetSystemWindowsDirectoryW(windows, MAX_PATH), L"cannot find the Windows folder", NULL);
    JOIN(parent, windows, L"\\SystemTemp");
    if (!is_plain_folder(parent)) {
        JOIN(parent, windows, L"\\Temp");
    }
    if (!is_plain_folder(windows) || !is_plain_folder(parent)) {
        fail(L"not a folder, or a link to one:", parent, 0);
    }
}

static void name_at_random(WCHAR name[17])
{
    DWORD64 random;
    require(advapi32.SystemFunction036(&random, sizeof random), L"cannot get random numbers", NULL); /* RtlGenRandom */
    for (int i = 0; i < 16; i++, random >>= 4) {
        name[i] = L"0123456789abcdef"[random & 15];
    }
    name[16] = 0;
}

void make_folder(Folder *folder)
{
    static WCHAR lock[PATH_CAPACITY];
    const WCHAR *descriptor;
    WCHAR name[17];
    load_advapi32();
    if (is_administrator()) {
        descriptor = FOR_ADMINISTRATORS;
        find_machine_temp(folder->parent);
    } else {
        descriptor = for_this_user();
        DWORD length = GetTempPathW(MAX_PATH + 1, folder->parent);
        require(length, L"cannot find a folder for temporary files", NULL);
        folder->parent[length - 1] = 0; /* a backslash */
    }
    folder->security.nLength = sizeof folder->security;
    require(advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW(
                descriptor, SDDL_REVISION_1, &folder->security.lpSecurityDescriptor, NULL),
            L"not a security descriptor:", descriptor);
    name_at_random(name);
    JOIN(folder->path, folder->parent, L"\\" PREFIX, name);
    JOIN(lock, folder->path, LOCK_SUFFIX);
    folder->lock = CreateFileW(lock, GENERIC_WRITE | DELETE, 0, &folder->security, CREATE_NEW,
                               FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    require(folder->lock != INVALID_HANDLE_VALUE, L"cannot make the file", lock);
    require(CreateDirectoryW(folder->path, &folder->security), L"cannot make the folder", folder->path);
}

void remove_folder(const Folder *folder)
{
    /* A virus scanner may hold what has just been run: 1.3 seconds in all, then it is left to the next run. */
    for (DWORD pause = 10; !remove_tree(folder->path) && pause <= 640; pause *= 2) {
        Sleep(pause);
    }
    CloseHandle(folder->lock);
}

static void remove_if_dead(const WCHAR *path)
{
    static WCHAR lock[PATH_CAPACITY];
    JOIN(lock, path, LOCK_SUFFIX);
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
    JOIN(path, folder->parent, L"\\" PREFIX L"*");
    HANDLE search = FindFirstFileW(path, &found);
    if (search == INVALID_HANDLE_VALUE) {
        return;
    }
    do {
        JOIN(path, folder->parent, L"\\", found.cFileName);
        WCHAR *suffix = path + lstrlenW(path) - lstrlenW(LOCK_SUFFIX);
        if (lstrcmpiW(suffix, LOCK_SUFFIX) == 0) {
            *suffix = 0;
        } else if (!(found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY)) {
            continue;
        }
        remove_if_dead(path);
    } while (FindNextFileW(search, &found));
    FindClose(search);
}
