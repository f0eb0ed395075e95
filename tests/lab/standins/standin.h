/*
 * What stand-ins for parts of Windows have in common, in files below C:\standins, so that a reboot keeps them: what
 * a test wants refused, and what was asked.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <winsock2.h>
#include <windows.h>
#include <stdio.h>
#include <wchar.h>

/* What C:\standins\FILE.fails says of `what`: lines such as `Rules.Add 80070005`. */
HRESULT told_to_fail(const WCHAR *file, const WCHAR *what);
/* A line for C:\standins\FILE.asked. */
void write_down(const WCHAR *file, const WCHAR *line);

#endif
