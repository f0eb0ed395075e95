/* The command line: a few options of ours, `--`, and the child's own, which is handed on letter by letter. */
#include "log_runner.h"

Options options;

static WCHAR word[PATH_CAPACITY];

static BOOL is_blank(WCHAR character)
{
    return character == L' ' || character == L'\t';
}

static WCHAR *without_blanks(WCHAR *line)
{
    while (is_blank(*line)) {
        line++;
    }
    return line;
}

/* The path that a command line begins with: in it a quote ends at the next one and a backslash means nothing. */
static WCHAR *read_program(WCHAR *line, WCHAR *program)
{
    BOOL quoted = *line == L'"';
    int length = 0;
    line += quoted;
    while (*line && (quoted ? *line != L'"' : !is_blank(*line))) {
        if (length >= PATH_CAPACITY - 1) {
            fail(L"a path is too long", NULL);
        }
        program[length++] = *line++;
    }
    program[length] = 0;
    return line + (*line == L'"');
}

/* No option of ours has a quote in it, or a backslash at its end. */
static WCHAR *read_word(WCHAR *line)
{
    BOOL quoted = FALSE;
    int length = 0;
    for (; *line && (quoted || !is_blank(*line)); line++) {
        if (*line == L'"') {
            quoted = !quoted;
        } else if (length < PATH_CAPACITY - 1) {
            word[length++] = *line;
        }
    }
    word[length] = 0;
    return line;
}

/* What stands behind `name` in the word, NULL if that is not there. */
static const WCHAR *value_of(const WCHAR *name)
{
    const WCHAR *at = word;
    for (; *name; name++, at++) {
        if (*at != *name) {
            return NULL;
        }
    }
    return at;
}

typedef struct {
    const WCHAR *name;
    ULONGLONG worth;
} Unit;

static const Unit BYTES[] = {{L"", 1},       {L"K", 1000},     {L"M", 1000000},  {L"G", 1000000000},
                             {L"Ki", 1 << 10}, {L"Mi", 1 << 20}, {L"Gi", 1 << 30}, {NULL, 0}};
static const Unit TIMES[] = {{L"s", SECOND}, {L"m", 60 * SECOND}, {L"h", 3600 * SECOND}, {NULL, 0}};
static const Unit PIECES[] = {{L"", 1}, {NULL, 0}};

static ULONGLONG read_quantity(const WCHAR *text, const Unit *unit)
{
    ULONGLONG number = 0;
    int digits = 0;
    for (; *text >= L'0' && *text <= L'9' && digits < 9; text++, digits++) {
        number = 10 * number + (ULONGLONG)(*text - L'0');
    }
    while (unit->name && lstrcmpW(text, unit->name) != 0) {
        unit++;
    }
    if (!unit->name || number == 0) {
        fail(L"not a quantity that this option takes:", word);
    }
    return number * unit->worth;
}

static BOOL is_whole(const WCHAR *path)
{
    return (path[0] && path[1] == L':' && path[2] == L'\\') || (path[0] == L'\\' && path[1] == L'\\');
}

static void read_option(void)
{
    const WCHAR *value;
    if ((value = value_of(L"--log-file="))) {
        options.path[0] = 0;
        append(options.path, value);
    } else if ((value = value_of(L"--log-file-size="))) {
        options.size = read_quantity(value, BYTES);
    } else if ((value = value_of(L"--log-file-age="))) {
        options.age = read_quantity(value, TIMES);
    } else if ((value = value_of(L"--log-file-count="))) {
        options.count = read_quantity(value, PIECES);
    } else if ((value = value_of(L"--arguments-from="))) {
        options.arguments[0] = 0;
        append(options.arguments, value);
    } else if (lstrcmpW(word, L"--as-service") == 0) {
        options.as_service = TRUE;
    } else {
        fail(L"not an option (and the program to run stands behind --):", word);
    }
}

void read_options(WCHAR *line)
{
    options.size = 100 * 1000 * 1000;
    options.age = 7 * 24 * 3600 * SECOND;
    options.count = 5;
    line = read_program(line, word);
    for (;;) {
        line = without_blanks(line);
        if (!*line) {
            fail(L"there is no program to run: it stands behind --", NULL);
        }
        line = read_word(line);
        if (lstrcmpW(word, L"--") == 0) {
            break;
        }
        read_option();
    }
    options.command = without_blanks(line);
    read_program(options.command, options.program);
    /* Looked for nowhere: what runs as SYSTEM has to be named. */
    if (!is_whole(options.program)) {
        fail(L"not the whole path of a program:", options.program);
    }
    if (!is_whole(options.path) || lstrlenW(options.path) > LONGEST_PATH) {
        fail(L"not the whole path of a log file (--log-file=):", options.path);
    }
    if (*options.arguments && !is_whole(options.arguments)) {
        fail(L"not the whole path of a file (--arguments-from=):", options.arguments);
    }
}
