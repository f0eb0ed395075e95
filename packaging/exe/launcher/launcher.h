/* The launcher: wmcb.exe as it is shipped. It lays the program's folder out in a private one, runs the program there
 * as its child, and removes the folder again.
 *
 * The packed folder is a section of its own image, as Windows has mapped it, and never a file that is opened by name:
 * what runs is what was started (and consented to, and signed), whatever has been put at its path since.
 *
 * Only kernel32 and ntdll are linked, which every process has, and no C runtime. All else is loaded later, from
 * places that are named: nothing beside a downloaded exe, in the current directory or on PATH is ever loaded.
 */
#ifndef WMCB_LAUNCHER_H
#define WMCB_LAUNCHER_H

#define UNICODE
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

/* Windows' own limit, and room for the name of a file beside the program. */
#define PATH_CAPACITY (32768 + 128)

typedef struct {
    const BYTE *start;
    DWORD size;
} Section;

/* text.c */
#define JOIN(path, ...) join(path, (const WCHAR *[]){__VA_ARGS__, NULL})
void join(WCHAR path[PATH_CAPACITY], const WCHAR **parts);
void fail_after(void (*tidying)(void)); /* what `fail` does before it ends the process */
DECLSPEC_NORETURN void fail(const WCHAR *what, const WCHAR *which, DWORD error);
void require(BOOL is_done, const WCHAR *what, const WCHAR *which); /* or fail by the last error */

/* folder.c: where the shipped file lays its program out */
typedef struct {
    WCHAR parent[PATH_CAPACITY];
    WCHAR path[PATH_CAPACITY];
    SECURITY_ATTRIBUTES security;
    HANDLE lock;
} Folder;

void make_folder(Folder *folder);
void remove_folder(const Folder *folder);
void sweep_folders(const Folder *folder);
/* removal.c */
BOOL remove_tree(const WCHAR *path);
/* payload.c */
void lay_out(const Section *payload, Folder *folder, const WCHAR *program);
/* child.c */
HANDLE start_child(const WCHAR *program);
DWORD wait_for_child(HANDLE process);

#endif
