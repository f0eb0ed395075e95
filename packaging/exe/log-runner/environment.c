/* Arguments that stand in a file: kubeadm-flags.env, which kubeadm and people change after the service was made.
 *
 * The file is read as systemd reads an EnvironmentFile=, and its KUBELET_KUBEADM_ARGS is taken apart as systemd does
 * with $KUBELET_KUBEADM_ARGS in kubeadm's unit: at blanks, quotes holding words together. But for one thing: a
 * backslash in a word is itself, since here it stands between folders. */
#include "log_runner.h"

#define CAPACITY 65536 /* twice what a command line can hold */

static const WCHAR NAME[] = L"KUBELET_KUBEADM_ARGS";

static WCHAR text[CAPACITY], value[CAPACITY], command[COMMAND_CAPACITY];
static int length; /* of the value */

/* What systemd would take for its value; nothing if there is none. */
static WCHAR arguments[CAPACITY];

static BOOL is_newline(WCHAR character)
{
    return character == L'\n' || character == L'\r';
}

static BOOL is_white(WCHAR character)
{
    return character == L' ' || character == L'\t' || is_newline(character);
}

static BOOL is_quote(WCHAR character)
{
    return character == L'"' || character == L'\'';
}

/* FALSE where there is no such file. */
static BOOL read_text(void)
{
    static char bytes[CAPACITY - 1];
    DWORD size;
    HANDLE file = CreateFileW(options.arguments, GENERIC_READ, SHARE_ALL, NULL, OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        DWORD error = GetLastError();
        if (error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND) {
            return FALSE;
        }
        give_up(L"%1!.300s! cannot be read: error %2!u!", (DWORD_PTR)options.arguments, error);
    }
    if (!ReadFile(file, bytes, sizeof bytes, &size, NULL)) {
        give_up(L"%1!.300s! cannot be read: error %2!u!", (DWORD_PTR)options.arguments, GetLastError());
    }
    CloseHandle(file);
    int made = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, bytes, (int)size, text, CAPACITY - 1);
    text[made] = 0;
    if (size == sizeof bytes || (size > 0 && made == 0) || lstrlenW(text) != made) {
        give_up(L"%1!.300s! is no file of variables: it is too long or not UTF-8", (DWORD_PTR)options.arguments,
                ERROR_BAD_FORMAT);
    }
    return TRUE;
}

/* What stands between quotes, from behind the first one; where the text goes on. */
static const WCHAR *read_quoted(const WCHAR *at, WCHAR quote)
{
    for (; *at != quote; at++) {
        if (*at == L'\\' && quote == L'"') {
            at++;
            if (*at == L'\n') {
                continue;
            }
            if (*at != L'"' && *at != L'\\' && *at != L'`' && *at != L'$') {
                value[length++] = L'\\';
            }
        }
        if (!*at) { /* half a file, of which half the arguments would do harm */
            give_up(L"in %1!.300s! a quote is never closed", (DWORD_PTR)options.arguments, ERROR_BAD_FORMAT);
        }
        value[length++] = *at;
    }
    return at + 1;
}

/* The value that begins here; where the next line does. Quotes mean something only as long as nothing unquoted came
 * before them, and blanks between quoted parts vanish. */
static const WCHAR *read_value(const WCHAR *at)
{
    BOOL bare = FALSE;
    int kept = 0; /* of `length`, without blanks at the end */
    length = 0;
    while (*at && !is_newline(*at)) {
        WCHAR character = *at++;
        if (character == L'\\') {
            bare = TRUE;
            if (*at && !is_newline(*at)) {
                value[length++] = *at;
            }
            at += *at != 0;
            kept = length;
        } else if (bare || !(is_white(character) || is_quote(character))) {
            bare = TRUE;
            value[length++] = character;
            kept = is_white(character) ? kept : length;
        } else if (is_quote(character)) {
            at = read_quoted(at, character);
        }
    }
    length = bare ? kept : length;
    return at;
}

static const WCHAR *end_of_line(const WCHAR *at)
{
    while (*at && !is_newline(*at)) {
        at++;
    }
    return at;
}

/* The value of the last line that has our name. */
static void read_lines(void)
{
    const WCHAR *at = text + (*text == 0xFEFF); /* as Windows' editors begin UTF-8 */
    for (;;) {
        while (is_white(*at)) {
            at++;
        }
        const WCHAR *name = at, *end = at;
        for (; *at && !is_newline(*at) && *at != L'='; at++) {
            end = is_white(*at) ? end : at + 1;
        }
        if (*name == L'#' || *name == L';') {
            at = end_of_line(at);
        } else if (*at == L'=') {
            at = read_value(at + 1);
            if (CompareStringOrdinal(name, (int)(end - name), NAME, -1, FALSE) == CSTR_EQUAL) {
                memcpy(arguments, value, (size_t)length * sizeof(WCHAR));
                arguments[length] = 0;
            }
        } else if (!*at) {
            return;
        }
    }
}

static void put(const WCHAR *part, int count)
{
    static int end;
    if (end + count >= COMMAND_CAPACITY) {
        give_up(L"with the arguments of %1!.300s! the command line is too long", (DWORD_PTR)options.arguments,
                ERROR_FILENAME_EXCED_RANGE);
    }
    memcpy(command + end, part, (size_t)count * sizeof(WCHAR));
    end += count;
    command[end] = 0;
}

/* As CommandLineToArgvW and every C runtime read it: of backslashes before a quote two stand for one. */
static void put_quoted(const WCHAR *word)
{
    int backslashes = 0;
    put(L"\"", 1);
    for (; *word; word++) {
        if (*word == L'"') {
            for (; backslashes >= 0; backslashes--) {
                put(L"\\", 1);
            }
        }
        backslashes = *word == L'\\' ? backslashes + 1 : 0;
        put(word, 1);
    }
    for (; backslashes > 0; backslashes--) {
        put(L"\\", 1);
    }
    put(L"\"", 1);
}

static BOOL needs_quotes(const WCHAR *word)
{
    BOOL needs = !*word;
    for (; *word; word++) {
        needs = needs || *word <= L' ' || *word == L'"';
    }
    return needs;
}

/* The word that begins here, without the quotes that hold it together, into `value`; where the text goes on. */
static const WCHAR *read_word(const WCHAR *at)
{
    WCHAR quote = 0;
    length = 0;
    for (; *at && (quote || !is_white(*at)); at++) {
        if (quote ? *at == quote : is_quote(*at)) {
            quote = quote ? 0 : *at;
        } else {
            value[length++] = *at;
        }
    }
    value[length] = 0;
    return at;
}

void append_arguments(void)
{
    if (!*options.arguments || !read_text()) {
        return;
    }
    read_lines();
    put(options.command, lstrlenW(options.command));
    options.command = command;
    for (const WCHAR *at = arguments;;) {
        while (is_white(*at)) {
            at++;
        }
        if (!*at) {
            return;
        }
        at = read_word(at);
        put(L" ", 1);
        if (needs_quotes(value)) {
            put_quoted(value);
        } else {
            put(value, length);
        }
    }
}
