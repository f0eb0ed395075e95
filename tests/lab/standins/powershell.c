/*
 * powershell.exe where a test puts it: knows no script. It tells what it was called with (C:\standins\powershell.asked),
 * prints what stands in C:\standins\powershell.says, and ends with 1 where that is not there.
 */
#include "standin.h"

int wmain(void)
{
    FILE *said = _wfopen(L"C:\\standins\\powershell.says", L"rb");
    char text[4096];
    size_t size;

    write_down(L"powershell", GetCommandLineW());
    if (!said)
        return 1;
    size = fread(text, 1, sizeof(text), said);
    fclose(said);
    fwrite(text, 1, size, stdout);
    return 0;
}
