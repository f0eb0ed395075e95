/* What Windows' loader reads before any code runs: what is linked comes from System32 alone, and calls by pointer
 * lead to functions whose address is taken somewhere, and nowhere else (Control Flow Guard). */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#define CF_INSTRUMENTED 0x100 /* IMAGE_GUARD_... of winnt.h, which this one has not */
#define CF_FUNCTION_TABLE_PRESENT 0x400

/* Made by the linker. The count is the symbol's address. */
extern const BYTE __guard_fids_table[], __guard_fids_count[];

/* What a Windows without the guard calls. */
static void check_nothing(void)
{
}

__attribute__((naked)) static void call(void)
{
    __asm__("jmp *%rax");
}

/* Windows puts its own functions here. */
__attribute__((section(".00cfg"))) const void *__guard_check_icall_fptr = check_nothing;
__attribute__((section(".00cfg"))) const void *__guard_dispatch_icall_fptr = call;

const IMAGE_LOAD_CONFIG_DIRECTORY64 _load_config_used = {
    .Size = sizeof(IMAGE_LOAD_CONFIG_DIRECTORY64),
    .DependentLoadFlags = LOAD_LIBRARY_SEARCH_SYSTEM32,
    .GuardCFCheckFunctionPointer = (ULONGLONG)&__guard_check_icall_fptr,
    .GuardCFDispatchFunctionPointer = (ULONGLONG)&__guard_dispatch_icall_fptr,
    .GuardCFFunctionTable = (ULONGLONG)__guard_fids_table,
    .GuardCFFunctionCount = (ULONGLONG)__guard_fids_count,
    .GuardFlags = CF_INSTRUMENTED | CF_FUNCTION_TABLE_PRESENT,
};
