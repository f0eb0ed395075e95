/* Removing a folder with all that is in it, in places where others may write too.
 *
 * Each entry is opened by its bare name relative to the folder's handle, and itself rather than what it may point
 * to: no link, planted before or meanwhile, leads this anywhere else.
 */
#include "launcher.h"

#include <winternl.h>

#define ENTRY_ACCESS (DELETE | SYNCHRONIZE | FILE_LIST_DIRECTORY | FILE_READ_ATTRIBUTES)
#define SHARE_ALL (FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE)
#define ENTRY_OPTIONS                                                                                                  \
    (FILE_OPEN_REPARSE_POINT | FILE_OPEN_FOR_BACKUP_INTENT | FILE_SYNCHRONOUS_IO_NONALERT | FILE_DELETE_ON_CLOSE)

static void empty(HANDLE folder);

static void remove_entry(HANDLE folder, const FILE_ID_BOTH_DIR_INFO *entry)
{
    UNICODE_STRING name = {(USHORT)entry->FileNameLength, (USHORT)entry->FileNameLength, (WCHAR *)entry->FileName};
    OBJECT_ATTRIBUTES which;
    IO_STATUS_BLOCK status;
    HANDLE handle;
    InitializeObjectAttributes(&which, &name, 0, folder, NULL);
    if (NtOpenFile(&handle, ENTRY_ACCESS, &which, &status, SHARE_ALL, ENTRY_OPTIONS) < 0) {
        return;
    }
    DWORD kind = entry->FileAttributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT);
    if (kind == FILE_ATTRIBUTE_DIRECTORY) {
        empty(handle);
    }
    CloseHandle(handle); /* and thereby deleted, unless it is a folder that is not empty */
}

static BOOL is_dots(const FILE_ID_BOTH_DIR_INFO *entry)
{
    DWORD length = entry->FileNameLength / sizeof(WCHAR);
    return entry->FileName[0] == L'.' && (length == 1 || (length == 2 && entry->FileName[1] == L'.'));
}

static void empty(HANDLE folder)
{
    static const DWORD size = 16384;
    BYTE *room = HeapAlloc(GetProcessHeap(), 0, size);
    if (!room) {
        return;
    }
    while (GetFileInformationByHandleEx(folder, FileIdBothDirectoryInfo, room, size)) {
        FILE_ID_BOTH_DIR_INFO *entry = (FILE_ID_BOTH_DIR_INFO *)room;
        for (;;) {
            if (!is_dots(entry)) {
                remove_entry(folder, entry);
            }
            if (entry->NextEntryOffset == 0) {
                break;
            }
            entry = (FILE_ID_BOTH_DIR_INFO *)((BYTE *)entry + entry->NextEntryOffset);
        }
    }
    HeapFree(GetProcessHeap(), 0, room);
}

/* Whether it is gone. */
BOOL remove_tree(const WCHAR *path)
{
    HANDLE folder = CreateFileW(path, ENTRY_ACCESS, SHARE_ALL, NULL, OPEN_EXISTING,
                                FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    if (folder == INVALID_HANDLE_VALUE) {
        return GetLastError() == ERROR_FILE_NOT_FOUND;
    }
    FILE_ATTRIBUTE_TAG_INFO kind;
    if (GetFileInformationByHandleEx(folder, FileAttributeTagInfo, &kind, sizeof kind) &&
        !(kind.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT)) {
        empty(folder);
    }
    CloseHandle(folder);
    return GetFileAttributesW(path) == INVALID_FILE_ATTRIBUTES;
}
