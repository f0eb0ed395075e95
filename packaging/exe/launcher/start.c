/* Where Windows enters, and which of the two programs this is. */
#include "launcher.h"

/* Read by Windows' loader before any code of ours runs: what is linked comes from System32 alone. */
const IMAGE_LOAD_CONFIG_DIRECTORY64 _load_config_used = {
    .Size = sizeof(IMAGE_LOAD_CONFIG_DIRECTORY64),
    .DependentLoadFlags = LOAD_LIBRARY_SEARCH_SYSTEM32,
};

extern const IMAGE_DOS_HEADER __ImageBase; /* the linker's name for the start of this image */

static Folder folder;

static BOOL find_section(const char *name, Section *found)
{
    const BYTE *base = (const BYTE *)&__ImageBase;
    const IMAGE_NT_HEADERS *headers = (const IMAGE_NT_HEADERS *)(base + __ImageBase.e_lfanew);
    const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION(headers);
    for (WORD i = 0; i < headers->FileHeader.NumberOfSections; i++, section++) {
        char terminated[IMAGE_SIZEOF_SHORT_NAME + 1] = {0};
        memcpy(terminated, section->Name, IMAGE_SIZEOF_SHORT_NAME);
        if (lstrcmpA(terminated, name) == 0) {
            found->start = base + section->VirtualAddress;
            found->size = section->Misc.VirtualSize;
            return TRUE;
        }
    }
    return FALSE;
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
    append(program, folder.path);
    append(program, L"\\");
    append(program, name);
    lay_out(payload, &folder, program);
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
    static WCHAR program[PATH_CAPACITY], directory[PATH_CAPACITY];
    Section section;
    close_doors();
    if (GetModuleFileNameW(NULL, program, 32768) == 0) {
        fail(L"cannot tell where this program lies", NULL, GetLastError());
    }
    append(directory, program);
    int name = lstrlenW(program);
    while (name > 0 && program[name - 1] != L'\\') {
        name--;
    }
    directory[name] = 0;
    if (find_section(".payload", &section)) {
        ExitProcess(run_unpacked(&section, program + name));
    }
    if (find_section(".modules", &section)) {
        ExitProcess(run_python(&section, program, directory));
    }
    fail(L"this program carries nothing to run", NULL, 0);
}
