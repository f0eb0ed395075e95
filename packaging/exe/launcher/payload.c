/* The program and its runtime, packed by packaging/exe/exebuild/payload.py, laid out in a folder. */
#include "launcher.h"

typedef struct {
    DWORD name; /* offset from the section's start: UTF-16, with a zero at its end */
    DWORD data;
    DWORD packed_size; /* as an LZ4 block; the same as `size` when it is stored as it is */
    DWORD size;
} PackedFile;

typedef struct {
    DWORD crc32; /* of everything behind this field */
    DWORD count;
    PackedFile files[]; /* the program first, then what belongs in its folder `runtime` */
} Payload;

#define SLACK 32 /* copies are made in pieces of 16 bytes that may run past the end */
#define WORKERS 2

static struct {
    const BYTE *base;
    const Payload *payload;
    Folder *folder;
    const WCHAR *program;
    volatile LONG next;
} order;

static DWORD table[8][256];

static DWORD crc32(const BYTE *data, size_t size)
{
    for (DWORD i = 0; i < 256; i++) {
        DWORD value = i;
        for (int bit = 0; bit < 8; bit++) {
            value = (value >> 1) ^ (0xEDB88320u & (0u - (value & 1)));
        }
        table[0][i] = value;
    }
    for (DWORD i = 0; i < 256; i++) {
        for (int row = 1; row < 8; row++) {
            table[row][i] = (table[row - 1][i] >> 8) ^ table[0][table[row - 1][i] & 0xFF];
        }
    }
    DWORD crc = 0xFFFFFFFFu;
    for (; size >= 8; size -= 8, data += 8) {
        DWORD64 eight;
        __builtin_memcpy(&eight, data, 8);
        eight ^= crc;
        crc = table[7][eight & 0xFF] ^ table[6][(eight >> 8) & 0xFF] ^ table[5][(eight >> 16) & 0xFF] ^
              table[4][(eight >> 24) & 0xFF] ^ table[3][(eight >> 32) & 0xFF] ^ table[2][(eight >> 40) & 0xFF] ^
              table[1][(eight >> 48) & 0xFF] ^ table[0][eight >> 56];
    }
    for (; size > 0; size--, data++) {
        crc = (crc >> 8) ^ table[0][(crc ^ *data) & 0xFF];
    }
    return ~crc;
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

static void copy_literals(BYTE *out, const BYTE *in, size_t length, const BYTE *in_end)
{
    if ((size_t)(in_end - in) < length + SLACK) {
        memcpy(out, in, length);
        return;
    }
    for (size_t i = 0; i < length; i += 16) {
        __builtin_memcpy(out + i, in + i, 16);
    }
}

static void copy_match(BYTE *out, size_t distance, size_t length)
{
    const BYTE *from = out - distance;
    if (distance >= 16) {
        for (size_t i = 0; i < length; i += 16) {
            __builtin_memcpy(out + i, from + i, 16);
        }
    } else {
        for (size_t i = 0; i < length; i++) {
            out[i] = from[i];
        }
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
        copy_literals(out, in, length, in_end);
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
        copy_match(out, distance, length);
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

static DWORD WINAPI work(void *unused)
{
    (void)unused;
    DWORD largest = 0;
    for (DWORD i = 0; i < order.payload->count; i++) {
        largest = max(largest, order.payload->files[i].size);
    }
    BYTE *buffer = VirtualAlloc(NULL, largest + SLACK, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    WCHAR *path = VirtualAlloc(NULL, PATH_CAPACITY * sizeof(WCHAR), MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    if (!buffer || !path) {
        fail(L"out of memory", NULL, 0);
    }
    for (DWORD i; (i = (DWORD)InterlockedIncrement(&order.next) - 1) < order.payload->count;) {
        const PackedFile *file = &order.payload->files[i];
        const BYTE *content = order.base + file->data;
        if (file->packed_size != file->size) {
            if (!unpack(content, file->packed_size, buffer, file->size)) {
                fail(L"this file is damaged; fetch it again", NULL, 0);
            }
            content = buffer;
        }
        path[0] = 0;
        if (i == 0) {
            append(path, order.program);
        } else {
            append(path, order.folder->path);
            append(path, L"\\runtime\\");
            append(path, (const WCHAR *)(order.base + file->name));
        }
        write_file(path, content, file->size);
    }
    VirtualFree(buffer, 0, MEM_RELEASE);
    VirtualFree(path, 0, MEM_RELEASE);
    return 0;
}

void lay_out(const Section *section, Folder *folder, const WCHAR *program)
{
    static WCHAR runtime[PATH_CAPACITY];
    HANDLE others[WORKERS - 1];
    order.base = section->start;
    order.payload = (const Payload *)section->start;
    order.folder = folder;
    order.program = program;
    if (crc32(section->start + sizeof order.payload->crc32, section->size - sizeof order.payload->crc32) !=
        order.payload->crc32) {
        fail(L"this file is damaged; fetch it again", NULL, 0);
    }
    append(runtime, folder->path);
    append(runtime, L"\\runtime");
    if (!CreateDirectoryW(runtime, &folder->security)) {
        fail(L"cannot make the folder", runtime, GetLastError());
    }
    for (int i = 0; i < WORKERS - 1; i++) {
        others[i] = CreateThread(NULL, 0, work, NULL, 0, NULL);
    }
    work(NULL);
    WaitForMultipleObjects(WORKERS - 1, others, TRUE, INFINITE);
    for (int i = 0; i < WORKERS - 1; i++) {
        CloseHandle(others[i]);
    }
    /* The pages of the payload are not needed again; what waits for the child should be small. */
    SetProcessWorkingSetSize(GetCurrentProcess(), (SIZE_T)-1, (SIZE_T)-1);
}
