/* The program's folder, packed by packaging/exe/exebuild/payload.py, laid out in another. */
#include "launcher.h"

typedef struct {
    DWORD name; /* offset from the section's start: UTF-16, a path in the folder, with a zero at its end */
    DWORD data;
    DWORD packed_size; /* as an LZ4 block; the same as `size` when it is stored as it is */
    DWORD size;
} PackedFile;

typedef struct {
    DWORD checksum; /* of everything behind this field */
    DWORD folders, files;
    PackedFile entries[]; /* folders, each before what is in it; then the program; then the other files */
} Payload;

#define SLACK 32 /* copies are made in pieces of 16 bytes that may run past the end */

static struct {
    const BYTE *base;
    const Payload *payload;
    const PackedFile *files;
    Folder *folder;
    const WCHAR *program; /* the name that it gets */
    volatile LONG next;
} order;

/* Of zlib. So many bytes fit before the second sum has to be reduced. */
static DWORD adler32(const BYTE *data, size_t size)
{
    DWORD first = 1, second = 0;
    while (size > 0) {
        for (size_t left = min(size, 5552); left > 0; left--, size--) {
            first += *data++;
            second += first;
        }
        first %= 65521;
        second %= 65521;
    }
    return second << 16 | first;
}

/* A length that does not fit its four bits goes on in bytes of 255 and a last one. */
static size_t longer(const BYTE **in, const BYTE *in_end)
{
    size_t length = 0;
    BYTE more;
    do {
        if (*in == in_end) {
            return (size_t)-1 >> 1;
        }
        more = *(*in)++;
        length += more;
    } while (more == 255);
    return length;
}

/* `step` is 16, or 1 where so many bytes at once would overlap or lie outside. */
static void copy(BYTE *to, const BYTE *from, size_t length, size_t step)
{
    if (step == 16) {
        for (size_t i = 0; i < length; i += 16) {
            __builtin_memcpy(to + i, from + i, 16);
        }
        return;
    }
    for (size_t i = 0; i < length; i++) {
        to[i] = from[i];
    }
}

/* One LZ4 block. `out` has SLACK bytes more than `size`. False for a block that says anything else than `size`. */
static BOOL unpack(const BYTE *in, size_t packed_size, BYTE *out, size_t size)
{
    const BYTE *in_end = in + packed_size, *start = out, *out_end = out + size;
    while (in < in_end) {
        BYTE token = *in++;
        size_t length = token >> 4;
        if (length == 15) {
            length += longer(&in, in_end);
        }
        if (length > (size_t)(in_end - in) || length > (size_t)(out_end - out)) {
            return FALSE;
        }
        copy(out, in, length, (size_t)(in_end - in) < length + SLACK ? 1 : 16);
        in += length;
        out += length;
        if (in == in_end) {
            break;
        }
        if (in_end - in < 2) {
            return FALSE;
        }
        size_t distance = in[0] | (size_t)in[1] << 8;
        in += 2;
        length = token & 15;
        if (length == 15) {
            length += longer(&in, in_end);
        }
        length += 4;
        if (distance == 0 || distance > (size_t)(out - start) || length > (size_t)(out_end - out)) {
            return FALSE;
        }
        copy(out, out - distance, length, distance < 16 ? 1 : 16);
        out += length;
    }
    return out == out_end;
}

static void write_file(const WCHAR *path, const BYTE *content, DWORD size)
{
    DWORD written;
    /* Temporary: Windows keeps it off the disk when it can. */
    HANDLE file = CreateFileW(path, GENERIC_WRITE, 0, &order.folder->security, CREATE_NEW, FILE_ATTRIBUTE_TEMPORARY, NULL);
    if (file == INVALID_HANDLE_VALUE || !WriteFile(file, content, size, &written, NULL) || written != size) {
        DWORD error = GetLastError();
        CloseHandle(file); /* or the folder could not be removed */
        fail(L"cannot write", path, error);
    }
    CloseHandle(file);
}

static void make_folders(void)
{
    static WCHAR path[PATH_CAPACITY];
    for (DWORD i = 0; i < order.payload->folders; i++) {
        const WCHAR *name = (const WCHAR *)(order.base + order.payload->entries[i].name);
        JOIN(path, order.folder->path, L"\\", name);
        require(CreateDirectoryW(path, &order.folder->security), L"cannot make the folder", path);
    }
}

static DWORD WINAPI work(void *unused)
{
    (void)unused;
    DWORD largest = 0;
    for (DWORD i = 0; i < order.payload->files; i++) {
        largest = max(largest, order.files[i].size);
    }
    BYTE *buffer = VirtualAlloc(NULL, largest + SLACK, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    WCHAR *path = VirtualAlloc(NULL, PATH_CAPACITY * sizeof(WCHAR), MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    require(buffer && path, L"out of memory", NULL);
    for (DWORD i; (i = (DWORD)InterlockedIncrement(&order.next) - 1) < order.payload->files;) {
        const PackedFile *file = &order.files[i];
        const BYTE *content = order.base + file->data;
        if (file->packed_size != file->size) {
            if (!unpack(content, file->packed_size, buffer, file->size)) {
                fail(L"this file is damaged; fetch it again", NULL, 0);
            }
            content = buffer;
        }
        JOIN(path, order.folder->path, L"\\", i == 0 ? order.program : (const WCHAR *)(order.base + file->name));
        write_file(path, content, file->size);
    }
    VirtualFree(buffer, 0, MEM_RELEASE);
    VirtualFree(path, 0, MEM_RELEASE);
    return 0;
}

void lay_out(const Section *section, Folder *folder, const WCHAR *program)
{
    order.base = section->start;
    order.payload = (const Payload *)section->start;
    order.folder = folder;
    order.program = program;
    const DWORD *checksum = &order.payload->checksum;
    if (adler32((const BYTE *)(checksum + 1), section->size - sizeof *checksum) != *checksum) {
        fail(L"this file is damaged; fetch it again", NULL, 0);
    }
    order.files = order.payload->entries + order.payload->folders;
    make_folders();
    HANDLE other = CreateThread(NULL, 0, work, NULL, 0, NULL);
    work(NULL);
    WaitForSingleObject(other, INFINITE);
    CloseHandle(other);
    /* The pages of the payload are not needed again; what waits for the child should be small. */
    SetProcessWorkingSetSize(GetCurrentProcess(), (SIZE_T)-1, (SIZE_T)-1);
}
