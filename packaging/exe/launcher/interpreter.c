/* Python, started in this process from the folder `runtime` beside the program. Our modules are put into its table
 * of frozen ones: nothing is searched for, and no file opened, to import them. */
#include "launcher.h"

#include <Python.h>

#define QUOTED_(x) L## #x
#define QUOTED(x) QUOTED_(x)
#define PYTHON_DLL L"\\python" QUOTED(PY_MAJOR_VERSION) QUOTED(PY_MINOR_VERSION) L".dll"

#define OF_PYTHON(use)                                                                                                 \
    use(PyPreConfig_InitIsolatedConfig) use(Py_PreInitialize) use(PyConfig_InitIsolatedConfig)                         \
        use(PyConfig_SetString) use(PyConfig_SetWideStringList) use(Py_InitializeFromConfig)                           \
            use(PyImport_ImportModule) use(PyObject_CallMethod) use(PyLong_AsLong) use(PyErr_Occurred)                 \
                use(PyErr_Print)

static struct {
#define DECLARE(name) __typeof__(&name) name;
    OF_PYTHON(DECLARE)
    const struct _frozen **PyImport_FrozenModules;
} python;

/* The section .modules, as packaging/exe/exebuild/modules.py writes it. */
typedef struct {
    DWORD name, code, code_size, is_package; /* offsets from the section's start */
} Module;

typedef struct {
    DWORD count;
    Module modules[];
} Modules;

static void load_python(const WCHAR *runtime)
{
    static WCHAR path[PATH_CAPACITY];
    append(path, runtime);
    append(path, PYTHON_DLL);
    HMODULE dll = load_library(path, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
#define FIND(name) python.name = (__typeof__(&name))find_function(dll, #name);
    OF_PYTHON(FIND)
    python.PyImport_FrozenModules = find_function(dll, "PyImport_FrozenModules");
}

static void freeze(const Section *section)
{
    const BYTE *base = section->start;
    const Modules *index = (const Modules *)base;
    struct _frozen *table = HeapAlloc(GetProcessHeap(), HEAP_ZERO_MEMORY, (index->count + 1) * sizeof *table);
    if (!table) {
        fail(L"out of memory", NULL, 0);
    }
    for (DWORD i = 0; i < index->count; i++) {
        const Module *module = &index->modules[i];
        table[i].name = (const char *)base + module->name;
        table[i].code = base + module->code;
        table[i].size = (int)module->code_size;
        table[i].is_package = (int)module->is_package;
    }
    *python.PyImport_FrozenModules = table;
}

static void check(PyStatus status)
{
    static WCHAR reason[256];
    if (status._type == _PyStatus_TYPE_OK) {
        return;
    }
    MultiByteToWideChar(CP_UTF8, 0, status.err_msg ? status.err_msg : "no reason given", -1, reason, 256);
    fail(L"Python cannot start:", reason, 0);
}

/* Arguments are split by the C runtime that Python uses anyway: exactly as python.exe gets them. */
static void take_arguments(PyConfig *config)
{
    HMODULE ucrt = load_library(L"ucrtbase.dll", LOAD_LIBRARY_SEARCH_SYSTEM32);
    int (*split)(int) = (int (*)(int))find_function(ucrt, "_configure_wide_argv");
    int *(*count)(void) = (int *(*)(void))find_function(ucrt, "__p___argc");
    WCHAR ***(*values)(void) = (WCHAR * **(*)(void)) find_function(ucrt, "__p___wargv");
    split(1 /* wildcards are not expanded */);
    check(python.PyConfig_SetWideStringList(config, &config->argv, *count(), *values()));
}

static void configure(PyConfig *config, const WCHAR *program, const WCHAR *runtime)
{
    python.PyConfig_InitIsolatedConfig(config);
    config->site_import = 0;
    config->write_bytecode = 0;
    config->pathconfig_warnings = 0;
    config->module_search_paths_set = 1; /* to none: all modules are frozen or extensions that are known by name */
    config->install_signal_handlers = 1; /* Ctrl-C raises KeyboardInterrupt */
    config->configure_c_stdio = 1;       /* or line ends would be translated twice */
    WCHAR **programs[] = {&config->program_name, &config->executable, &config->base_executable};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        check(python.PyConfig_SetString(config, programs[i], program));
    }
    /* All given, so that Python does not go looking for them. */
    WCHAR **folders[] = {&config->home,        &config->stdlib_dir,       &config->prefix,
                         &config->base_prefix, &config->base_exec_prefix, &config->exec_prefix};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        check(python.PyConfig_SetString(config, folders[i], runtime));
    }
    check(python.PyConfig_SetString(config, &config->stdio_encoding, L"utf-8"));
    check(python.PyConfig_SetString(config, &config->stdio_errors, L"backslashreplace"));
    take_arguments(config);
}

static int call_main(void)
{
    PyObject *module = python.PyImport_ImportModule("wmcb_start");
    PyObject *result = module ? python.PyObject_CallMethod(module, "main", NULL) : NULL;
    int code = result ? python.PyLong_AsLong(result) : 1;
    if (python.PyErr_Occurred()) {
        python.PyErr_Print();
        code = 1;
    }
    return code;
}

UINT run_python(const Section *modules, const WCHAR *program, const WCHAR *directory)
{
    static WCHAR runtime[PATH_CAPACITY];
    static PyConfig config;
    PyPreConfig before;
    append(runtime, directory);
    append(runtime, L"runtime");
    load_python(runtime);
    freeze(modules);
    python.PyPreConfig_InitIsolatedConfig(&before);
    before.utf8_mode = 1;
    check(python.Py_PreInitialize(&before));
    configure(&config, program, runtime);
    check(python.Py_InitializeFromConfig(&config));
    /* Py_FinalizeEx would take down object by object what Windows takes back at once; wmcb_start has done the rest. */
    return (UINT)call_main();
}
