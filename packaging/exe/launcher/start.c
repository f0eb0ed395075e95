/* Where Windows enters. */
#include "launcher.h"

extern const IMAGE_DOS_HEADER __ImageBase; /* the linker's name for the start of this image */

static Folder folder;

/* Put there when the rest was linked already, so it is the last one. */
static Section find_payload(void)
{
    const BYTE *base = (const BYTE *)&__ImageBase;
    const IMAGE_NT_HEADERS *headers = (const IMAGE_NT_HEADERS *)(base + __ImageBase.e_lfanew);
    const IMAGE_SECTION_HEADER *last = IMAGE_FIRST_SECTION(headers) + headers->FileHeader.NumberOfSections - 1;
    if (*(const DWORD64 *)last->Name != *(const DWORD64 *)".payload") {
        fail(L"this program carries nothing to run", NULL, 0);
    }
    return (Section){base + last->VirtualAddress, last->Misc.VirtualSize};
}

static void close_doors(void)
{
    SetDefaultDllDirectories(LOAD_LIBRARY_SEARCH_SYSTEM32);
    SetDllDirectoryW(L"");
    /* No message box of the system's may hold up a program that nobody watches; the child inherits this. */
    SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX);
}

static void remove_own_folder(void)
{
    remove_folder(&folder);
}

static DWORD WINAPI sweep(void *unused)
{
    (void)unused;
    sweep_folders(&folder);
    return 0;
}

static UINT run_unpacked(const Section *payload, const WCHAR *name)
{
    static WCHAR program[PATH_CAPACITY];
    make_folder(&folder);
    fail_after(remove_own_folder);
    JOIN(program, folder.path, L"\\", name);
    lay_out(payload, &folder, name);
    HANDLE child = start_child(program);
    /* Meanwhile, so that it costs nothing; in a thread, so that a file which somebody holds cannot hold us. */
    HANDLE sweeper = CreateThread(NULL, 0, sweep, NULL, 0, NULL);
    DWORD code = wait_for_child(child);
    remove_own_folder();
    WaitForSingleObject(sweeper, 1000);
    return code;
}

void start(void)
{
    static WCHAR program[PATH_CAPACITY];
    close_doors();
    require(GetModuleFileNameW(NULL, program, 32768), L"cannot tell where this program lies", NULL);
    int name = lstrlenW(program);
    while (name > 0 && program[name - 1] != L'\\') {
        name--;
    }
    Section payload = find_payload();
    ExitProcess(run_unpacked(&payload, program + name));
}
