/* clang turns loops and assignments into calls of these, and there is no C runtime to have them. */
#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count)
{
    void *result = to;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
    return result;
}

void *memset(void *to, int value, size_t count)
{
    void *result = to;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(value) : "memory");
    return result;
}
